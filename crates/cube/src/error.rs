//! What can go wrong between a forest of measures and a result.
//!
//! One enum for the whole crate: a query passes through forest, plan, tables and steps, and its caller wants one type to match on. It is
//! `Clone`, because one failed step is told to everything that waits for it.

use filbert_pool::{SubmitError, TaskError};
use std::sync::Arc;
use std::time::Duration;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CubeError {
    /// Measures that need each other in a circle.
    #[error("the measures form a cycle: {}; one of them must not refer to the next", .path.join(" -> "))]
    Cycle {
        /// From a measure through its references back to itself.
        path: Vec<String>,
    },
    /// A measure refers to one that the forest does not have.
    #[error("there is no measure {name:?}{}{}", by_path(.path), is_it(.nearest.as_deref()))]
    UnknownMeasure {
        /// What was referred to.
        name: String,
        /// From the measure that was asked for to the one that refers to `name`; empty when a query asked for it.
        path: Vec<String>,
        /// A measure with almost this name.
        nearest: Option<String>,
    },
    /// Two measures of one name.
    #[error("there are two measures named {name:?}, {first} and {second}; rename one, or take it away")]
    DuplicateMeasure {
        /// The name.
        name: String,
        /// Where the first of them stands: a line of a text, or its number among the measures, from 1.
        first: String,
        /// Where the second stands.
        second: String,
    },
    /// A measure is not defined well.
    #[error("measure {measure:?}: {problem}")]
    InvalidMeasure {
        /// The measure.
        measure: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The text of a forest cannot be read.
    #[error("the forest cannot be read: {problem}")]
    InvalidForest {
        /// What is wrong and where.
        problem: String,
    },
    /// The text of a forest is too long to be one.
    #[error("the forest has more than {} MiB, which is the most that is read; take another file, or build it in code", .limit >> 20)]
    ForestTooLarge {
        /// How much is read, in bytes.
        limit: usize,
    },
    /// A column that the table does not have.
    #[error(
        "{}table {table:?} has no column {column:?}; it has: {}{}{}",
        for_whom(.wanted_by.as_deref()), .known.join(", "), made_by_dispatchors(.dispatched), is_it(.nearest.as_deref())
    )]
    UnknownColumn {
        /// The table.
        table: String,
        /// The column that was asked for.
        column: String,
        /// Who names it: `measure "pnl"`, `column "notional"`; nobody when a query does.
        wanted_by: Option<Box<str>>,
        /// What it has, calculated columns included.
        known: Box<[String]>,
        /// The columns that Dispatchors make. Measures below or beside them do not have these.
        dispatched: Box<[String]>,
        /// A column with almost this name.
        nearest: Option<String>,
    },
    /// A column or a value is of a type that is not handled here.
    #[error("{place}: {problem}")]
    UnsupportedType {
        /// Where: a column, a measure, a filter.
        place: String,
        /// The type, and what would do.
        problem: String,
    },
    /// A value that a column cannot have, where somebody wrote it: in a filter, a cell, a measure.
    #[error("column {column:?}: {value} is no {wanted}")]
    InvalidValue {
        /// The column.
        column: String,
        /// The value, as it is written in a filter.
        value: String,
        /// What the column has, and how that is written.
        wanted: String,
    },
    /// A filter that cannot be read or evaluated.
    #[error("filter at character {at}: {problem}")]
    InvalidFilter {
        /// Offset in its text, in characters; 0 when it was not made from a text.
        at: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A format of numbers that is not known.
    #[error(
        "the format {format:?} is not known; write 0, 0.00, #,##0, #,##0.00, 0% or 0.0%, with up to 15 decimals"
    )]
    InvalidFormat {
        /// The format, as it was written.
        format: String,
    },
    /// An expression of a combinator or a calculated column that cannot be read.
    #[error("expression at character {at}: {problem}")]
    InvalidExpression {
        /// Offset in its text, in characters.
        at: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A query that makes no sense as it stands.
    #[error("the query: {problem}")]
    InvalidQuery {
        /// What is wrong and what to do.
        problem: String,
    },
    /// Settings of a cube that contradict each other.
    #[error("the settings of the cube: {problem}")]
    InvalidSettings {
        /// What is wrong and what to do.
        problem: String,
    },
    /// The query would hold more memory than it may.
    #[error("the query needs {requested} bytes more while {}", over_memory(*held, *limit, *is_total))]
    OverMemory {
        /// What a query may hold, or all together, in bytes.
        limit: usize,
        /// What it holds, or all.
        held: usize,
        /// What it asked for beyond.
        requested: usize,
        /// True when the queries and caches of all cubes together leave no room for it: with fewer of them, there may be.
        is_total: bool,
    },
    /// What had no room in memory could not be written to disk, or not read back.
    #[error(
        "the query cannot use {directory:?} for what has no room in memory: {message}; make room there, or raise its memory limit"
    )]
    SpillFailed {
        /// The folder.
        directory: String,
        /// What the system said.
        message: String,
    },
    /// A table that cannot be one as it is named.
    #[error("table {table:?}: {problem}")]
    InvalidTable {
        /// The table.
        table: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A table could not be read.
    #[error("table {table:?} failed: {message}")]
    TableFailed {
        /// The table.
        table: String,
        /// What it said.
        message: String,
    },
    /// A computation that Arrow refused.
    #[error("{place}: {message}")]
    Computation {
        /// The step or measure.
        place: String,
        /// What was refused.
        message: String,
    },
    /// The query was cancelled.
    #[error("the query was cancelled")]
    Cancelled,
    /// The query took longer than it may.
    #[error("the query was not done within {} ms; raise its time-out, filter more, or group by less", .limit.as_millis())]
    TimedOut {
        /// Its time-out.
        limit: Duration,
    },
    /// Code of a measure panicked.
    #[error("measure {measure:?} panicked: {message}")]
    Panicked {
        /// The measure, or the step that ran it.
        measure: String,
        /// What the panic said.
        message: String,
    },
    /// The stream was closed, or the stages have ended.
    #[error("{what} is closed")]
    Closed {
        /// What was closed.
        what: String,
    },
    /// A stage has no room for the query.
    #[error("{message}; try again later")]
    Overloaded {
        /// Which stage, and how much it takes.
        message: String,
    },
}

