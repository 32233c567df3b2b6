//! The data that stays behind where a relative `grid.data_directory` no longer leads.
//!
//! Earlier versions began such a path at the current directory, this one begins it at the folder of the settings file. A member that starts in
//! an empty folder instead looks as if its maps were lost, so it does not start.

use super::reload::SettingsFile;
use filbert_store::Store;
use std::path::{Path, PathBuf};

/// Refuses a data directory without maps when the same relative path has maps in the current directory.
pub(super) fn refuse(file: &SettingsFile, data_directory: &str) -> Result<(), String> {
    let Some(named) = relative_in(&file.text) else { return Ok(()) };
    let earlier = std::path::absolute(&named).unwrap_or_else(|_| named.clone());
    let has_maps = |folder: &Path| !Store::maps_in(folder).is_empty();
    if has_maps(Path::new(data_directory)) || !has_maps(&earlier) {
        return Ok(());
    }
    Err(format!(
        "grid.data_directory = {:?} in {} means {data_directory}, where no maps are; {}, where earlier versions looked, has maps; name the \
         folder that is meant as an absolute path, or move the maps",
        named.display().to_string(),
        file.path.display(),
        earlier.display(),
    ))
}

/// Returns the data directory that a settings file names, when its path is relative.
fn relative_in(text: &str) -> Option<PathBuf> {
    let table: toml::Table = text.parse().ok()?;
    let named = PathBuf::from(table.get("grid")?.get("data_directory")?.as_str()?);
    named.is_relative().then_some(named)
}
