//! The library of DuckDB: found, loaded once, and kept until the program ends. What it gave may need its code for as long.

use adbc_core::options::AdbcVersion;
use adbc_driver_manager::ManagedDriver;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names the library where a place does not.
const VARIABLE: &str = "FILBERT_DUCKDB_LIBRARY";

/// The function by which DuckDB becomes a driver of ADBC.
const ENTRY: &[u8] = b"duckdb_adbc_init";

static LOADED: Mutex<BTreeMap<PathBuf, ManagedDriver>> = Mutex::new(BTreeMap::new());

/// The library at a path, or the usual one. Waits for the disk.
pub(super) fn load(named: Option<&Path>) -> Result<ManagedDriver, String> {
    let from_environment = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = named.map(Path::to_owned).or_else(from_environment);
    // No path is the name alone.
    let key = path.clone().unwrap_or_default();
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = loaded.get(&key) {
        return Ok(driver.clone());
    }
    let attempt = |version| match &path {
        Some(path) => ManagedDriver::load_dynamic_from_filename(path, Some(ENTRY), version),
        None => ManagedDriver::load_dynamic_from_name("duckdb", Some(ENTRY), version),
    };
    // Before its version 1.5 DuckDB knows only the first, by which nothing can be cancelled.
    let driver = attempt(AdbcVersion::V110).or_else(|_| attempt(AdbcVersion::V100));
    let driver = driver.map_err(|error| {
        let what = path.map_or_else(|| "libduckdb".to_owned(), |path| path.display().to_string());
        format!(
            "the library of DuckDB cannot be loaded from {what}: {}; install it, and name it by DuckDb::library or \
             the environment variable {VARIABLE}",
            error.message
        )
    })?;
    loaded.insert(key, driver.clone());
    Ok(driver)
}
