//! What can be wrong with a message's bytes.

use crate::frame::{FRAME_HEADER, Flags};

/// A message that cannot be decoded: which, where in it, and why. The stream is still in step: other messages can follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: field `{field}`, byte {offset}: {what}")]
pub struct MessageError {
    /// Service and method, such as `Map.put`; `message` when that is not known.
    pub message: &'static str,
    /// The message's own field in which it happened, however deep.
    pub field: &'static str,
    /// The byte of the message, counted from its first frame's header.
    pub offset: usize,
    /// What is wrong there.
    pub what: What,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum What {
    /// The message ends before a field that every version has.
    #[error("the message ends before it")]
    Missing,
    /// The bytes end inside a frame.
    #[error("the bytes end inside of it")]
    Truncated,
    /// A frame that is shorter than its own header.
    #[error("a frame cannot be {length} bytes long; {FRAME_HEADER} is the least")]
    FrameLength {
        /// What the frame says.
        length: i32,
    },
    /// No value where one has to be.
    #[error("it is null, and must not be")]
    Null,
    /// A list or structure begins or ends where a simple value should stand.
    #[error("a frame with flags {flags:?} stands where a simple value should")]
    Structure {
        /// The frame's flags.
        flags: Flags,
    },
    /// A simple value where a list or structure should begin.
    #[error("a frame with flags {flags:?} stands where a list or structure should begin")]
    NoStructure {
        /// The frame's flags.
        flags: Flags,
    },
    /// Unknown structures too deep inside each other.
    #[error("structures are nested more than {limit} deep")]
    TooDeep {
        /// The most.
        limit: u32,
    },
    /// Text that is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// A serialized value without room for its header.
    #[error(transparent)]
    Data(#[from] crate::TooShort),
    /// A packed list that ends inside an item.
    #[error("{length} bytes are no whole number of items of {item} bytes")]
    Ragged {
        /// The list's bytes.
        length: usize,
        /// One item's bytes.
        item: usize,
    },
    /// Two lists that belong together have different lengths.
    #[error("{keys} keys come with {values} values")]
    Unequal {
        /// Items of the one.
        keys: usize,
        /// Items of the other.
        values: usize,
    },
    /// A count that cannot be meant, or that the bytes do not hold.
    #[error("a count of {count} is over what can be there, {limit}")]
    Count {
        /// What it says.
        count: i64,
        /// The most.
        limit: usize,
    },
    /// A number that stands for nothing known.
    #[error("{found} is no known {kind}")]
    Unknown {
        /// What it should be.
        kind: &'static str,
        /// The number.
        found: i32,
    },
    /// A message of another type was expected.
    #[error("the message is of type {id:#08x}")]
    OtherMessage {
        /// Its type.
        id: u32,
    },
}

/// What is wrong, and at which byte; the field and the message are named on the way up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    field: &'static str,
    offset: usize,
    what: What,
}

impl Fault {
    /// `what` at byte `offset` of the message.
    #[cold]
    pub fn new(offset: usize, what: What) -> Self {
        Self { field: "", offset, what }
    }

    /// In that field. The outermost stays.
    #[cold]
    pub fn in_field(mut self, field: &'static str) -> Self {
        self.field = field;
        self
    }

    /// In that message.
    #[cold]
    pub fn of(self, message: &'static str) -> MessageError {
        MessageError { message, field: self.field, offset: self.offset, what: self.what }
    }
}