/// What a place begins with that names a measure.
const MEASURE: &str = "measure ";

/// Stands for a measure where none is known.
const AGGREGATION: &str = "aggregation";

/// So many characters of what code said are kept where errors are values: every step above the one that failed has them, and every row.
const MOST_KEPT: usize = 2_000;

/// So many of these have room for the note that others are missing.
const NOTE: usize = 40;

/// Who holds how much where there is no room, and what to do about it.
fn over_memory(held: usize, limit: usize, is_total: bool) -> String {
    match is_total {
        true => format!(
            "the queries and caches of all cubes hold {held} of the {limit} that memory.cube_bytes allows; try again when fewer run, or \
             raise it"
        ),
        false => format!("it holds {held} of {limit}; raise its memory limit, filter more, or group by less"),
    }
}

impl CubeError {
    /// True when the same query may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Overloaded { .. }
                | Self::TimedOut { .. }
                | Self::TableFailed { .. }
                | Self::OverMemory { is_total: true, .. }
        )
    }

    /// The same refusal, by the total of all cubes.
    pub(crate) fn of_all_cubes(mut self) -> Self {
        if let Self::OverMemory { is_total, .. } = &mut self {
            *is_total = true;
        }
        self
    }

    /// True when nothing of the query can be answered after it, not even the measures that did not fail.
    pub(crate) fn ends_query(&self) -> bool {
        matches!(
            self,
            Self::Cancelled | Self::TimedOut { .. } | Self::OverMemory { .. } | Self::SpillFailed { .. }
        )
    }

    /// What Arrow said, at a place.
    pub(crate) fn arrow(place: impl Into<String>, error: &arrow::error::ArrowError) -> Self {
        Self::Computation { place: place.into(), message: error.to_string() }
    }

    /// The same, told of who names the column that there is not.
    pub(crate) fn wanted_by(mut self, who: String) -> Self {
        if let Self::UnknownColumn { wanted_by, .. } = &mut self {
            *wanted_by = Some(who.into());
        }
        self
    }

    /// What was refused, at another place: the one who refused it does not know where it stands.
    pub(crate) fn of_place(self, place: &str) -> Self {
        match self {
            Self::Computation { message, .. } => Self::Computation { place: place.to_owned(), message },
            other => other,
        }
    }

    /// The same, of this measure, or of one of its aggregations: what computes does not know whose it is. What is told of a measure already
    /// stays as it is: it comes from a step below.
    pub(crate) fn of_measure(self, measure: &str, what: Option<&Arc<str>>) -> Self {
        let what = what.map_or_else(String::new, |what| format!("{what}: "));
        let of = |place: String| match place.starts_with(MEASURE) {
            true => place,
            false => format!("{MEASURE}{measure:?}: {what}{place}").trim_end_matches([':', ' ']).to_owned(),
        };
        match self {
            Self::Panicked { measure: nobody, message } if nobody == AGGREGATION => {
                Self::Panicked { measure: measure.to_owned(), message: format!("{what}{message}") }
            }
            Self::Computation { place, message } => Self::Computation { place: of(place), message },
            Self::UnsupportedType { place, problem } => Self::UnsupportedType { place: of(place), problem },
            other => other,
        }
    }

    /// The same with what code said cut to a length that can be kept: nobody else bounds it.
    pub(crate) fn shortened(mut self) -> Self {
        if let Self::Computation { message, .. } | Self::Panicked { message, .. } = &mut self {
            let length = message.chars().count();
            if let Some((end, _)) = message.char_indices().nth(MOST_KEPT - NOTE)
                && length > MOST_KEPT
            {
                message.truncate(end);
                message.push_str(&format!("... ({} characters more)", length - MOST_KEPT + NOTE));
            }
        }
        self
    }

    /// Code of an aggregation panicked, whosever it is.
    pub(crate) fn aggregation_panicked(message: String) -> Self {
        Self::Panicked { measure: AGGREGATION.to_owned(), message }
    }

    /// A task of this place has no result.
    pub(crate) fn of_task(place: &str, error: TaskError) -> Self {
        match error {
            TaskError::Panicked { message, .. } => Self::Panicked { measure: place.to_owned(), message },
            TaskError::Cancelled { .. } => Self::Cancelled,
            other => Self::Closed { what: format!("{place} ({other})") },
        }
    }
}

