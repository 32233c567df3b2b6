//! The answer of a cube as text.

use super::super::Outcome;
use super::Arguments;
use filbert::cube::CubeResult;
use std::io::Write;

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Columns that line up, for people.
    #[default]
    Table,
    /// Comma-separated values with a header, a line for each combination of values.
    Csv,
    /// One array of objects.
    Json,
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

pub(super) fn write(arguments: &Arguments, answer: &CubeResult, out: &mut impl Write) -> Outcome {
    if let (Some(explain), Some(explanation)) = (arguments.explain, answer.explanation()) {
        match explain {
            Explain::Text | Explain::Debug => write!(out, "{explanation}")?,
            Explain::Mermaid => write!(out, "{}", explanation.mermaid())?,
        }
        return Ok(());
    }
    match arguments.format {
        Format::Csv => write!(out, "{}", answer.to_csv()?)?,
        Format::Json => writeln!(out, "{}", answer.to_json()?)?,
        Format::Table => write!(out, "{}", table(arguments, answer)?)?,
    }
    Ok(())
}

/// A pivot where it is asked for, or where its columns are few.
fn table(arguments: &Arguments, answer: &CubeResult) -> Result<String, filbert::cube::CubeError> {
    if let Some(column) = &arguments.across {
        return answer.to_pivot(column);
    }
    match arguments.by.as_slice() {
        [_, .., last] if !arguments.flat && answer.pivot_columns(last)? <= MOST_ACROSS => {
            answer.to_pivot(last)
        }
        _ => answer.to_text(),
    }
}
