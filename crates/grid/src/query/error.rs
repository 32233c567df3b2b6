//! What can be wrong with a query: its text, its bytes, its paths, or the values that it meets.

use crate::allowance::TooMuch;
use filbert_wire::{DecodeError, EncodeError};

/// How deep predicates may be nested, as text and as bytes: evaluation goes down as deep, on a partition thread's stack.
pub const MAX_DEPTH: usize = 128;

/// How many predicates one predicate may consist of; a million alternatives are fine.
pub const MAX_PARTS: usize = 1 << 21;

/// How long the pattern of a LIKE may be, in bytes: matching takes pattern x text steps at most, in one go.
pub const MAX_LIKE: usize = 1 << 10;

/// How many regular expressions one predicate may have. Ten signs of one can take a megabyte when it is compiled.
pub const MAX_REGEXES: usize = 32;

/// How long the text of a predicate may be, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Why a query cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text of a predicate does not parse.
    #[error("in the predicate text at position {position}: expected {expected}, found {found}")]
    Syntax {
        /// Where, in bytes from the start.
        position: usize,
        /// What would be right there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Predicates within predicates beyond [`MAX_DEPTH`].
    #[error(
        "predicates are nested deeper than {limit}; flatten them: AND and OR take any number of predicates"
    )]
    TooDeep {
        /// How deep they may be.
        limit: usize,
    },
    /// More than [`MAX_LIKE`], [`MAX_PARTS`], [`MAX_REGEXES`] or [`MAX_TEXT`].
    #[error("{what}: {size} is more than the {limit} that are taken")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// A path to an attribute that is none.
    #[error("the attribute path {path:?} is wrong at position {position}: {problem}")]
    BadPath {
        /// The path.
        path: String,
        /// Where, in bytes from the start.
        position: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A regular expression that does not compile here.
    #[error("the regular expression {pattern:?} is not taken: {problem}")]
    BadRegex {
        /// The expression.
        pattern: String,
        /// What the regex engine says.
        problem: String,
    },
    /// Bytes that are no predicate, aggregator or projection.
    #[error("the {what} does not read: {source}")]
    Decode {
        /// What was to be read.
        what: &'static str,
        /// What is wrong with the bytes.
        source: DecodeError,
    },
    /// A result that cannot be written.
    #[error("the result of the query cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// A result that would take more memory than it may.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// An object of a class that is none of those known here.
    #[error("factory {factory}, class {class} is no {what} that this member knows")]
    UnknownClass {
        /// What was to be read.
        what: &'static str,
        /// The factory id.
        factory: i32,
        /// The class id.
        class: i32,
    },
    /// An argument that cannot be, such as a page of no entries.
    #[error("{what}: {problem}")]
    BadArgument {
        /// Which argument.
        what: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// An attribute of a value whose form only its own serializer knows.
    #[error(
        "the attribute {path:?} cannot be read from {form}; store JSON or Compact to query by attributes"
    )]
    Unreadable {
        /// The attribute.
        path: String,
        /// What the value is.
        form: &'static str,
    },
    /// An aggregation over something that is no number, or null.
    #[error("{aggregator} needs numbers; an entry has {found}")]
    NotANumber {
        /// What aggregates.
        aggregator: &'static str,
        /// What was found.
        found: String,
    },
    /// A sum beyond the type of the result.
    #[error("the result of {aggregator} does not fit {expected}")]
    Overflow {
        /// What aggregates.
        aggregator: &'static str,
        /// The type of the result.
        expected: &'static str,
    },
    /// Something that this version does not do.
    #[error("{what} is not supported by this version")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
}

impl QueryError {
    /// True when the schema of a Compact value is missing, which a client may still send.
    pub(crate) fn is_unknown_schema(&self) -> bool {
        matches!(self, Self::Decode { source: DecodeError::UnknownSchema { .. }, .. })
    }

    pub(crate) fn decode(what: &'static str) -> impl Fn(DecodeError) -> Self {
        move |source| Self::Decode { what, source }
    }
}
