//! Databases of the tests' own, in a temporary folder, and the library that makes and reads them.
//!
//! The library is the one that `FILBERT_DUCKDB_LIBRARY` names, or what `tests/duckdb/setup.sh` has fetched. Where there is neither, tests say
//! that they do nothing; `cargo xtask verify` names one, so there none is left out.

use crate::asking::skipped;
use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{Connection, Database, Driver, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedDriver};
use filbert_cube::{CubeError, DuckDb, DuckDbTable};
use filbert_pool::Stages;
use std::path::{Path, PathBuf};

/// Where the library is, if it is there.
pub(crate) fn library() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FILBERT_DUCKDB_LIBRARY") {
        return Some(named.into());
    }
    let home = || std::env::home_dir().map(|home| home.join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    let fetched = cache.join("filbert/duckdb/libduckdb.so");
    if !fetched.exists() {
        skipped("there is no DuckDB here; run tests/duckdb/setup.sh, or set FILBERT_DUCKDB_LIBRARY");
        return None;
    }
    Some(fetched)
}

pub(crate) struct Files {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Files {
    /// An empty folder; none when the library is not there.
    pub(crate) fn new() -> Option<Self> {
        Some(Self { library: library()?, folder: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // As the system calls it, to be found among open files.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Makes a database, or opens it, and runs statements in it.
    pub(crate) fn database(&self, name: &str, statements: &str) -> DuckDb {
        let path = self.path(name);
        run(&mut writing(&self.library, &path).unwrap(), statements);
        self.at(&path)
    }

    pub(crate) fn at(&self, path: &Path) -> DuckDb {
        DuckDb::at(path).library(&self.library)
    }
}

/// A connection that may write.
pub(crate) fn writing(library: &Path, path: &Path) -> Result<ManagedConnection, String> {
    let told = |error: adbc_core::error::Error| error.message;
    let entry: Option<&[u8]> = Some(b"duckdb_adbc_init");
    let mut driver =
        ManagedDriver::load_dynamic_from_filename(library, entry, AdbcVersion::V110).map_err(told)?;
    let path = OptionValue::String(path.to_str().unwrap().to_owned());
    let options = [(OptionDatabase::Other("path".to_owned()), path)];
    driver.new_database_with_opts(options).map_err(told)?.new_connection().map_err(told)
}

pub(crate) fn run(connection: &mut ManagedConnection, statements: &str) {
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query(statements).unwrap();
    statement.execute_update().unwrap();
}

pub(crate) fn open(stages: &Stages, place: &DuckDb, table: &str) -> Result<DuckDbTable, CubeError> {
    crate::asking::wait(stages, DuckDbTable::open(stages, place, table))
}

/// How often this process has a file open.
pub(crate) fn handles(path: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter(|handle| std::fs::read_link(handle.path()).is_ok_and(|of| of == path)).count()
}
