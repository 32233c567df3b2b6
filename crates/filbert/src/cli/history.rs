//! Where prompts keep what was typed: a file of the user alone, below the folder for state of the XDG rules.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Returns the path of the file of that name; none when there is no home.
pub(super) fn path(name: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // A relative path is to be ignored, say the rules.
    let state = variable("XDG_STATE_HOME").filter(|state| state.is_absolute());
    let state = state.or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("filbert").join(name))
}

/// Makes the file, unless it is there; nobody but its owner may read it from now on: statements have data in them.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_where_the_rules_say() {
        let of = |state: Option<&str>, home: Option<&str>| {
            path("sql_history", |name| if name == "HOME" { home } else { state }.map(PathBuf::from))
        };
        assert_eq!(of(Some("/s"), Some("/h")), Some("/s/filbert/sql_history".into()));
        assert_eq!(of(Some("s"), Some("/h")), Some("/h/.local/state/filbert/sql_history".into()));
        assert_eq!(of(None, Some("/h")), Some("/h/.local/state/filbert/sql_history".into()));
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn nobody_else_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/sql_history");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        prepare(&file).unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        std::fs::write(&file, "SELECT 1\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        prepare(&file).unwrap();
        assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap()), (0o600, "SELECT 1\n".to_owned()));
    }
}
