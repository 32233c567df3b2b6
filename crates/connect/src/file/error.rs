//! What can be wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a file, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A pattern that cannot be understood.
    #[error("{pattern:?} is not a pattern for file names: {problem}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing to read.
    #[error("there is no file {pattern:?}; a pattern must match a file, a folder must hold one")]
    NoFile {
        /// The path or pattern.
        pattern: String,
    },
    /// The system does not do what it was asked for.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// What was tried: `open`, `read`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line without an end.
    #[error("{}:{line}: the line is longer than {limit} bytes; is this a text file? `max_line_bytes` sets the limit", path.display())]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// The longest line that is read.
        limit: usize,
    },
    /// A row that cannot be read.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The number of the line on which the row begins, from 1.
        line: u64,
        /// Where on the line: a byte, from 1, for text and JSON, the number of the field, from 1, for CSV.
        column: u64,
        /// What is wrong.
        problem: String,
    },
    /// A place to write to where something else is.
    #[error("cannot write to {}: {problem}", path.display())]
    BadTarget {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl FileError {
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        FileError::Io { verb, path: path.to_owned(), source }
    }
}
