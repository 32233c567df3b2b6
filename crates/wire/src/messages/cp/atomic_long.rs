//! Numbers that are changed in one step.

use crate::Data;
use crate::field::Text;
use crate::messages::answers::{Flag, Found, Number};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;

service! {
    "AtomicLong" = 0x09;
    0x01 "apply" Apply { group: RaftGroupId, name: Text, function: Data } => Found;
    0x02 "alter" Alter { group: RaftGroupId, name: Text, function: Data, return_value_type: i32 } => Number;
    0x03 "addAndGet" AddAndGet { group: RaftGroupId, name: Text, delta: i64 } => Number;
    0x04 "compareAndSet" CompareAndSet { group: RaftGroupId, name: Text, expected: i64, updated: i64 } => Flag;
    0x05 "get" Get { group: RaftGroupId, name: Text } => Number;
    0x06 "getAndAdd" GetAndAdd { group: RaftGroupId, name: Text, delta: i64 } => Number;
    0x07 "getAndSet" GetAndSet { group: RaftGroupId, name: Text, new_value: i64 } => Number;
}
