//! Counters that every member counts for itself.

use super::answers::Count;
use super::service;
use crate::field::Text;
use crate::message::record;
use uuid::Uuid;

record! {
    /// What a counter stands at.
    Counted {
        /// The value.
        value: i64,
        /// How many changes of each replica it has seen.
        replica_timestamps: Vec<(Uuid, i64)>,
        /// How many replicas there are.
        replica_count: i32,
    }
}

service! {
    "PNCounter" = 0x1d;
    0x01 "get" Get {
        name: Text, replica_timestamps: Vec<(Uuid, i64)>, target_replica: Uuid,
    } => Counted;
    0x02 "add" Add {
        name: Text, delta: i64, get_before_update: bool, replica_timestamps: Vec<(Uuid, i64)>, target_replica: Uuid,
    } => Counted;
    0x03 "getConfiguredReplicaCount" GetConfiguredReplicaCount { name: Text } => Count;
}
