//! What can be wrong with a columnar file.

use crate::file::FileError;
use arrow_schema::{DataType, Schema};
use std::path::{Path, PathBuf};

/// What is wrong with a columnar file, in which file and column, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnarError {
    /// The file cannot be found, opened or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something in the file cannot be understood, or not by this version.
    #[error("{}: {part}: {problem}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// Where: the footer, or the number of the row group or batch.
        part: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A column that was asked for is not there.
    #[error("{}: there is no column {column:?}; there are {}", path.display(), .columns.join(", "))]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Those that are there.
        columns: Vec<String>,
    },
    /// A column was asked for twice.
    #[error("column {column:?} is asked for twice; name it once, and use it twice where the batch is read")]
    NamedTwice {
        /// The column.
        column: String,
    },
    /// A column has another type than the others of its name, or than was asked for.
    #[error("{}: column {column:?} is of type {found}, expected is {expected}", path.display())]
    OtherType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The type that it has.
        found: String,
        /// The type that it should have.
        expected: String,
    },
    /// A batch has no column of that name and type.
    #[error("a batch has no column {column:?} of type {expected}; it has {}", .columns.join(", "))]
    NotInBatch {
        /// The column.
        column: String,
        /// The type that was asked for.
        expected: String,
        /// The columns that are there, with their types.
        columns: Vec<String>,
    },
}

impl ColumnarError {
    pub(super) fn bad(path: &Path, part: impl Into<String>, problem: impl ToString) -> Self {
        ColumnarError::Bad { path: path.to_owned(), part: part.into(), problem: problem.to_string() }
    }

    pub(super) fn other_type(path: &Path, column: &str, found: &DataType, expected: &DataType) -> Self {
        let (path, column) = (path.to_owned(), column.to_owned());
        ColumnarError::OtherType { path, column, found: found.to_string(), expected: expected.to_string() }
    }

    pub(super) fn no_column(path: &Path, column: &str, schema: &Schema) -> Self {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        ColumnarError::NoColumn { path: path.to_owned(), column: column.to_owned(), columns }
    }
}

/// Checks that columns have the names and types of `expected`, in the same order.
pub(super) fn check_columns(path: &Path, found: &Schema, expected: &Schema) -> Result<(), ColumnarError> {
    for (at, field) in expected.fields().iter().enumerate() {
        match found.fields().get(at) {
            Some(there) if there.name() == field.name() => {
                if there.data_type() != field.data_type() {
                    return Err(ColumnarError::other_type(
                        path,
                        field.name(),
                        there.data_type(),
                        field.data_type(),
                    ));
                }
            }
            _ => return Err(ColumnarError::no_column(path, field.name(), found)),
        }
    }
    match found.fields().get(expected.fields().len()) {
        Some(more) => Err(ColumnarError::no_column(path, more.name(), expected)),
        None => Ok(()),
    }
}
