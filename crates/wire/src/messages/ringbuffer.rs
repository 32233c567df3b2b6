//! Ringbuffers.

use super::answers::{Found, Number};
use super::service;
use crate::Data;
use crate::field::Text;

service! {
    "Ringbuffer" = 0x17;
    0x01 "size" Size { name: Text } => Number;
    0x02 "tailSequence" TailSequence { name: Text } => Number;
    0x03 "headSequence" HeadSequence { name: Text } => Number;
    0x04 "capacity" Capacity { name: Text } => Number;
    0x05 "remainingCapacity" RemainingCapacity { name: Text } => Number;
    0x06 "add" Add { name: Text, overflow_policy: i32, value: Data } => Number;
    0x07 "readOne" ReadOne { name: Text, sequence: i64 } => Found;
    0x08 "addAll" AddAll { name: Text, value_list: Vec<Data>, overflow_policy: i32 } => Number;
    0x09 "readMany" ReadMany {
        name: Text, start_sequence: i64, min_count: i32, max_count: i32, filter: Option<Data>,
    } => ManyRead {
        /// How many items were looked at.
        read_count: i32,
        /// Those that the filter took.
        items: Vec<Data>,
        /// The place of each of them.
        item_sequences: Option<Vec<i64>>,
        /// Where to go on.
        next_sequence: i64,
    };
}
