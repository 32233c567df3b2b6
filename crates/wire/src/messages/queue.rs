//! Queues.

use super::answers::{Count, Done, Flag, Found, Items, Registered};
use super::list::ItemEvent;
use super::service;
use crate::Data;
use crate::field::Text;
use uuid::Uuid;

service! {
    "Queue" = 0x03;
    0x01 "offer" Offer { name: Text, value: Data, timeout_ms: i64 } => Flag;
    0x02 "put" Put { name: Text, value: Data } => Done;
    0x03 "size" Size { name: Text } => Count;
    0x04 "remove" Remove { name: Text, value: Data } => Flag;
    0x05 "poll" Poll { name: Text, timeout_ms: i64 } => Found;
    0x06 "take" Take { name: Text } => Found;
    0x07 "peek" Peek { name: Text } => Found;
    0x08 "iterator" Iterator { name: Text } => Items;
    0x09 "drainTo" DrainTo { name: Text } => Items;
    0x0a "drainToMaxSize" DrainToMaxSize { name: Text, max_size: i32 } => Items;
    0x0b "contains" Contains { name: Text, value: Data } => Flag;
    0x0c "containsAll" ContainsAll { name: Text, data_list: Vec<Data> } => Flag;
    0x0d "compareAndRemoveAll" CompareAndRemoveAll { name: Text, data_list: Vec<Data> } => Flag;
    0x0e "compareAndRetainAll" CompareAndRetainAll { name: Text, data_list: Vec<Data> } => Flag;
    0x0f "clear" Clear { name: Text } => Done;
    0x10 "addAll" AddAll { name: Text, data_list: Vec<Data> } => Flag;
    0x11 "addListener" AddListener {
        name: Text, include_value: bool, local_only: bool,
    } => Registered raises 2 ItemEvent "Item";
    0x12 "removeListener" RemoveListener { name: Text, registration_id: Uuid } => Flag;
    0x13 "remainingCapacity" RemainingCapacity { name: Text } => Count;
    0x14 "isEmpty" IsEmpty { name: Text } => Flag;
}
