//! Rows as a file of columns: Parquet or Arrow, with the same encoder as `COPY ... TO`.

use super::{PrintError, Printer, Summary};
use filbert::SqlError;
use filbert::arrow::array::RecordBatch;
use filbert::sql::FileEncoder;
use std::io::Write;

/// Writes one file.
pub(in crate::cli) struct ColumnarPrinter {
    /// Until the end is written.
    encoder: Option<FileEncoder>,
    has_written: bool,
}

impl ColumnarPrinter {
    pub(in crate::cli) fn new(encoder: Result<FileEncoder, SqlError>) -> Result<Self, PrintError> {
        Ok(Self { encoder: Some(encoder?), has_written: false })
    }

    fn write(&mut self, bytes: &[u8], out: &mut dyn Write) -> Result<(), PrintError> {
        self.has_written |= !bytes.is_empty();
        Ok(out.write_all(bytes)?)
    }
}

impl Printer for ColumnarPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError> {
        match &mut self.encoder {
            Some(encoder) => {
                let bytes = encoder.encode(batch)?;
                self.write(&bytes, out)
            }
            None => Ok(()),
        }
    }

    fn end(&mut self, _: &Summary, out: &mut dyn Write) -> Result<(), PrintError> {
        match self.encoder.take() {
            Some(encoder) => self.write(&encoder.finish()?, out),
            None => Ok(()),
        }
    }

    fn has_written(&self) -> bool {
        self.has_written
    }
}
