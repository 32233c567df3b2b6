//! The settings file that commands take with `--config`.

use filbert::MemberConfig;
use std::path::Path;

/// Reads it, or the defaults when none is given; an error names the file and everything that is wrong in it.
pub(super) fn read(path: Option<&Path>) -> Result<MemberConfig, String> {
    let Some(path) = path else { return Ok(MemberConfig::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the settings file {}: {error}", path.display()))?;
    MemberConfig::from_toml(&text).map_err(|error| format!("{}: {error}", path.display()))
}
