//! Values that are changed in one step.

use crate::Data;
use crate::field::Text;
use crate::messages::answers::{Flag, Found};
use crate::messages::service;
use crate::messages::structures::RaftGroupId;

service! {
    "AtomicRef" = 0x0a;
    0x01 "apply" Apply {
        group: RaftGroupId, name: Text, function: Data, return_value_type: i32, alter: bool,
    } => Found;
    0x02 "compareAndSet" CompareAndSet {
        group: RaftGroupId, name: Text, old_value: Option<Data>, new_value: Option<Data>,
    } => Flag;
    0x03 "contains" Contains { group: RaftGroupId, name: Text, value: Option<Data> } => Flag;
    0x04 "get" Get { group: RaftGroupId, name: Text } => Found;
    0x05 "set" Set { group: RaftGroupId, name: Text, new_value: Option<Data>, return_old_value: bool } => Found;
}
