//! `Data`: a key or a value as Hazelcast writes it, and the partition it belongs to.
//!
//! ```text
//! | i32 partition hash (0 = not set) | i32 type id | payload ...     all big-endian
//! ```
//!
//! The bytes are shared (`Bytes`): one that was cut out of a received message costs no copy, but keeps the whole receive buffer alive.
//! Whoever stores it for long stores a copy ([`Data::detached`]).

mod array;
mod compare;
mod error;
mod from_data;
mod index_key;
mod input;
mod json;
mod murmur;
mod name;
mod number;
mod output;
mod payload;
#[cfg(test)]
mod tests;
mod time;
mod to_data;
mod travel;
pub mod type_id;
mod value;

pub use array::Array;
pub(crate) use compare::compare_text;
pub use error::{DecodeError, EncodeError};
pub use from_data::FromData;
pub use index_key::IndexKey;
pub use input::Input;
pub use json::Json;
pub use name::partition_of_name;
pub use number::{BigInteger, Decimal, MAX_NUMBER_BYTES, NumberTooLong};
pub(crate) use output::to_length;
pub use output::{Fixed, Output};
pub use payload::Payload;
pub use time::{LocalDate, LocalDateTime, LocalTime, OffsetDateTime};
pub use to_data::ToData;
pub use value::Value;
pub(crate) use value::is_list;

use bytes::Bytes;
use std::hash::{Hash, Hasher};

/// How many partitions keys are spread over: Hazelcast's default, which its clients expect.
pub const PARTITION_COUNT: u32 = 271;

/// How deep values may lie within values, both ways.
pub const MAX_DEPTH: u32 = 64;

/// The bytes before the payload: partition hash and type id.
const HEADER: usize = 8;

/// A share of the keys: 0 to [`PARTITION_COUNT`] - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId(u32);

impl PartitionId {
    /// The partition of that number, if there is one.
    pub const fn new(number: u32) -> Option<Self> {
        if number < PARTITION_COUNT { Some(Self(number)) } else { None }
    }

    /// All of them.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..PARTITION_COUNT as usize).map(|number| Self(number as u32))
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its number, to index with.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The partition of a partition hash.
    pub const fn of_hash(hash: i32) -> Self {
        // The smallest number has no absolute value; Hazelcast sends it to partition 0.
        if hash == i32::MIN { Self(0) } else { Self(hash.unsigned_abs() % PARTITION_COUNT) }
    }
}

/// A key or a value in Hazelcast's form, cheap to clone. Two of them are equal when type id and payload are; the partition hash
/// in the header does not count.
#[derive(Clone)]
pub struct Data {
    bytes: Bytes,
}

/// Bytes that are too short to be a [`Data`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a serialized value has at least {HEADER} bytes (partition hash and type id); these are {length}")]
pub struct TooShort {
    /// How many there were.
    pub length: usize,
}

impl Data {
    /// A value from its type id and payload, without a partition hash of its own.
    pub fn new(type_id: i32, payload: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&type_id.to_be_bytes());
        bytes.extend_from_slice(payload);
        Self { bytes: bytes.into() }
    }

    /// The value whose header and payload these are; nothing is copied, and the payload is not looked at.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, TooShort> {
        let bytes = bytes.into();
        if bytes.len() < HEADER {
            return Err(TooShort { length: bytes.len() });
        }
        Ok(Self { bytes })
    }

    /// Header and payload.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Header and payload, to keep.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Says how the payload is to be read.
    pub fn type_id(&self) -> i32 {
        self.word(4)
    }

    /// What comes after the header.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// Type id and payload: what makes two values equal.
    pub fn identity(&self) -> &[u8] {
        &self.bytes[4..]
    }

    /// The hash that chooses the partition: the one in the header, or that of the payload when none is set.
    pub fn partition_hash(&self) -> i32 {
        match self.word(0) {
            0 => murmur::hash(self.payload()),
            set => set,
        }
    }

    /// The partition that this key belongs to.
    pub fn partition(&self) -> PartitionId {
        PartitionId::of_hash(self.partition_hash())
    }

    /// The same value in bytes of its own: to be stored, so that it does not keep a receive buffer alive.
    pub fn detached(&self) -> Self {
        Self { bytes: Bytes::copy_from_slice(&self.bytes) }
    }

    fn word(&self, at: usize) -> i32 {
        let bytes = &self.bytes;
        i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Data {}

impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.identity());
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Data(type {}, {} bytes)", self.type_id(), self.payload().len())
    }
}
