//! Lists.

use super::answers::{Count, Done, Flag, Found, Items, Registered};
use super::service;
use crate::Data;
use crate::field::Text;
use crate::message::record;
use uuid::Uuid;

record! {
    /// An item came or went.
    ItemEvent {
        /// The item, if asked for.
        item: Option<Data>,
        /// The member on which it happened.
        uuid: Uuid,
        /// 1 added, 2 removed.
        event_type: i32,
    }
}

service! {
    "List" = 0x05;
    0x01 "size" Size { name: Text } => Count;
    0x02 "contains" Contains { name: Text, value: Data } => Flag;
    0x03 "containsAll" ContainsAll { name: Text, values: Vec<Data> } => Flag;
    0x04 "add" Add { name: Text, value: Data } => Flag;
    0x05 "remove" Remove { name: Text, value: Data } => Flag;
    0x06 "addAll" AddAll { name: Text, value_list: Vec<Data> } => Flag;
    0x07 "compareAndRemoveAll" CompareAndRemoveAll { name: Text, values: Vec<Data> } => Flag;
    0x08 "compareAndRetainAll" CompareAndRetainAll { name: Text, values: Vec<Data> } => Flag;
    0x09 "clear" Clear { name: Text } => Done;
    0x0a "getAll" GetAll { name: Text } => Items;
    0x0b "addListener" AddListener {
        name: Text, include_value: bool, local_only: bool,
    } => Registered raises 2 ItemEvent "Item";
    0x0c "removeListener" RemoveListener { name: Text, registration_id: Uuid } => Flag;
    0x0d "isEmpty" IsEmpty { name: Text } => Flag;
    0x0e "addAllWithIndex" AddAllWithIndex { name: Text, index: i32, value_list: Vec<Data> } => Flag;
    0x0f "get" Get { name: Text, index: i32 } => Found;
    0x10 "set" Set { name: Text, index: i32, value: Data } => Found;
    0x11 "addWithIndex" AddWithIndex { name: Text, index: i32, value: Data } => Done;
    0x12 "removeWithIndex" RemoveWithIndex { name: Text, index: i32 } => Found;
    0x13 "lastIndexOf" LastIndexOf { name: Text, value: Data } => Count;
    0x14 "indexOf" IndexOf { name: Text, value: Data } => Count;
    0x15 "sub" Sub { name: Text, from: i32, to: i32 } => Items;
    0x16 "iterator" Iterator { name: Text } => Items;
    0x17 "listIterator" ListIterator { name: Text, index: i32 } => Items;
}
