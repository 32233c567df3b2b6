//! CSV: rows of fields, with or without a header.
//!
//! A field in quotes may hold line ends, so a line is not always a row. The parser is a state machine that goes on from block to block,
//! so rows may cross blocks. They must not cross *splits*: the next processor begins at a line, and would begin in the
//! middle of a row. The processor before it notices, for it comes to its end inside of a row; and if its own begin was
//! right, it cannot be wrong about that. So the first row that crosses a split always fails the job, and no wrong row is ever taken
//! for a right one by a job that completes. [`FileSource::multiline`] reads each file by one processor, and then such rows are fine anywhere.

use super::block::Block;
use super::error::FileError;
use super::source::{FileSource, Format, Parse, Row};
use csv::{ByteRecord, ErrorKind};
use csv_core::ReadRecordResult;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Emits every row, read as a `T`: a structure whose fields have the names of the header, or, [without a header](FileSource::without_header),
/// a tuple. Files are found as by [`lines`](super::lines()); each has a header of its own.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cities.csv");
/// # std::fs::write(&path, "name,people\nOslo,709000\n\"Bergen, Vestland\",290000\n")?;
/// use filbert_connect::file;
/// use filbert_flow::{DagBuilder, processors};
///
/// #[derive(serde::Deserialize)]
/// struct City { name: String, people: u64 }
///
/// let mut dag = DagBuilder::new("cities");
/// let cities = dag.vertex("cities", file::csv::<City>(&path));
/// let people = dag.vertex("people", processors::map(|city: City| (city.people, city.name)));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(cities.output().to(people.input()));
/// dag.edge(people.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// assert_eq!(list.take().into_iter().max(), Some((709_000, "Oslo".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn csv<T: DeserializeOwned + Send + 'static>(pattern: impl AsRef<Path>) -> FileSource<CsvRows<T>> {
    FileSource::new(
        pattern,
        CsvRows {
            delimiter: b',',
            has_header: true,
            is_multiline: false,
            is_flexible: false,
            item: PhantomData,
        },
    )
}

/// The format of [`csv()`].
#[derive(Debug)]
pub struct CsvRows<T> {
    delimiter: u8,
    has_header: bool,
    is_multiline: bool,
    is_flexible: bool,
    item: PhantomData<fn() -> T>,
}

impl<T> Clone for CsvRows<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData, ..*self }
    }
}

impl<T> FileSource<CsvRows<T>> {
    /// What stands between two fields, a comma by default.
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.format_mut().delimiter = delimiter;
        self
    }

    /// The first row is a row like the others.
    pub fn without_header(mut self) -> Self {
        self.format_mut().has_header = false;
        self
    }

    /// Fields may hold line ends. Each file is read by one processor alone, then.
    pub fn multiline(mut self) -> Self {
        self.format_mut().is_multiline = true;
        self
    }

    /// Rows may have fewer or more fields than the header, or the first row.
    pub fn flexible(mut self) -> Self {
        self.format_mut().is_flexible = true;
        self
    }
}

impl<T: DeserializeOwned + Send + 'static> Format for CsvRows<T> {
    type Item = T;
    type Parser = ReadCsv<T>;

    fn parser(&self, files: &[PathBuf], max_line_bytes: usize) -> Result<ReadCsv<T>, FileError> {
        let headers = match self.has_header {
            true => files
                .iter()
                .map(|path| self.header(path, max_line_bytes).map(Arc::new))
                .collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        Ok(ReadCsv {
            core: csv_core::ReaderBuilder::new().delimiter(self.delimiter).build(),
            headers,
            header: None,
            skips_header: false,
            is_flexible: self.is_flexible,
            width: None,
            max_row_bytes: max_line_bytes,
            block: None,
            at: 0,
            row_begin: None,
            fields: vec![0; 1024],
            ends: vec![0; 32],
            used: (0, 0),
            record: ByteRecord::new(),
            item: PhantomData,
        })
    }

    fn is_cut(&self) -> bool {
        !self.is_multiline
    }
}

impl<T> CsvRows<T> {
    /// The first row of a file that has a length; a stream brings its header itself.
    fn header(&self, path: &Path, max_line_bytes: usize) -> Result<ByteRecord, FileError> {
        let unreadable = |error| FileError::io("open", path, error);
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Ok(ByteRecord::new());
        }
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut builder = csv::ReaderBuilder::new();
        let mut reader = builder
            .delimiter(self.delimiter)
            .has_headers(false)
            .from_reader(std::io::Read::take(file, max_line_bytes as u64));
        let mut header = ByteRecord::new();
        match reader.read_byte_record(&mut header).map_err(csv::Error::into_kind) {
            Ok(_) => Ok(header),
            Err(ErrorKind::Io(error)) => Err(FileError::io("read", path, error)),
            Err(kind) => {
                let problem = format!("the header cannot be read: {kind:?}");
                Err(FileError::BadRow { path: path.to_owned(), line: 1, column: 1, problem })
            }
        }
    }
}

