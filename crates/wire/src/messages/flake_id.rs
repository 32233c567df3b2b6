//! Generators of ids.

use super::service;
use crate::field::Text;

service! {
    "FlakeIdGenerator" = 0x1c;
    0x01 "newIdBatch" NewIdBatch { name: Text, batch_size: i32 } => IdBatch {
        /// The first id.
        base: i64,
        /// From each to the next.
        increment: i64,
        /// How many.
        batch_size: i32,
    };
}
