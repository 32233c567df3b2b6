//! Rows of a query as text: a table for people, CSV and JSON for programs; and as files of columns, for `filbert cube`.
//!
//! Rows are written as they come. Only the table waits for the first ones, to see how wide its columns are.

mod columnar;
mod csv;
mod expanded;
mod fit;
mod fitted;
mod json;
mod table;
mod value;
mod view;

pub(in crate::cli) use columnar::ColumnarPrinter;
pub(in crate::cli) use csv::CsvPrinter;
pub(in crate::cli) use json::JsonPrinter;
pub(in crate::cli::sql) use value::SQL_TYPE;
pub(in crate::cli) use view::{Expanded, Paint, ROWS, View};

use super::super::text::grouped;
use filbert::arrow::array::RecordBatch;
use filbert::arrow::error::ArrowError;
use filbert::arrow::util::display::FormatOptions;
use filbert::{Description, SqlError, StatementKind};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Rows that are looked at before the first is written.
const LOOKED_AT: usize = 1_000;

/// How rows are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    /// Columns that line up, for people.
    #[default]
    Table,
    /// Comma-separated values with a header; NULL is nothing, an empty text is "".
    Csv,
    /// One array of objects for each statement.
    Json,
    /// One object on each line.
    Ndjson,
}

/// What is said of a whole result.
pub(in crate::cli) struct Summary {
    pub(in crate::cli) rows: u64,
    /// Not shown when nobody wants to know.
    pub(in crate::cli) elapsed: Option<Duration>,
}

/// Writes the result of one statement.
pub(in crate::cli) trait Printer {
    /// Some rows.
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError>;

    /// There are no more.
    fn end(&mut self, summary: &Summary, out: &mut dyn Write) -> Result<(), PrintError>;

    /// True when rows that came are written already.
    fn has_written(&self) -> bool;
}

/// Rows that could not be written.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum PrintError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("a value cannot be shown: {0}")]
    Value(#[from] ArrowError),
    #[error("rows cannot be written as a file of columns: {0}")]
    Columns(#[from] SqlError),
}

impl PrintError {
    /// What is wrong with the output stays what it is: a reader that went away is no failure.
    pub(in crate::cli) fn plainly(self) -> Box<dyn Error> {
        match self {
            PrintError::Io(error) => error.into(),
            other => other.into(),
        }
    }
}

impl Format {
    /// The one that a file with this name has, if it is one of texts for programs.
    pub(in crate::cli) fn of_path(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            "ndjson" | "jsonl" => Some(Format::Ndjson),
            _ => None,
        }
    }

    /// For the rows of such a statement on a terminal, as far as they are a table.
    pub(in crate::cli) fn fitted(self, statement: &Description, view: View) -> Box<dyn Printer> {
        let has_rows = statement.kind == StatementKind::Rows && !statement.columns.fields().is_empty();
        // A plan is read as a whole, and a stream as it comes.
        let is_plan = statement.columns.fields().first().is_some_and(|field| field.name() == "plan_type");
        match self {
            Format::Table if has_rows && !is_plan && !statement.endless => {
                Box::new(fitted::FittedPrinter::new(&statement.columns, view))
            }
            _ => self.printer(statement),
        }
    }

    /// For the rows of such a statement.
    pub(in crate::cli) fn printer(self, statement: &Description) -> Box<dyn Printer> {
        let schema = &statement.columns;
        match self {
            Format::Table => Box::new(table::TablePrinter::new(schema, &statement.kind)),
            Format::Csv => Box::new(csv::CsvPrinter::new(schema)),
            Format::Json => Box::new(json::JsonPrinter::array(schema)),
            Format::Ndjson => Box::new(json::JsonPrinter::lines(schema)),
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = clap::ValueEnum::to_possible_value(self);
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// How the name of a file ends, in small letters.
pub(in crate::cli) fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// What is the same in every text.
fn written() -> FormatOptions<'static> {
    FormatOptions::new().with_display_error(false)
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        write!(f, "({} {rows}", grouped(self.rows))?;
        if let Some(elapsed) = self.elapsed {
            write!(f, ", {}", time(elapsed))?;
        }
        f.write_str(")")
    }
}

/// A time as people say it.
fn time(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use filbert::arrow::array::{Float64Array, Int64Array, StringArray};
    use filbert::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use std::sync::Arc;

    /// Two columns of the same name, numbers, texts with everything in them, and NULLs.
    pub(in super::super) fn batch() -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
            Field::new("n", DataType::Float64, true),
        ]);
        let columns: Vec<Arc<dyn filbert::arrow::array::Array>> = vec![
            Arc::new(Int64Array::from(vec![Some(-7), None, Some(100)])),
            Arc::new(StringArray::from(vec![Some("a,\"b\"\nc"), Some(""), None])),
            Arc::new(Float64Array::from(vec![0.5, f64::NAN, 1e300])),
        ];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    pub(super) fn printed(format: Format, batches: &[RecordBatch]) -> String {
        printed_as(StatementKind::Rows, &batch().schema(), format, batches)
    }

    pub(super) fn printed_as(
        kind: StatementKind,
        schema: &SchemaRef,
        format: Format,
        batches: &[RecordBatch],
    ) -> String {
        let columns = Arc::clone(schema);
        let mut printer = format.printer(&Description {
            parameters: Vec::new(),
            columns,
            kind,
            endless: false,
            change: None,
        });
        let mut out = Vec::new();
        for batch in batches {
            printer.batch(batch, &mut out).unwrap();
        }
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        printer.end(&Summary { rows, elapsed: None }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_summary_counts_and_tells_the_time() {
        let summary = |rows, elapsed| Summary { rows, elapsed }.to_string();
        assert_eq!(summary(1, None), "(1 row)");
        assert_eq!(summary(0, Some(Duration::from_micros(1_500))), "(0 rows, 1.5 ms)");
        assert_eq!(summary(12_345, Some(Duration::from_millis(61_500))), "(12,345 rows, 61.50 s)");
    }
}
