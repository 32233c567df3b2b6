//! Durable executors. A task is on the partition of the message's header.

use super::answers::{Count, Done, Flag, Found};
use super::service;
use crate::Data;
use crate::field::Text;

service! {
    "DurableExecutor" = 0x18;
    0x01 "shutdown" Shutdown { name: Text } => Done;
    0x02 "isShutdown" IsShutdown { name: Text } => Flag;
    0x03 "submitToPartition" SubmitToPartition { name: Text, task: Data } => Count;
    0x04 "retrieveResult" RetrieveResult { name: Text, sequence: i32 } => Found;
    0x05 "disposeResult" DisposeResult { name: Text, sequence: i32 } => Done;
    0x06 "retrieveAndDisposeResult" RetrieveAndDisposeResult { name: Text, sequence: i32 } => Found;
}
