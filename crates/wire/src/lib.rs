//! What travels and what is stored, as bytes: Hazelcast's `Data`, Compact, and the frames and messages of its client protocol.
//!
//! Nothing here does I/O, makes a thread or reads a clock. Every decoder takes hostile bytes: it answers with a typed error, never
//! with a panic, and never allocates more than the input could fill.
#![forbid(unsafe_code)]

pub mod compact;
mod data;
pub mod field;
pub mod frame;
pub mod message;
pub mod messages;

pub use data::{
    Array, BigInteger, Data, Decimal, DecodeError, EncodeError, Fixed, FromData, IndexKey, Input, Json,
    LocalDate, LocalDateTime, LocalTime, MAX_DEPTH, MAX_NUMBER_BYTES, NumberTooLong, OffsetDateTime, Output,
    PARTITION_COUNT, PartitionId, Payload, ToData, TooShort, Value, partition_of_name, type_id,
};
pub use filbert_wire_derive::Compact;
