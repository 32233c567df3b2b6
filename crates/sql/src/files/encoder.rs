//! Batches as the bytes of a file, handed over in pieces.

use super::kind::FileKind;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::{ConfigFileType, TableOptions};
use datafusion::common::file_options::csv_writer::CsvWriterOptions;
use datafusion::common::parsers::CompressionTypeVariant;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterPropertiesBuilder;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// A group of rows in a Parquet file is closed when it has so many bytes: until then it is held in memory.
const GROUP_BYTES: usize = 64 << 20;

/// Writes one format.
pub(super) struct Encoder {
    writer: Writer,
    bytes: Buffer,
}

enum Writer {
    Csv(arrow::csv::Writer<Buffer>),
    Json(arrow::json::LineDelimitedWriter<Buffer>),
    Parquet(Box<ArrowWriter<Buffer>>),
    Arrow(arrow::ipc::writer::FileWriter<Buffer>),
}

/// What was encoded and not taken yet. Its two holders are on one thread.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Write for Buffer {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Encoder {
    pub(super) fn new(kind: FileKind, schema: &SchemaRef, options: TableOptions) -> Result<Self> {
        let bytes = Buffer::default();
        let to = bytes.clone();
        let writer = match kind {
            FileKind::Csv => Writer::Csv(CsvWriterOptions::try_from(&options.csv)?.writer_options.build(to)),
            FileKind::Json => Writer::Json(arrow::json::LineDelimitedWriter::new(to)),
            FileKind::Arrow => Writer::Arrow(arrow::ipc::writer::FileWriter::try_new(to, schema)?),
            FileKind::Parquet => {
                let mut options = options.parquet;
                // The writer adds the schema itself.
                options.global.skip_arrow_metadata = true;
                let properties = WriterPropertiesBuilder::try_from(&options)?.build();
                let writer = ArrowWriter::try_new(to, Arc::clone(schema), Some(properties));
                Writer::Parquet(Box::new(writer.map_err(DataFusionError::from)?))
            }
        };
        let mut encoder = Self { writer, bytes };
        // A CSV file without rows still has its header.
        encoder.encode(&RecordBatch::new_empty(Arc::clone(schema)))?;
        Ok(encoder)
    }

    pub(super) fn encode(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.writer {
            Writer::Csv(writer) => writer.write(batch)?,
            Writer::Json(writer) => writer.write(batch)?,
            Writer::Arrow(writer) if batch.num_rows() > 0 => writer.write(batch)?,
            Writer::Arrow(_) => {}
            Writer::Parquet(writer) => {
                writer.write(batch)?;
                if writer.in_progress_size() >= GROUP_BYTES {
                    writer.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Bytes that it holds.
    pub(super) fn held(&self) -> usize {
        let open = match &self.writer {
            Writer::Parquet(writer) => writer.memory_size(),
            _ => 0,
        };
        self.bytes.lock().capacity() + open
    }

    /// What is encoded, if that is worth a write.
    pub(super) fn piece(&mut self, at_least: usize) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.lock();
        (bytes.len() >= at_least).then(|| std::mem::take(&mut *bytes))
    }

    /// The last bytes.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        match &mut self.writer {
            Writer::Csv(_) => {}
            Writer::Json(writer) => writer.finish()?,
            Writer::Arrow(writer) => writer.finish()?,
            Writer::Parquet(writer) => {
                writer.finish()?;
            }
        }
        // A CSV writer keeps some until it is gone.
        drop(self.writer);
        Ok(std::mem::take(&mut *self.bytes.lock()))
    }
}

/// The options of a format as a statement gave them, over what the session has.
pub(super) fn options_of(
    kind: FileKind,
    mut options: TableOptions,
    said: &HashMap<String, String>,
) -> Result<TableOptions> {
    // DataFusion leaves options of other kinds out without a word.
    if let Some(other) = said.keys().find(|name| !name.starts_with("format.")) {
        let text = format!("OPTIONS: '{other}' is not known; options of a file begin with 'format.'");
        return Err(SqlError::Refused(text).into_plan());
    }
    options.set_config_format(match kind {
        FileKind::Csv => ConfigFileType::CSV,
        FileKind::Json => ConfigFileType::JSON,
        FileKind::Parquet => ConfigFileType::PARQUET,
        // It has none; an option that is given is then unknown.
        FileKind::Arrow if said.is_empty() => return Ok(options),
        FileKind::Arrow => {
            let text = "an Arrow file is written without OPTIONS".to_owned();
            return Err(SqlError::Refused(text).into_plan());
        }
    });
    if said.contains_key("format.null_regex") {
        let text = "'format.null_regex' has no effect on rows and is refused; read the column as VARCHAR, and say nullif(column, 'NA')";
        return Err(SqlError::Refused(text.to_owned()).into_plan());
    }
    options.alter_with_string_hash_map(said)?;
    let compression = match kind {
        FileKind::Csv => options.csv.compression,
        FileKind::Json => options.json.compression,
        FileKind::Parquet | FileKind::Arrow => CompressionTypeVariant::UNCOMPRESSED,
    };
    if compression == CompressionTypeVariant::UNCOMPRESSED {
        return Ok(options);
    }
    let text = "CSV and JSON files are not read or written compressed; leave 'format.compression' out, or use PARQUET";
    Err(SqlError::Refused(text.to_owned()).into_plan())
}
