//! Which files are read, which columns of them, and which processor reads which part. All calls block.
//!
//! A part is what can be read by itself: a row group of Parquet, a batch of Arrow. All parts together are one run, weighed by their rows
//! where the footer tells them, which is cut evenly; a part belongs to the processor in whose share it begins.

use super::error::{ColumnarError, check_columns};
use super::read::panicking;
use crate::file::{FileError, files};
use arrow_ipc::reader::FileReader;
use arrow_schema::{Schema, SchemaRef};
use filbert_flow::Share;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The two kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    Arrow,
}

impl Kind {
    /// What a part of it is called.
    pub(super) fn part(self) -> &'static str {
        match self {
            Kind::Parquet => "row group",
            Kind::Arrow => "batch",
        }
    }
}

/// A file whose footer was read.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) path: Arc<Path>,
    pub(super) footer: Footer,
    /// The columns that are read, by their place in the file, in the order in which they are wanted.
    pub(super) columns: Vec<usize>,
    /// The weight of every part.
    weights: Vec<u64>,
}

#[derive(Debug, Clone)]
pub(super) enum Footer {
    Parquet(ArrowReaderMetadata),
    Arrow,
}

/// Looks for the files and reads their footers. Those columns, or all of the first file's; each file must have them, with the same types.
pub(super) fn plan(
    kind: Kind,
    patterns: &[String],
    columns: Option<&[String]>,
) -> Result<Vec<Planned>, ColumnarError> {
    let mut planned = Vec::new();
    let mut first: Option<Schema> = None;
    if let Some(twice) = columns.and_then(named_twice) {
        return Err(ColumnarError::NamedTwice { column: twice.to_owned() });
    }
    for file in files(patterns)? {
        let path: Arc<Path> = Arc::from(file.origin.path.as_path());
        let (schema, footer, weights) = panicking(|| open(kind, &path))
            .unwrap_or_else(|problem| Err(ColumnarError::bad(&path, "the footer", problem)))?;
        let wanted: Vec<&str> = match (columns, &first) {
            (Some(names), _) => names.iter().map(String::as_str).collect(),
            (None, Some(first)) => first.fields().iter().map(|field| field.name().as_str()).collect(),
            (None, None) => schema.fields().iter().map(|field| field.name().as_str()).collect(),
        };
        let place =
            |name: &&str| schema.index_of(name).map_err(|_| ColumnarError::no_column(&path, name, &schema));
        // By place where all are wanted: a file may have two columns of one name.
        let columns: Vec<usize> = match (columns, &first) {
            (None, None) => (0..schema.fields().len()).collect(),
            _ => wanted.iter().map(place).collect::<Result<_, _>>()?,
        };
        let chosen =
            schema.project(&columns).map_err(|error| ColumnarError::bad(&path, "the footer", error))?;
        match &first {
            Some(first) => check_columns(&path, &chosen, first)?,
            None => first = Some(chosen),
        }
        planned.push(Planned { path, footer, columns, weights });
    }
    Ok(planned)
}

fn named_twice(columns: &[String]) -> Option<&str> {
    let mut seen = std::collections::HashSet::new();
    columns.iter().map(String::as_str).find(|column| !seen.insert(*column))
}

fn open(kind: Kind, path: &Path) -> Result<(SchemaRef, Footer, Vec<u64>), ColumnarError> {
    let file = File::open(path).map_err(|error| FileError::io("open", path, error))?;
    match kind {
        Kind::Parquet => {
            let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
                .map_err(|error| ColumnarError::bad(path, "the footer", error))?;
            let rows = |group: &parquet::file::metadata::RowGroupMetaData| {
                u64::try_from(group.num_rows()).unwrap_or(0)
            };
            let weights = footer.metadata().row_groups().iter().map(rows).collect();
            Ok((Arc::clone(footer.schema()), Footer::Parquet(footer), weights))
        }
        Kind::Arrow => {
            let reader = FileReader::try_new_buffered(file, None)
                .map_err(|error| ColumnarError::bad(path, "the footer", error))?;
            Ok((reader.schema(), Footer::Arrow, vec![1; reader.num_batches()]))
        }
    }
}

/// What one processor reads: files with the numbers of their parts.
pub(super) fn parts(files: &[Planned], share: Share) -> Vec<(Planned, Vec<usize>)> {
    // Saturating: a broken footer may claim any number of rows.
    let total =
        files.iter().flat_map(|file| &file.weights).fold(0_u64, |sum, weight| sum.saturating_add(*weight));
    let mine = share.part_of(0..total);
    let mut begin = 0;
    let mut parts = Vec::new();
    for file in files {
        let mut numbers = Vec::new();
        for (number, weight) in file.weights.iter().enumerate() {
            // What begins where the sum is saturated belongs to the last share.
            if *weight > 0 && (mine.contains(&begin) || (begin == u64::MAX && mine.end == u64::MAX)) {
                numbers.push(number);
            }
            begin = begin.saturating_add(*weight);
        }
        if !numbers.is_empty() {
            parts.push((file.clone(), numbers));
        }
    }
    parts
}
