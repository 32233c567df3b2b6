//! The meaning of the words behind `filbert sql`: a database, statements, or both.
//!
//! A database is told from statements by its ending, `.db`, so that a word that is mistyped makes no folder.

use std::path::{Path, PathBuf};

/// The ending of every database.
const ENDING: &str = "db";

/// The database that was named, and the statements.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) database: Option<PathBuf>,
    pub(super) statements: Option<String>,
}

impl Words {
    /// Reads them; an error says what to write.
    pub(super) fn read(first: Option<&str>, second: Option<&str>) -> Result<Self, String> {
        let (Some(first), second) = (first, second) else { return Ok(Self::default()) };
        let path = Path::new(first);
        let Some(second) = second else {
            let is_one_word = !first.contains(|letter: char| letter.is_whitespace() || letter == ';');
            if is_database(path) && (is_one_word || path.is_dir()) {
                return Ok(Self { database: Some(path.to_owned()), statements: None });
            }
            let small = first.to_lowercase();
            if is_one_word && filbert::sql::file_endings().iter().any(|ending| small.ends_with(ending)) {
                return Err(format!(
                    "{first} is a file of data, which statements ask: filbert sql \"SELECT * FROM '{first}'\""
                ));
            }
            if is_one_word && small.ends_with(".sql") {
                return Err(format!("{first} is a file of statements: filbert sql -f {first} runs it"));
            }
            return Ok(Self { database: None, statements: Some(first.to_owned()) });
        };
        if is_database(path) {
            return Ok(Self { database: Some(path.to_owned()), statements: Some(second.to_owned()) });
        }
        Err(match is_database(Path::new(second)) {
            true => format!("the database stands first: filbert sql {second} \"{first}\""),
            false => format!(
                "{first:?} is no database, whose name would end in .{ENDING}; statements are one argument, in quotes"
            ),
        })
    }
}

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_told_from_statements_and_files() {
        let read = |first, second| Words::read(Some(first), second);
        let words = |database: Option<&str>, statements: Option<&str>| Words {
            database: database.map(PathBuf::from),
            statements: statements.map(str::to_owned),
        };
        assert_eq!(Words::read(None, None), Ok(Words::default()));
        assert_eq!(read("my.db", None), Ok(words(Some("my.db"), None)));
        assert_eq!(read("/data/MY.DB", None), Ok(words(Some("/data/MY.DB"), None)));
        assert_eq!(read("my.db", Some("SELECT 1")), Ok(words(Some("my.db"), Some("SELECT 1"))));
        assert_eq!(read("my data.db", Some("SELECT 1")), Ok(words(Some("my data.db"), Some("SELECT 1"))));
        for statement in ["SELECT 1", "SELECT * FROM my.db", "SHOW TABLES;", "nonsense", ".db"] {
            assert_eq!(read(statement, None), Ok(words(None, Some(statement))), "{statement}");
        }
        for (first, second, said) in [
            ("sales.csv", None, "a file of data"),
            ("sales.csv.gz", None, "a file of data"),
            ("report.sql", None, "filbert sql -f report.sql"),
            ("SELECT 1", Some("my.db"), "filbert sql my.db \"SELECT 1\""),
            ("SELECT", Some("1"), "in quotes"),
        ] {
            let error = read(first, second).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_folder_with_blanks_in_its_name_is_a_database_when_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my data.db");
        let read = || Words::read(Some(&path.to_string_lossy()), None).unwrap();
        assert_eq!(read().database, None);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(read().database, Some(path.clone()));
    }
}
