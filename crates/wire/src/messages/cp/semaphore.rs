//! Semaphores.

use crate::field::Text;
use crate::messages::answers::{Count, Flag};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;
use uuid::Uuid;

service! {
    "Semaphore" = 0x0c;
    0x01 "init" Init { group: RaftGroupId, name: Text, permits: i32 } => Flag;
    0x02 "acquire" Acquire {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid, permits: i32, timeout_ms: i64,
    } => Flag;
    0x03 "release" Release {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid, permits: i32,
    } => Flag;
    0x04 "drain" Drain {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid,
    } => Count;
    0x05 "change" Change {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid, permits: i32,
    } => Flag;
    0x06 "availablePermits" AvailablePermits { group: RaftGroupId, name: Text } => Count;
    0x07 "getSemaphoreType" GetSemaphoreType { proxy_name: Text } => Flag;
}
