//! Latches that count down.

use crate::field::Text;
use crate::messages::answers::{Count, Done, Flag};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;
use uuid::Uuid;

service! {
    "CountDownLatch" = 0x0b;
    0x01 "trySetCount" TrySetCount { group: RaftGroupId, name: Text, count: i32 } => Flag;
    0x02 "await" Await { group: RaftGroupId, name: Text, invocation: Uuid, timeout_ms: i64 } => Flag;
    0x03 "countDown" CountDown { group: RaftGroupId, name: Text, invocation: Uuid, expected_round: i32 } => Done;
    0x04 "getCount" GetCount { group: RaftGroupId, name: Text } => Count;
    0x05 "getRound" GetRound { group: RaftGroupId, name: Text } => Count;
}
