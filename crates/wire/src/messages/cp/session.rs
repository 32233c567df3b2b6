//! Sessions: whose locks and permits are whose, and whether they still live.

use crate::field::Text;
use crate::messages::answers::{Done, Flag, Number};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;

service! {
    "CPSession" = 0x1f;
    0x01 "createSession" CreateSession { group: RaftGroupId, endpoint_name: Text } => SessionCreated {
        /// What it is known by.
        session_id: i64,
        /// How long it lives without a sign of life.
        ttl_ms: i64,
        /// How often to give one.
        heartbeat_ms: i64,
    };
    0x02 "closeSession" CloseSession { group: RaftGroupId, session_id: i64 } => Flag;
    0x03 "heartbeatSession" HeartbeatSession { group: RaftGroupId, session_id: i64 } => Done;
    0x04 "generateThreadId" GenerateThreadId { group: RaftGroupId } => Number;
}
