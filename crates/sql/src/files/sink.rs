//! Writes rows to a file that appears when it is whole.
//!
//! Rows are encoded on the fragment and written by the reactor's threads to a hidden file beside the target, which takes its name after the
//! last byte is on disk: a reader sees the old file or the new one, never a part. Whatever ends the statement before that, the hidden
//! file goes.

use super::access::{FileAccess, problem, says};
use super::encoder::Encoder;
use super::kind::FileKind;
use crate::error::SqlError;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::common::config::TableOptions;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, SendableRecordBatchStream};
use filbert_pool::{Reactor, checkpoint};
use futures::StreamExt;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Encoded bytes that are worth a write.
const PIECE_BYTES: usize = 1 << 20;

/// Statements that write the same file at a time, and what was left of members that died.
const MAX_UNFINISHED: usize = 1_000;

/// Writes one file.
pub(super) struct FileSink {
    pub(super) access: Arc<FileAccess>,
    pub(super) reactor: Reactor,
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    pub(super) schema: SchemaRef,
    pub(super) options: TableOptions,
}

/// A file that is not whole yet. Dropped, it is gone.
struct Unfinished {
    file: Option<File>,
    hidden: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    fn begin(access: &FileAccess, path: &std::path::Path) -> std::result::Result<Self, SqlError> {
        let target = access.writable(path)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        for number in 0..MAX_UNFINISHED {
            let hidden = target.with_file_name(format!(".{name}.{number}.part"));
            match OpenOptions::new().write(true).create_new(true).open(&hidden) {
                Ok(file) => return Ok(Self { file: Some(file), hidden, target }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(problem(path, &says(&error))),
            }
        }
        Err(problem(
            path,
            "too many hidden files beside it begin with its name and end in .part; remove them",
        ))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// It is whole: gives it its name.
    fn finish(mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.sync_all()?;
        }
        std::fs::rename(&self.hidden, &self.target)?;
        self.hidden = PathBuf::new();
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.file = None;
        if !self.hidden.as_os_str().is_empty() {
            // A cancel drops it on a worker; taking a name out of a folder is short. Nobody is left to tell if it fails.
            let _ = std::fs::remove_file(&self.hidden);
        }
    }
}

impl FileSink {
    async fn submit<R: Send + 'static>(
        &self,
        body: impl FnOnce() -> std::result::Result<R, SqlError> + Send + 'static,
    ) -> Result<R> {
        let done = self.reactor.submit("write a file", body).await;
        done.map_err(SqlError::from).and_then(|done| done).map_err(SqlError::into_plan)
    }

    async fn write(&self, mut file: Unfinished, bytes: Vec<u8>) -> Result<Unfinished> {
        let path = self.path.clone();
        self.submit(move || match file.write(&bytes) {
            Ok(()) => Ok(file),
            Err(error) => Err(problem(&path, &says(&error))),
        })
        .await
    }
}

#[async_trait]
impl DataSink for FileSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(
        &self,
        mut rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let memory = MemoryConsumer::new("COPY TO").register(context.memory_pool());
        let (access, path) = (Arc::clone(&self.access), self.path.clone());
        let mut file = self.submit(move || Unfinished::begin(&access, &path)).await?;
        let mut encoder = Encoder::new(self.kind, &self.schema, self.options.clone())?;
        let mut written = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            written += batch.num_rows() as u64;
            encoder.encode(&batch)?;
            memory.try_resize(encoder.held())?;
            if let Some(piece) = encoder.piece(PIECE_BYTES) {
                file = self.write(file, piece).await?;
            }
            checkpoint().await;
        }
        file = self.write(file, encoder.finish()?).await?;
        let path = self.path.clone();
        self.submit(move || file.finish().map_err(|error| problem(&path, &says(&error)))).await?;
        Ok(written)
    }
}

impl fmt::Debug for FileSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileSink({:?})", self.path)
    }
}

impl DisplayAs for FileSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileSink: file={}, format={}", self.path.display(), self.kind.words()[0])
    }
}
