//! Where files are: a path, a folder, or a pattern with `?`, `*`, `[...]` and `**`.

use super::access::{FileAccess, problem, says};
use super::kind::FileKind;
use crate::error::SqlError;
use glob::{MatchOptions, glob_with};
use std::path::{Component, Path, PathBuf};

/// Files that one table may have; each is asked for its size when a statement is planned.
const MAX_FILES: usize = 10_000;

/// Folders within folders.
const MAX_DEPTH: usize = 32;

/// A place of files, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    text: String,
}

/// True when a pattern would be left by `..`: what it matched is not what was allowed.
fn climbs_after_pattern(path: &str) -> bool {
    let mut parts = path.split('/').skip_while(|part| !part.contains(['*', '?', '[']));
    parts.any(|part| part == "..")
}

impl Location {
    /// A path of this machine, relative to where the member was started, or `file://` and a path.
    pub(crate) fn parse(text: &str) -> Result<Self, SqlError> {
        let path = text.strip_prefix("file://").unwrap_or(text);
        match path.split_once("://") {
            Some((scheme, _)) => Err(problem(
                Path::new(text),
                &format!(
                    "{scheme}:// is not known here; files of the member's machine are read, by their path"
                ),
            )),
            None if path.is_empty() || path.contains('\0') => {
                Err(problem(Path::new(text), "this is no path"))
            }
            None if climbs_after_pattern(path) => {
                Err(problem(Path::new(text), "`..` may not stand behind a pattern"))
            }
            None => Ok(Self { text: path.to_owned() }),
        }
    }

    /// The path as it was written.
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.text)
    }

    /// True for a table name that means files: it has a folder, a pattern, or an ending that is known.
    pub(crate) fn is_meant(name: &str) -> bool {
        name.contains(['/', '*', '?']) || FileKind::of_path(Path::new(name)).is_some()
    }

    /// The folder up to the first part with a pattern.
    fn fixed_folder(&self) -> PathBuf {
        let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let folder: PathBuf = self.path().components().take_while(is_plain).collect();
        if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
    }

    fn expand(
        &self,
        kind: Option<FileKind>,
        access: &FileAccess,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), SqlError> {
        let path = self.path();
        let is_pattern = self.text.contains(['*', '?', '[']);
        match access.readable(path) {
            Ok(real) if real.is_dir() => return walk(&real, kind, access, MAX_DEPTH, found),
            Ok(real) => {
                found.push(real);
                return Ok(());
            }
            Err(error) if !is_pattern => return Err(error),
            // A pattern; only what it begins with is a place that is there.
            Err(_) => {}
        }
        access.readable(&self.fixed_folder())?;
        let how = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        let matches = glob_with(&self.text, how)
            .map_err(|error| problem(path, &format!("the pattern is wrong: {error}")))?;
        for matching in matches {
            let matching = matching.map_err(|error| problem(error.path(), &says(error.error())))?;
            let real = access.readable(&matching)?;
            if real.is_file() {
                add(found, real)?;
            }
        }
        Ok(())
    }
}

/// The files at all these places, in order, each once; of folders those of that kind, or of any known one.
pub(super) fn expanded(
    locations: &[Location],
    kind: Option<FileKind>,
    access: &FileAccess,
) -> Result<Vec<PathBuf>, SqlError> {
    let mut found = Vec::new();
    for location in locations {
        let before = found.len();
        location.expand(kind, access, &mut found)?;
        if found.len() == before {
            return Err(problem(location.path(), "there is no file there to read"));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// What is in a folder and those within; hidden ones, and what begins with `_`, are for others.
fn walk(
    folder: &Path,
    kind: Option<FileKind>,
    access: &FileAccess,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), SqlError> {
    let failed = |error: std::io::Error| problem(folder, &says(&error));
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        let path = entry.path();
        let is_link = entry.file_type().map_err(failed)?.is_symlink();
        if path.is_dir() {
            // A link to a folder may lead in circles.
            if !is_link {
                let deeper =
                    depth.checked_sub(1).ok_or_else(|| problem(&path, "folders nest too deep here"))?;
                walk(&path, kind, access, deeper, found)?;
            }
            continue;
        }
        let is_wanted = FileKind::of_path(&path).is_some_and(|its| kind.is_none_or(|kind| its == kind));
        if is_wanted {
            let real = if is_link { access.readable(&path)? } else { path };
            // Pipes and the like are not read, nor are they in the way.
            if real.is_file() {
                add(found, real)?;
            }
        }
    }
    Ok(())
}

fn add(found: &mut Vec<PathBuf>, path: PathBuf) -> Result<(), SqlError> {
    if found.len() >= MAX_FILES {
        return Err(problem(
            &path,
            &format!("this would be more than {MAX_FILES} files of one table; name fewer at a time"),
        ));
    }
    found.push(path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path, text: &str, kind: Option<FileKind>) -> Result<Vec<String>, String> {
        let access = FileAccess::new(&[root.to_owned()], &[]);
        let location = Location::parse(&format!("{}/{text}", root.display())).unwrap();
        let found = expanded(&[location], kind, &access).map_err(|error| error.to_string())?;
        let root = root.canonicalize().unwrap();
        Ok(found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect())
    }

    #[test]
    fn patterns_and_folders_find_files_and_say_when_there_are_none() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        for name in [
            "1.csv",
            "2.csv",
            "10.csv",
            "x.json",
            ".hidden.csv",
            "_new.csv",
            "a/3.csv",
            "a/b/4.csv",
            "a/[5].csv",
        ] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let found = |text| names(root, text, None).unwrap();
        assert_eq!(found("1.csv"), ["1.csv"]);
        assert_eq!(found("?.csv"), ["1.csv", "2.csv"]);
        assert_eq!(found("[12].csv"), ["1.csv", "2.csv"]);
        assert_eq!(found("*.csv"), ["1.csv", "10.csv", "2.csv", "_new.csv"], "a star stays in its folder");
        assert_eq!(found("*/*.csv"), ["a/3.csv", "a/[5].csv"]);
        assert_eq!(found("a/**/*.csv"), ["a/3.csv", "a/[5].csv", "a/b/4.csv"]);
        assert_eq!(found("a/[5].csv"), ["a/[5].csv"], "a name that is there is no pattern");
        assert_eq!(names(root, "", Some(FileKind::Json)).unwrap(), ["x.json"]);
        assert_eq!(names(root, "a", Some(FileKind::Csv)).unwrap(), ["a/3.csv", "a/[5].csv", "a/b/4.csv"]);
        assert!(names(root, "*.parquet", None).unwrap_err().contains("no file there"));
        assert!(names(root, "a", Some(FileKind::Parquet)).unwrap_err().contains("no file there"));
        assert!(names(root, "no.csv", None).unwrap_err().contains("no such file"));
        assert!(names(root, "***.csv", None).unwrap_err().contains("pattern"));
        assert!(
            names(root, "../*.csv", None).unwrap_err().contains("sql.files"),
            "outside of what is allowed"
        );
    }

    #[test]
    fn names_that_mean_files() {
        for name in ["a.csv", "dir/", "/x/y", "*.parquet", "part-?.arrow", "x.NDJSON"] {
            assert!(Location::is_meant(name), "{name}");
        }
        for name in ["people", "a.b", "csv", ""] {
            assert!(!Location::is_meant(name), "{name}");
        }
        assert!(Location::parse("s3://bucket/x.csv").unwrap_err().to_string().contains("s3://"));
        assert!(Location::parse("file:///x.csv").unwrap().path() == Path::new("/x.csv"));
        assert!(Location::parse("a\0b").is_err());
    }
}
