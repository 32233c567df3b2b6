//! What can go wrong with a query, in words that say what to do.

use crate::plainly::plainly;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::tokenizer::Location;
use filbert_pool::{SubmitError, TaskError};
use std::sync::Arc;

/// A query, or a step towards one, that has no result.
///
/// Cheap to clone: a failed query tells all who ask.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The text is longer than allowed.
    #[error(
        "the statement has {bytes} bytes, more than the {limit} allowed; send less text, or raise sql.text_bytes"
    )]
    TextTooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The text nests or chains expressions too deep.
    #[error(
        "the statement {what} {depth} deep at byte {at}, more than the {limit} allowed; use IN (...) or a join instead of many \
         conditions, or raise sql.expression_depth"
    )]
    TooDeep {
        /// What it does: nests parentheses, chains operators.
        what: &'static str,
        /// How deep it was when it was refused.
        depth: usize,
        /// Where that is in the text.
        at: usize,
        /// How deep it may be.
        limit: usize,
    },
    /// There is nothing to run, or more than one statement.
    #[error("one statement at a time: the text has {found}; send them one by one")]
    NotOneStatement {
        /// How many there are.
        found: usize,
    },
    /// A table that is not there.
    #[error("there is no table {name:?}; {hint}")]
    NoTable {
        /// What it was called.
        name: String,
        /// What may have been meant, or where to look.
        hint: String,
        /// Where it stands in the text.
        place: Option<Location>,
    },
    /// The statement asks for something that is not there or not allowed here.
    #[error("{0}")]
    Refused(String),
    /// A clause that the parser reads and nothing carries out.
    #[error("{clause} is not supported; {instead}")]
    NoClause {
        /// The clause, as it is written.
        clause: String,
        /// What to write in its place.
        instead: &'static str,
    },
    /// A file that SQL may not touch.
    #[error(
        "{path} may not be {verb} by SQL: no folder of the setting {setting} holds it; add its folder there, or \"/\" for all files"
    )]
    FileDenied {
        /// The file, as it was written.
        path: String,
        /// What was to be done with it.
        verb: &'static str,
        /// The setting that would allow it.
        setting: &'static str,
    },
    /// A file that is not there, or not what it should be.
    #[error("file {path}: {problem}")]
    File {
        /// The file, and the part of it where it is read in parts.
        path: String,
        /// What is wrong, with the line where it is known.
        problem: String,
    },
    /// There is no room for what the statement writes: a map or the memory for data is full.
    #[error("{0}")]
    Full(String),
    /// A key that must be unique is there already.
    #[error("{0}")]
    Taken(String),
    /// A column that is NOT NULL was to be NULL.
    #[error("{0}")]
    NotNull(String),
    /// A text is longer than its column allows.
    #[error("{0}")]
    TooLong(String),
    /// The partitions of a map have more to do than they can in time.
    #[error("{0}")]
    Busy(String),
    /// The statement failed when it had changed entries of a map, which stay changed: run again, it may change them twice.
    #[error("{cause}; {entries} {} changed before", if *entries == 1 { "entry was" } else { "entries were" })]
    PartlyDone {
        /// The error that ended it.
        cause: Box<SqlError>,
        /// The number of entries that are known to be changed.
        entries: u64,
    },
    /// The session's user may not do that.
    #[error("{0}")]
    Denied(String),
    /// A statement with parameters came with too few or too many values.
    #[error(
        "the statement has {expected} parameters and {given} values were given; give one for each of $1, $2, ..."
    )]
    WrongParameters {
        /// How many it has.
        expected: usize,
        /// How many came.
        given: usize,
    },
    /// Parsing, planning or running failed.
    #[error("{}", plainly(.0))]
    Failed(Arc<DataFusionError>),
    /// A text or a number that was to be a date or a time, and is none.
    #[error("{text} is no {what}; write it like '{form}'")]
    NoMoment {
        /// What it is, as it is written in SQL.
        text: String,
        /// What it was to be.
        what: &'static str,
        /// How that is written.
        form: &'static str,
    },
    /// A whole number that its type has no room for.
    #[error(
        "{kind} out of range: the result of {operator} does not fit; CAST(... AS DECIMAL(38, 0)) has more room"
    )]
    OutOfRange {
        /// What was computed.
        operator: String,
        /// The type, as SQL calls it.
        kind: &'static str,
    },
    /// The query was cancelled, or its session ended.
    #[error("the query was cancelled")]
    Cancelled,
    /// Some of the query's code panicked while it was planned or ran; the member goes on.
    #[error(
        "internal error: the query panicked: {message}; this is a defect, please report it with the statement"
    )]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// It took longer than its session allows.
    #[error("the query took longer than {limit_ms} ms; make it smaller, or raise sql.time_limit_ms")]
    TimedOut {
        /// The limit.
        limit_ms: u64,
    },
    /// It took longer to plan than a statement may.
    #[error(
        "planning the statement took more than {limit_ms} ms of work; make it smaller (fewer columns, conditions, grouping sets or views \
         within views), or raise sql.planning_ms"
    )]
    PlansTooLong {
        /// The limit.
        limit_ms: u64,
    },
    /// It gave more rows than its session allows.
    #[error("the query gives more than {limit} rows; add a LIMIT, or raise sql.rows")]
    TooManyRows {
        /// The limit.
        limit: u64,
    },
    /// Too many queries wait already.
    #[error(
        "{running} queries run and {waiting} wait, as many as sql.queries and sql.waiting_queries allow; try again later"
    )]
    Overloaded {
        /// How many run.
        running: usize,
        /// How many wait.
        waiting: usize,
    },
    /// It stood in line for its turn for too long.
    #[error(
        "the query has waited for its turn for {limit_ms} ms, and {running} others run; try again later, or raise sql.waiting_ms or sql.queries"
    )]
    WaitedTooLong {
        /// How long one may wait.
        limit_ms: u64,
        /// How many run.
        running: usize,
    },
    /// Too many queries are neither read to the end nor closed.
    #[error(
        "{whose} has {open} open queries, as many as {setting} allows; read queries to the end or close them, or raise {setting}"
    )]
    TooManyOpen {
        /// How many there are.
        open: usize,
        /// Whose they are.
        whose: &'static str,
        /// The setting that allows no more.
        setting: &'static str,
    },
    /// Changes of a map were overwritten in its journal before the query had read them.
    #[error(
        "the query does not keep up with the journal of map {map:?}: {changes} changes of partition {partition} were overwritten before \
         it read them, so its rows would not be true; give the journal a larger capacity, do less in the query, or read the column \
         __lost, with which it goes on"
    )]
    JournalOverrun {
        /// Whose journal it is.
        map: String,
        /// The partition where it was seen first.
        partition: u32,
        /// How many changes of that partition are gone.
        changes: u64,
    },
    /// A stage does not take the work.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A stage did not do the work.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl SqlError {
    /// Where in the text of its statement it is, in bytes, when that is known.
    pub fn offset_in(&self, text: &str) -> Option<usize> {
        let at = match self {
            SqlError::TooDeep { at, .. } => *at,
            SqlError::Failed(error) => crate::text::offset(text, location(error)?),
            SqlError::NoTable { place, .. } => crate::text::offset(text, (*place)?),
            SqlError::NoClause { clause, .. } => crate::text::offset_of_words(text, clause)?,
            SqlError::NoMoment { text: wrong, .. } => crate::text::offset_of_token(text, wrong)?,
            _ => return None,
        };
        text.is_char_boundary(at).then_some(at)
    }

    /// Carries it through a plan, from the fragment where it arose to whoever reads the rows.
    pub(crate) fn into_plan(self) -> DataFusionError {
        match self {
            SqlError::Failed(cause) => DataFusionError::Shared(cause),
            other => DataFusionError::External(Box::new(other)),
        }
    }

    /// The error of ours that another one carries, however deep: layers of Arrow, Parquet and stores wrap what passes through them.
    pub(crate) fn within(error: &DataFusionError) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(own) = error.downcast_ref::<SqlError>() {
                return Some(own.clone());
            }
            cause = error.source();
        }
        None
    }
}

impl From<DataFusionError> for SqlError {
    /// One that `SqlError::into_plan` packed comes out as what it was.
    fn from(error: DataFusionError) -> Self {
        if let Some(own) = Self::within(&error) {
            return own;
        }
        match error.find_root() {
            DataFusionError::Shared(cause) => SqlError::Failed(Arc::clone(cause)),
            _ => SqlError::Failed(Arc::new(error)),
        }
    }
}

/// The planner says it, the parser only writes it.
pub(crate) fn location(error: &DataFusionError) -> Option<Location> {
    if let Some(span) = error.diagnostic().and_then(|diagnostic| diagnostic.span) {
        return Some(Location { line: span.start.line, column: span.start.column });
    }
    let said = error.strip_backtrace();
    let (_, place) = said.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let column = column.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
}
