//! The answer of a cube as it is written: a table for people, text or columns for programs.

use super::super::Outcome;
use super::super::screen_size::screen_size;
use super::super::sql::print::{
    self, ColumnarPrinter, CsvPrinter, JsonPrinter, PrintError, Printer, Summary, ending,
};
use super::super::tell::tell;
use super::destination::Destination;
use super::{Arguments, Watch};
use filbert::arrow::datatypes::SchemaRef;
use filbert::cube::cell::on_terminal;
use filbert::cube::{CubeError, CubeResult, TableLayout};
use filbert::sql::FileEncoder;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Columns that line up, for people.
    #[default]
    Table,
    /// Comma-separated values with a header, a line for each combination of values; a missing value is nothing, an empty text is "".
    Csv,
    /// One array of objects; a missing value is left out.
    Json,
    /// One object on each line.
    Ndjson,
    /// An Arrow file.
    Arrow,
    /// A Parquet file.
    Parquet,
}

/// How the computation of an answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Explain {
    /// The steps as a tree, with their costs.
    Text,
    /// The same, with the first slices of every step and their values.
    Debug,
    /// A flow chart in Mermaid, for Markdown pages.
    Mermaid,
}

/// More columns side by side than this are for those who ask for them.
const MOST_ACROSS: usize = 16;

impl Format {
    /// As it is said, or as the file is called.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, String> {
        let format = match (arguments.format, arguments.output.as_deref()) {
            (Some(format), _) => format,
            (None, Some(path)) => Self::of_path(path)?,
            (None, None) => Self::default(),
        };
        if arguments.across.is_some() && format != Self::Table {
            return Err(
                "--across puts values side by side in tables only; leave it out for a line for each combination, or take --format table"
                    .to_owned(),
            );
        }
        let is_binary = matches!(format, Self::Arrow | Self::Parquet);
        if is_binary && arguments.output.is_none() && std::io::stdout().is_terminal() {
            return Err("a terminal shows no Arrow and Parquet files; name a file with -o".to_owned());
        }
        Ok(format)
    }

    fn of_path(path: &Path) -> Result<Self, String> {
        match (print::Format::of_path(path), ending(path).as_str()) {
            (Some(print::Format::Csv), _) => Ok(Self::Csv),
            (Some(print::Format::Json), _) => Ok(Self::Json),
            (Some(print::Format::Ndjson), _) => Ok(Self::Ndjson),
            (_, "arrow" | "ipc" | "feather") => Ok(Self::Arrow),
            (_, "parquet") => Ok(Self::Parquet),
            _ => Err(format!(
                "-o {}: the ending says nothing of a format; take .csv, .json, .ndjson, .jsonl, .arrow, .ipc, .feather or .parquet, or \
                 name one with --format",
                path.display()
            )),
        }
    }

    /// What writes rows of these columns; nothing does as a table, for which all must be known.
    pub(super) fn printer(self, schema: &SchemaRef) -> Result<Option<Box<dyn Printer>>, PrintError> {
        Ok(Some(match self {
            Self::Table => return Ok(None),
            Self::Csv => Box::new(CsvPrinter::new(schema)),
            Self::Json => Box::new(JsonPrinter::array(schema).without_nulls()),
            Self::Ndjson => Box::new(JsonPrinter::lines(schema).without_nulls()),
            Self::Arrow => Box::new(ColumnarPrinter::new(FileEncoder::arrow(schema))?),
            Self::Parquet => Box::new(ColumnarPrinter::new(FileEncoder::parquet(schema))?),
        }))
    }
}

/// Says on the standard error which measures failed: a column may be long, and a table without rows has no place for it.
pub(super) fn tell_failures(answer: &CubeResult) {
    for (measure, error) in answer.failures() {
        tell(format_args!("filbert: {}", on_terminal(&format!("measure {measure:?} failed: {error}"))));
    }
}

/// So many rows are written between two looks at the signals.
const ROWS_AT_ONCE: usize = 16_384;

/// Writes the answer, or how it was computed.
pub(super) fn write(
    (arguments, format): (&Arguments, Format),
    watch: &Watch<'_>,
    answer: &CubeResult,
    out: &mut Destination,
) -> Outcome {
    if let (Some(explain), Some(explanation)) = (arguments.explain, answer.explanation()) {
        match explain {
            Explain::Text | Explain::Debug => write!(out, "{explanation}{}", legend(arguments))?,
            Explain::Mermaid => write!(out, "{}", explanation.mermaid())?,
        }
        return Ok(());
    }
    // Programs get all digits, unless somebody says how many.
    let rounded = match (arguments.digits, format) {
        (None, _) | (_, Format::Table) => None,
        (Some(digits), _) => Some(answer.clone().rounded(digits)),
    };
    let answer = rounded.as_ref().unwrap_or(answer);
    let (batch, rows) = (answer.batch(), answer.rows());
    match format.printer(&batch.schema()).map_err(PrintError::plainly)? {
        Some(mut printer) => {
            for begin in (0..rows).step_by(ROWS_AT_ONCE) {
                watch.heed()?;
                let some = batch.slice(begin, ROWS_AT_ONCE.min(rows - begin));
                printer.batch(&some, out).map_err(PrintError::plainly)?;
            }
            printer.end(&Summary { rows: rows as u64, elapsed: None }, out).map_err(PrintError::plainly)?;
        }
        None => {
            let width = screen_size().map(|(width, _)| width).filter(|_| out.is_terminal);
            write!(out, "{}", table(arguments, answer, width)?)?;
        }
    }
    Ok(())
}

/// Says how an explanation is read.
fn legend(arguments: &Arguments) -> String {
    let group = match arguments.by.as_slice() {
        [] => "all rows".to_owned(),
        by => format!("the rows of one {}", by.join(" and ")),
    };
    format!(
        "\nEach line is a step: what it computes, its time, its groups of rows and their memory. Steps that it reads are below it, further in.\n\
         A group is, in the answer, {group}; a partition is a part of the groups that one thread computes at a time.\n"
    )
}

/// A pivot where it is asked for, or where its columns are few; as many columns as have room.
fn table(arguments: &Arguments, answer: &CubeResult, width: Option<usize>) -> Result<String, CubeError> {
    let across = match (&arguments.across, arguments.by.as_slice()) {
        (Some(column), _) => Some(column),
        (None, [_, .., last]) if !arguments.flat && answer.pivot_columns(last)? <= MOST_ACROSS => Some(last),
        _ => None,
    };
    let mut layout = TableLayout::new();
    layout = arguments.digits.into_iter().fold(layout, TableLayout::digits);
    layout = width.into_iter().fold(layout, TableLayout::width);
    let has_members = across.is_some();
    if let Some(column) = across {
        layout = layout.across(column);
    }
    let mut table = answer.to_table(&layout)?;
    if table.left_out > 0 {
        let (shown, all) = (table.columns - table.left_out, table.columns);
        let rather = match has_members {
            true => "flat has a line for each value",
            false => "measures chooses some",
        };
        table.text +=
            &format!("({shown} of {all} columns have room; --{rather}, and -o FILE writes all of them)\n");
    }
    Ok(table.text)
}
