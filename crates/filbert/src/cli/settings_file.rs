//! The settings file that commands take with `--config`.

use filbert::{MemberConfig, StartError};
use std::path::Path;

/// Reads it, or the defaults when none is given.
pub(super) fn read(path: Option<&Path>) -> Result<MemberConfig, StartError> {
    path.map_or_else(|| Ok(MemberConfig::default()), MemberConfig::from_file)
}

/// Reads its text.
pub(super) fn text(path: &Path) -> Result<String, StartError> {
    std::fs::read_to_string(path).map_err(|error| StartError::Unreadable { path: path.to_owned(), error })
}
