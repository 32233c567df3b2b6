//! Fields: one trait for whatever a message can hold.
//!
//! A field of fixed size (numbers, flags, UUIDs) stands in the first frame of its message or structure, at a place that follows from
//! the fields declared before it. Any other field takes frames of its own. Both come from the type alone:
//!
//! | type | on the wire |
//! |---|---|
//! | `bool`, `i8`, `i16`, `i32`, `i64`, `f32`, `f64` | fixed, little-endian |
//! | `Uuid`, `Option<Uuid>` | fixed: null flag and 16 bytes |
//! | `Text`, `Bytes`, `Data` | a frame |
//! | `Option<T>` | a null frame, or as `T` |
//! | `Vec<T>`, `T` fixed | a frame with all items |
//! | `Vec<T>`, other `T` | a begin frame, the items, an end frame |
//! | `(A, B)` | as `A` then `B`, both fixed or both not: so `Vec<(A, B)>` is a map |
//! | a structure (`custom!`) | a begin frame, one with the fixed fields, the others, an end frame |
//!
//! Rejected: two traits, one per form. The declarations would have to say which field is which, and could say it wrongly.

mod fixed;
mod framed;
mod reader;

pub use bytestring::ByteString as Text;
pub use framed::Keyed;
pub use reader::FieldReader;

use crate::frame::FrameWriter;
use crate::message::{Fault, FieldRow};

/// What a message can hold.
pub trait Field: Sized {
    /// What it is, as data.
    const TYPE: FieldType;
    /// Its bytes in the first frame; 0 when it takes frames of its own.
    const FIXED: usize;

    /// Reads it from where the reader stands.
    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault>;

    /// Reads one that may be null.
    fn decode_nullable(fields: &mut FieldReader<'_, '_>) -> Result<Option<Self>, Fault> {
        if fields.frames().take_null()? { Ok(None) } else { Self::decode(fields).map(Some) }
    }

    /// Appends a fixed-size field to the frame that was begun.
    fn put_fixed(&self, _out: &mut FrameWriter<'_>) {}

    /// Appends the null of a fixed-size field.
    fn put_fixed_null(_out: &mut FrameWriter<'_>) {}

    /// Appends the frames of one that is not of fixed size.
    fn put_frames(&self, _out: &mut FrameWriter<'_>) {}
}

/// The type of a field, as data: documentation and tests are made from it.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// A flag in one byte.
    Bool,
    /// A whole number of that many bytes.
    Int(usize),
    /// A floating-point number of that many bytes.
    Float(usize),
    /// A date or time in that many bytes.
    Moment(usize),
    /// A UUID.
    Uuid,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
    /// A serialized value.
    Data,
    /// May be null.
    Nullable(&'static FieldType),
    /// Any number of them.
    List(&'static FieldType),
    /// One and the other.
    Pair(&'static FieldType, &'static FieldType),
    /// UUIDs, each with a list of numbers; the lists come first.
    Keyed,
    /// A structure with a name and fields.
    Custom(&'static str, &'static [FieldRow]),
    /// Rows of a query, by column.
    Page,
}

impl FieldType {
    /// Its bytes in the first frame; 0 when it takes frames of its own.
    pub const fn fixed(&self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(size) | Self::Float(size) | Self::Moment(size) => *size,
            Self::Uuid => 17,
            Self::Nullable(inner) => inner.fixed(),
            Self::Pair(first, second) => first.fixed() + second.fixed(),
            _ => 0,
        }
    }
}

impl std::fmt::Display for FieldType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int(size) => write!(f, "i{}", size * 8),
            Self::Float(size) => write!(f, "f{}", size * 8),
            Self::Moment(size) => write!(f, "moment{}", size * 8),
            Self::Uuid => f.write_str("uuid"),
            Self::Text => f.write_str("text"),
            Self::Bytes => f.write_str("bytes"),
            Self::Data => f.write_str("data"),
            Self::Nullable(inner) => write!(f, "{inner}?"),
            Self::List(item) => write!(f, "[{item}]"),
            Self::Pair(first, second) => write!(f, "({first}, {second})"),
            Self::Keyed => f.write_str("{uuid: [i32]}"),
            Self::Custom(name, _) => f.write_str(name),
            Self::Page => f.write_str("page"),
        }
    }
}
