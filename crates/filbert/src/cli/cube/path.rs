//! A `--table` that is a file, or looks like one: what is said when it cannot be read as a table.
//!
//! SQL only knows that there is no table of that name. Here somebody wrote a path, and may have taken the file of the measures for that of the
//! rows.

use super::super::sql::print::ending;
use super::Arguments;
use filbert::cube::ForestText;
use filbert::sql::file_endings;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// So many bytes of a file tell whether it may be a forest.
const BEGIN: u64 = 4_096;

/// Why the file at this path is no table; nothing where it may be one, or where there is no file.
pub(super) fn refusal(table: &str) -> Option<String> {
    let path = Path::new(table);
    if !path.is_file() {
        return None;
    }
    if is_forest(path) {
        let problem =
            "this is a forest, which has measures and no rows; give it by --forest, and the rows by --table";
        return Some(format!("--table {table}: {problem}"));
    }
    (!is_known(path)).then(|| format!("--table {table}: {}", not_known()))
}

/// A folder of this name is meant where there is one: SQL takes a name without a slash for that of a table.
pub(super) fn place(table: &str) -> String {
    let is_folder = !table.contains('/') && Path::new(table).is_dir();
    if is_folder { format!("./{table}/") } else { table.to_owned() }
}

/// Refuses to write an answer to a file that it is made from.
pub(super) fn check_output(arguments: &Arguments) -> Result<(), String> {
    let Some((output, there)) =
        arguments.output.as_ref().and_then(|output| Some((output, output.canonicalize().ok()?)))
    else {
        return Ok(());
    };
    let is_it = |path: &Path| path.canonicalize().is_ok_and(|path| path == there);
    let what = if is_it(Path::new(arguments.table())) {
        "the table that is read"
    } else if is_it(arguments.forest()) {
        "the forest"
    } else {
        return Ok(());
    };
    Err(format!("--output {} is {what}, which it would replace; name another file", output.display()))
}

/// What is said of a table that could not be opened: what SQL said, and of what looks like a file which ones are read.
pub(super) fn missing(table: &str, error: &dyn Display) -> String {
    let path = Path::new(table);
    let looks_like_file = path.extension().is_some() && !table.contains(char::is_whitespace);
    match looks_like_file && !path.exists() && !is_known(path) {
        true => format!("{error}; {}", not_known()),
        false => error.to_string(),
    }
}

fn not_known() -> String {
    format!(
        "no file with this ending is read as a table; those that are end with {}",
        file_endings().join(", ")
    )
}

fn is_known(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    file_endings().iter().any(|ending| name.ends_with(ending))
}

/// True for the measures of a cube. What begins like them in JSON may still be rows: then all of it is read.
fn is_forest(path: &Path) -> bool {
    let mut begin = Vec::new();
    if File::open(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin)).is_err() {
        return false;
    }
    let begin = String::from_utf8_lossy(&begin);
    match ending(path).as_str() {
        "toml" => begin.lines().any(|line| matches!(line.trim(), "[[measure]]" | "[[column]]")),
        "json" => {
            let packed: String = begin.split_whitespace().collect();
            let begins = [r#"{"measure":["#, r#"{"column":["#].iter().any(|begin| packed.starts_with(begin));
            begins && ForestText::from_file(path).is_ok()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forests_and_unknown_endings_are_told_apart_from_tables() {
        let folder = tempfile::tempdir().unwrap();
        let told = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            refusal(&path.to_string_lossy()).unwrap_or_default()
        };
        let toml = "# Risk.\n[[measure]]\nname = 'n'\nkind = 'aggregator'\naggregation = 'count'\n";
        assert!(told("risk.toml", toml).contains("this is a forest"));
        let json = r#"{ "measure": [{ "name": "n", "kind": "aggregator", "aggregation": "count" }] }"#;
        assert!(told("risk.json", json).contains("this is a forest"));
        assert_eq!(told("rows.json", "{\"measure\": [1, 2]}\n{\"measure\": [3]}\n"), "");
        assert_eq!(told("rows.CSV", "n\n1\n"), "");
        assert_eq!(told("rows.csv.gz", "n\n1\n"), "");
        for name in ["rows.xlsx", "settings.toml", "rows"] {
            let told = told(name, "n\n1\n");
            assert!(told.contains("no file with this ending") && told.contains(".csv, .tsv"), "{told}");
        }
        assert_eq!(refusal("none.toml"), None);
        assert!(missing("none.toml", &"no table").starts_with("no table; no file with this"));
        for other in ["none", "none.csv", "SELECT a.b"] {
            assert_eq!(missing(other, &"no table"), "no table");
        }
    }
}
