//! Reads the parts of one processor, batch by batch. All calls block; they run on the stage `mixed`.

use super::error::ColumnarError;
use super::plan::{Footer, Kind, Planned};
use crate::file::{BlockSource, FileError};
use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::vec::IntoIter;

/// Calls code that may panic over a file that is broken; then it is its message.
pub(super) fn panicking<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    filbert_pool::caught(body).map_err(|message| format!("it is broken: {message}"))
}

/// The parts of one processor, one of them open at a time.
pub(super) struct PartQueue {
    files: VecDeque<(Planned, IntoIter<usize>)>,
    current: Option<Part>,
    batch_rows: usize,
}

/// A part that is being read.
struct Part {
    number: usize,
    batches: Batches,
    /// The order of the columns that was asked for, by their order in the file.
    order: Vec<usize>,
}

enum Batches {
    Parquet(ParquetRecordBatchReader),
    /// One batch, and those of the same file that come after it.
    Arrow(Box<FileReader<BufReader<File>>>),
}

impl PartQueue {
    pub(super) fn new(parts: Vec<(Planned, Vec<usize>)>, batch_rows: usize) -> Self {
        let files = parts.into_iter().map(|(file, numbers)| (file, numbers.into_iter())).collect();
        Self { files, current: None, batch_rows }
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, ColumnarError> {
        while let Some((file, numbers)) = self.files.front_mut() {
            let Some(part) = &mut self.current else {
                match numbers.next() {
                    Some(number) => self.current = Some(open(file, number, self.batch_rows)?),
                    None => drop(self.files.pop_front()),
                }
                continue;
            };
            let kind = file.footer.kind();
            let (path, number) = (&file.path, part.number);
            let bad =
                |problem: String| ColumnarError::bad(path, format!("{} {number}", kind.part()), problem);
            let batch = match &mut part.batches {
                Batches::Parquet(reader) => panicking(|| reader.next()),
                Batches::Arrow(reader) => {
                    let batch = panicking(|| reader.next());
                    let ordered = in_order(batch, &part.order).map_err(bad)?;
                    // The next batch of the same file needs no second look at its footer.
                    match numbers.next() {
                        Some(next) => {
                            part.number = next;
                            let found = panicking(|| reader.set_index(next)).map_err(bad)?;
                            found.map_err(|error| bad(error.to_string()))?;
                        }
                        None => self.current = None,
                    }
                    match ordered {
                        Some(batch) => return Ok(Some(batch)),
                        None => continue,
                    }
                }
            };
            match in_order(batch, &part.order).map_err(bad)? {
                Some(batch) => return Ok(Some(batch)),
                None => self.current = None,
            }
        }
        Ok(None)
    }
}

/// The batch with its columns in the order that was asked for.
fn in_order(
    batch: Result<Option<Result<RecordBatch, arrow_schema::ArrowError>>, String>,
    order: &[usize],
) -> Result<Option<RecordBatch>, String> {
    let Some(batch) = batch? else { return Ok(None) };
    let batch = batch.map_err(|error| error.to_string())?;
    if order.is_sorted() {
        return Ok(Some(batch));
    }
    batch.project(order).map(Some).map_err(|error| error.to_string())
}

impl Footer {
    fn kind(&self) -> Kind {
        match self {
            Footer::Parquet(_) => Kind::Parquet,
            Footer::Arrow => Kind::Arrow,
        }
    }
}

fn open(file: &Planned, number: usize, batch_rows: usize) -> Result<Part, ColumnarError> {
    let path = &file.path;
    let bad = |problem: String| {
        ColumnarError::bad(path, format!("{} {number}", file.footer.kind().part()), problem)
    };
    let opened = File::open(path).map_err(|error| FileError::io("open", path, error))?;
    // The readers give the columns in the order of the file.
    let mut sorted = file.columns.clone();
    sorted.sort_unstable();
    let order = file.columns.iter().filter_map(|column| sorted.binary_search(column).ok()).collect();
    let batches = match &file.footer {
        Footer::Parquet(footer) => {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, footer.clone());
            let columns = ProjectionMask::roots(builder.parquet_schema(), sorted);
            let reader = panicking(|| {
                builder
                    .with_projection(columns)
                    .with_row_groups(vec![number])
                    .with_batch_size(batch_rows)
                    .build()
            });
            Batches::Parquet(reader.map_err(bad)?.map_err(|error| bad(error.to_string()))?)
        }
        Footer::Arrow => {
            let reader = panicking(|| {
                let mut reader = FileReader::try_new_buffered(opened, Some(sorted))?;
                reader.set_index(number)?;
                Ok::<_, arrow_schema::ArrowError>(reader)
            });
            Batches::Arrow(Box::new(reader.map_err(bad)?.map_err(|error| bad(error.to_string()))?))
        }
    };
    Ok(Part { number, batches, order })
}

impl BlockSource for PartQueue {
    type Block = RecordBatch;
    type Error = ColumnarError;

    fn next_block(&mut self) -> Result<Option<RecordBatch>, ColumnarError> {
        self.next()
    }
}
