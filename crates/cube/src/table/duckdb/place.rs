//! Where a DuckDB is: a file or memory, which library speaks for it, and with which settings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What DuckDB calls a database without a file.
pub(super) const MEMORY: &str = ":memory:";

/// A database of DuckDB.
///
/// ```
/// use filbert_cube::DuckDb;
///
/// let file = DuckDb::at("markets.duckdb").setting("threads", "2");
/// let files_of_others = DuckDb::in_memory().library("/opt/duckdb/libduckdb.so");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuckDb {
    /// None is memory.
    pub(super) path: Option<PathBuf>,
    pub(super) library: Option<PathBuf>,
    pub(super) settings: Vec<(String, String)>,
}

impl DuckDb {
    /// The file of a database, which is only read; `:memory:` is none.
    pub fn at(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let is_file = !path.as_os_str().is_empty() && path.as_os_str() != OsStr::new(MEMORY);
        Self { path: is_file.then(|| path.to_owned()), library: None, settings: Vec::new() }
    }

    /// A database of its own for every query, which is empty: for a `SELECT` that reads files.
    pub fn in_memory() -> Self {
        Self::at(MEMORY)
    }

    /// The library that is loaded: `libduckdb.so`, or what it is called on this system. Without one, that of the environment variable
    /// `FILBERT_DUCKDB_LIBRARY`; without that, what the system finds under the name `duckdb`.
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = Some(path.into());
        self
    }

    /// A setting of the database, such as `threads`, `memory_limit` or `temp_directory`. `access_mode` is `read_only` for files, and
    /// `autoinstall_known_extensions` is `false`, unless they are set here.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// True when a database that one of them opened serves for the other as well.
    pub(super) fn is_opened_like(&self, other: &Self) -> bool {
        let settings = |place: &Self| place.settings.iter().cloned().collect::<BTreeMap<String, String>>();
        self.library == other.library && settings(self) == settings(other)
    }
}
