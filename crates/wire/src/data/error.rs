//! What can be wrong with a value's bytes, and with a value that is to become bytes.
//!
//! One enum each way. A message says what was expected and where; the offset counts from the first byte of the payload.

use super::type_id::describe;

/// Why bytes are not the value that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The payload ends too early.
    #[error("{what} at offset {offset} needs {needed} bytes, but only {left} are left")]
    Truncated {
        /// What was to be read.
        what: &'static str,
        /// Where it begins.
        offset: usize,
        /// How many bytes it needs.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// A length, count or position that cannot be: negative, or more than the bytes that are left.
    #[error("{what} says {length} at offset {offset}, which cannot be with {left} bytes left")]
    BadLength {
        /// Whose length it is.
        what: &'static str,
        /// Where it stands.
        offset: usize,
        /// What it says.
        length: i64,
        /// How many bytes are left.
        left: usize,
    },
    /// Text that is not UTF-8.
    #[error("the text at offset {offset} is not UTF-8")]
    NotUtf8 {
        /// Where the text begins.
        offset: usize,
    },
    /// Readable, but no such value exists: month 13, half a surrogate pair as a character.
    #[error("the bytes before offset {offset} are no {what}")]
    Invalid {
        /// What they should be.
        what: &'static str,
        /// Where they end.
        offset: usize,
    },
    /// Bytes of another type.
    #[error("expected {expected}, found {} (type id {found})", describe(*.found))]
    WrongType {
        /// What was asked for.
        expected: &'static str,
        /// The type id that is there.
        found: i32,
    },
    /// A null where a value is needed.
    #[error("expected {expected}, found null; read an Option where null is possible")]
    UnexpectedNull {
        /// What was asked for.
        expected: &'static str,
    },
    /// A number that the type asked for cannot hold exactly.
    #[error("the number {found} does not fit {expected}; read a wider type")]
    DoesNotFit {
        /// The type asked for.
        expected: &'static str,
        /// The number.
        found: String,
    },
    /// A BigInteger or BigDecimal beyond what is calculated with.
    #[error("a number of {length} bytes; at most {limit} are taken")]
    NumberTooLong {
        /// How many bytes it has.
        length: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A type whose form, and so whose length, is not known here.
    #[error("{} (type id {type_id}) has no form that is known here", describe(*.type_id))]
    UnknownForm {
        /// Its type id.
        type_id: i32,
    },
    /// Values within values beyond the limit.
    #[error("values are nested deeper than {limit} at offset {offset}")]
    TooDeep {
        /// Where.
        offset: usize,
        /// How deep they may be.
        limit: u32,
    },
    /// Parts that lie over each other, so that reading would produce far more than there are bytes.
    #[error("parts of the value overlap: more was read than its {length} bytes hold")]
    Overlap {
        /// How many bytes there are.
        length: usize,
    },
    /// Bytes after the end of the value.
    #[error("{left} bytes are left after the value, which ends at offset {offset}")]
    TrailingBytes {
        /// Where the value ends.
        offset: usize,
        /// How many bytes follow.
        left: usize,
    },
    /// JSON text that is no JSON, or not of the type asked for.
    #[error("the JSON value does not read: {message}")]
    Json {
        /// What the JSON parser says.
        message: String,
    },
    /// A Compact value with a schema that is not known here.
    #[error("no schema {schema_id:#018x} is known; a client must have sent it before the value")]
    UnknownSchema {
        /// The schema's id.
        schema_id: i64,
    },
    /// A Compact value of another type than the struct that was asked for.
    #[error("expected a Compact value of type {expected:?}, found {found:?}")]
    WrongTypeName {
        /// The type name of the struct.
        expected: String,
        /// The type name in the value's schema.
        found: String,
    },
    /// A Compact value without the field that was asked for.
    #[error(
        "the Compact type {type_name:?} has no field {field:?}; make it an Option, or mark it #[compact(default)]"
    )]
    NoSuchField {
        /// The type.
        type_name: String,
        /// The field.
        field: String,
    },
    /// A field, or an item of a field, is null where the struct needs a value.
    #[error("the field {field:?} holds null; make it an Option, or its items")]
    NullField {
        /// The field.
        field: String,
    },
    /// A field of a Compact value has another kind.
    #[error("the field {field:?} is {found}, not {expected}")]
    WrongKind {
        /// The field.
        field: String,
        /// What was asked for.
        expected: crate::compact::FieldKind,
        /// What is there.
        found: crate::compact::FieldKind,
    },
}

/// Why a value cannot become bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// More than a 32-bit length can say.
    #[error("{length} is more than a serialized value can hold (2^31 - 1)")]
    TooLong {
        /// Bytes or items.
        length: usize,
    },
    /// A character outside Unicode's first plane: Hazelcast's char is one UTF-16 code unit.
    #[error("the character {character:?} does not fit Hazelcast's 16-bit char; use a string")]
    WideCharacter {
        /// The character.
        character: char,
    },
    /// Values within values beyond the limit; nobody could read them.
    #[error("values are nested deeper than {limit}")]
    TooDeep {
        /// How deep they may be.
        limit: u32,
    },
    /// serde_json refuses the value, for instance a map whose keys are not strings.
    #[error("the value cannot be written as JSON: {message}")]
    Json {
        /// What it says.
        message: String,
    },
    /// A value that a field of a Compact object cannot hold.
    #[error("the field {field:?} is {expected}; {found} is not")]
    WrongField {
        /// The field.
        field: String,
        /// What it holds.
        expected: crate::compact::FieldKind,
        /// The value, in a few words.
        found: String,
    },
    /// Not as many values as the schema has fields.
    #[error("the Compact type {type_name:?} has {fields} fields, and {values} values were given")]
    FieldCount {
        /// The type.
        type_name: String,
        /// How many fields it has.
        fields: usize,
        /// How many values there are.
        values: usize,
    },
}
