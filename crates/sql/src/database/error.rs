//! The ways in which a database cannot be opened or kept.

use crate::error::SqlError;
use std::path::{Path, PathBuf};

/// A database on disk that cannot be opened, or not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another process has it.
    #[error("{} is open in {}; only one process at a time can use a database", folder.display(), process(*pid))]
    InUse {
        /// The folder of the database.
        folder: PathBuf,
        /// The number of that process, where it is known.
        pid: Option<u32>,
    },
    /// Something else has the name.
    #[error("{} is no database: {problem}", path.display())]
    NotADatabase {
        /// The path that was to be one.
        path: PathBuf,
        /// A sentence that says why not.
        problem: String,
    },
    /// Bytes on disk are not those that were written.
    #[error(
        "{} is damaged: {problem}. Nothing was loaded or changed; take the folder of the database from a copy of it",
        file.display()
    )]
    Damaged {
        /// The file with the damage.
        file: PathBuf,
        /// A sentence that says what is wrong with it.
        problem: String,
    },
    /// The operating system refuses to read or to write.
    #[error("cannot {action} {}: {problem}", path.display())]
    Io {
        /// A verb: read, write, lock.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason that the operating system gives.
        problem: String,
    },
    /// A table of it that cannot be made.
    #[error("table {name:?} of the database cannot be made: {error}")]
    Table {
        /// The name of the table.
        name: String,
        /// The reason of the engine.
        #[source]
        error: SqlError,
    },
    /// The engine refuses.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl DatabaseError {
    pub(super) fn io(action: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), problem: error.to_string() }
    }

    pub(super) fn damaged(file: &Path, problem: impl Into<String>) -> Self {
        Self::Damaged { file: file.to_owned(), problem: problem.into() }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
