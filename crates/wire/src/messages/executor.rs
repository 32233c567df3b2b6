//! Executors.

use super::answers::{Done, Flag, Found};
use super::service;
use crate::Data;
use crate::field::Text;
use uuid::Uuid;

service! {
    "ExecutorService" = 0x08;
    0x01 "shutdown" Shutdown { name: Text } => Done;
    0x02 "isShutdown" IsShutdown { name: Text } => Flag;
    0x03 "cancelOnPartition" CancelOnPartition { uuid: Uuid, interrupt: bool } => Flag;
    0x04 "cancelOnMember" CancelOnMember { uuid: Uuid, member_uuid: Uuid, interrupt: bool } => Flag;
    0x05 "submitToPartition" SubmitToPartition { name: Text, uuid: Uuid, task: Data } => Found;
    0x06 "submitToMember" SubmitToMember { name: Text, uuid: Uuid, task: Data, member_uuid: Uuid } => Found;
}