/// The parser of [`csv()`].
pub struct ReadCsv<T> {
    core: csv_core::Reader,
    /// By file; empty without headers.
    headers: Vec<Arc<ByteRecord>>,
    /// That of the current file.
    header: Option<Arc<ByteRecord>>,
    /// The next row is the header.
    skips_header: bool,
    is_flexible: bool,
    /// How many fields the rows of this split have.
    width: Option<usize>,
    max_row_bytes: usize,
    block: Option<Block>,
    /// How far the block was read.
    at: usize,
    /// Where in the file the current row begins; none between two rows.
    row_begin: Option<u64>,
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// How much of `fields` and `ends` is used by the current row.
    used: (usize, usize),
    record: ByteRecord,
    item: PhantomData<fn() -> T>,
}

/// What a step of the state machine came to.
enum Stepped {
    /// The row is in `record`, and began there.
    Row(u64),
    /// The block is at its end.
    EndOfBlock,
    Fatal(u64, String),
}

impl<T> ReadCsv<T> {
    /// Finds the next row.
    fn step(&mut self) -> Stepped {
        let Some(block) = &self.block else { return Stepped::EndOfBlock };
        loop {
            if self.row_begin.is_none() {
                // Line ends between rows are no rows; the state machine passes over them as well.
                let rest = &block.bytes[self.at..];
                let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                if self.at + blank < block.bytes.len() {
                    self.row_begin = Some(block.offset + (self.at + blank) as u64);
                }
            }
            let rest = &block.bytes[self.at..];
            if rest.is_empty() {
                match self.row_begin {
                    Some(begin) if block.is_last && !block.is_tail => {
                        let problem = "a field with a line end in it lies where the file is cut for several processors; \
                                       read it with `multiline()`";
                        return Stepped::Fatal(begin, problem.to_owned());
                    }
                    // An empty input ends the last row, which has no line end.
                    Some(_) if block.is_last => {}
                    _ => return Stepped::EndOfBlock,
                }
            }
            let (fields, ends) = (&mut self.fields[self.used.0..], &mut self.ends[self.used.1..]);
            let (result, read, wrote, ended) = self.core.read_record(rest, fields, ends);
            self.at += read;
            self.used.0 += wrote;
            self.used.1 += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.fields.len() > self.max_row_bytes => {
                    let problem = format!(
                        "the row is longer than {} bytes; `max_line_bytes` sets the limit",
                        self.max_row_bytes
                    );
                    return Stepped::Fatal(self.row_begin.unwrap_or(block.offset), problem);
                }
                ReadRecordResult::OutputFull => self.fields.resize(self.fields.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    self.record.clear();
                    let mut begin = 0;
                    for &end in &self.ends[..self.used.1] {
                        self.record.push_field(&self.fields[begin..end]);
                        begin = end;
                    }
                    self.used = (0, 0);
                    return Stepped::Row(self.row_begin.take().unwrap_or(block.offset));
                }
                ReadRecordResult::End => {
                    self.row_begin = None;
                    return Stepped::EndOfBlock;
                }
            }
        }
    }

    /// What is wrong with a row, in words of the file.
    fn bad(&self, offset: u64, error: csv::Error) -> Row<T> {
        let (column, problem) = match error.into_kind() {
            ErrorKind::Deserialize { err, .. } => match err.field() {
                Some(field) => {
                    let name = self.header.as_ref().and_then(|header| header.get(field as usize));
                    let name =
                        name.map(|name| format!(" {:?}", String::from_utf8_lossy(name))).unwrap_or_default();
                    (field + 1, format!("field {}{name}: {}", field + 1, err.kind()))
                }
                None => (1, err.kind().to_string()),
            },
            kind => (1, format!("{kind:?}")),
        };
        Row::Bad { offset, column, problem }
    }
}

impl<T: DeserializeOwned + Send + 'static> Parse for ReadCsv<T> {
    type Item = T;

    fn begin(&mut self, block: Block) {
        if block.is_first {
            self.core.reset();
            self.used = (0, 0);
            self.row_begin = None;
            self.header = self.headers.get(block.origin.index).cloned();
            self.skips_header = self.header.is_some() && block.offset == 0;
            self.width = self.header.as_ref().map(|header| header.len()).filter(|width| *width > 0);
        }
        self.at = 0;
        self.block = Some(block);
    }

    fn next(&mut self) -> Row<T> {
        loop {
            let offset = match self.step() {
                Stepped::Row(offset) => offset,
                Stepped::EndOfBlock => return Row::End,
                Stepped::Fatal(offset, problem) => return Row::Fatal { offset, problem },
            };
            if std::mem::take(&mut self.skips_header) {
                self.header = Some(Arc::new(self.record.clone()));
                self.width = Some(self.record.len());
                continue;
            }
            let width = *self.width.get_or_insert(self.record.len());
            if !self.is_flexible && self.record.len() != width {
                let problem = format!("the row has {} fields and not {width}", self.record.len());
                return Row::Bad { offset, column: self.record.len().min(width) as u64, problem };
            }
            return match self.record.deserialize(self.header.as_deref()) {
                Ok(item) => Row::Good(item),
                Err(error) => self.bad(offset, error),
            };
        }
    }
}
