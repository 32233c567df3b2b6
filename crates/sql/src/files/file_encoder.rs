//! The bytes of a Parquet or Arrow file for who writes one without a statement: the same as `COPY ... TO` writes.

use super::encoder::Encoder;
use super::kind::FileKind;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::TableOptions;

/// Encoded bytes that are worth a write.
const PIECE_BYTES: usize = 1 << 20;

/// Batches of one schema in, bytes of a file out, as they come.
///
/// ```
/// # use arrow::array::{Int64Array, RecordBatch};
/// # use std::sync::Arc;
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
/// let mut encoder = filbert_sql::FileEncoder::parquet(&batch.schema())?;
/// let mut bytes = encoder.encode(&batch)?;
/// bytes.extend(encoder.finish()?);
/// assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileEncoder(Encoder);

impl FileEncoder {
    /// A Parquet file.
    pub fn parquet(schema: &SchemaRef) -> Result<Self, SqlError> {
        Self::new(FileKind::Parquet, schema)
    }

    /// An Arrow file: IPC with a footer.
    pub fn arrow(schema: &SchemaRef) -> Result<Self, SqlError> {
        Self::new(FileKind::Arrow, schema)
    }

    fn new(kind: FileKind, schema: &SchemaRef) -> Result<Self, SqlError> {
        Ok(Self(Encoder::new(kind, schema, TableOptions::default())?))
    }

    /// Takes rows; the bytes that follow those before, if there are enough for a write.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, SqlError> {
        self.0.encode(batch)?;
        Ok(self.0.piece(PIECE_BYTES).unwrap_or_default())
    }

    /// The last bytes.
    pub fn finish(self) -> Result<Vec<u8>, SqlError> {
        Ok(self.0.finish()?)
    }
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").finish_non_exhaustive()
    }
}