impl From<SubmitError> for CubeError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Overloaded { .. } => Self::Overloaded { message: error.to_string() },
            other => Self::Closed { what: other.to_string() },
        }
    }
}

fn by_path(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!(", which is referred to by {}", path.join(" -> ")) }
}

fn for_whom(who: Option<&str>) -> String {
    who.map(|who| format!("{who}: ")).unwrap_or_default()
}

fn made_by_dispatchors(columns: &[String]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    format!("; dispatchors make, for their own measures and those above: {}", columns.join(", "))
}

fn is_it(name: Option<&str>) -> String {
    name.map(|name| format!("; is it {name:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_and_where() {
        let path = ["a", "b", "a"].map(str::to_owned).to_vec();
        assert!(CubeError::Cycle { path }.to_string().contains("a -> b -> a"));
        let unknown = CubeError::UnknownMeasure {
            name: "pln".into(),
            path: vec!["total".into()],
            nearest: Some("pnl".into()),
        };
        assert_eq!(
            unknown.to_string(),
            "there is no measure \"pln\", which is referred to by total; is it \"pnl\"?"
        );
        assert!(!CubeError::Cancelled.is_retryable());
    }

    #[test]
    fn long_texts_are_cut_once_with_a_note() {
        let said = |message: String| CubeError::Computation { place: "measure \"a\"".into(), message };
        let all = said("é".repeat(MOST_KEPT));
        assert_eq!(all.clone().shortened(), all);
        let cut = said("é".repeat(5_000)).shortened();
        let text = cut.to_string();
        assert!(text.ends_with("é... (3040 characters more)") && text.chars().count() < 2_020, "{text}");
        assert_eq!(cut.clone().shortened(), cut);
    }
}
