//! Locks with a fence.

use crate::field::Text;
use crate::messages::answers::{Flag, Number};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;
use uuid::Uuid;

service! {
    "FencedLock" = 0x07;
    0x01 "lock" Lock {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid,
    } => Number;
    0x02 "tryLock" TryLock {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid, timeout_ms: i64,
    } => Number;
    0x03 "unlock" Unlock {
        group: RaftGroupId, name: Text, session_id: i64, thread_id: i64, invocation: Uuid,
    } => Flag;
    0x04 "getLockOwnership" GetLockOwnership { group: RaftGroupId, name: Text } => LockOwnership {
        /// The fence of the lock as it is held now; 0 when nobody holds it.
        fence: i64,
        /// How often its owner took it.
        lock_count: i32,
        /// The session of its owner; -1 when nobody holds it.
        session_id: i64,
        /// The thread of its owner.
        thread_id: i64,
    };
}
