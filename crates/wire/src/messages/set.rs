//! Sets.

use super::answers::{Count, Done, Flag, Items, Registered};
use super::list::ItemEvent;
use super::service;
use crate::Data;
use crate::field::Text;
use uuid::Uuid;

service! {
    "Set" = 0x06;
    0x01 "size" Size { name: Text } => Count;
    0x02 "contains" Contains { name: Text, value: Data } => Flag;
    0x03 "containsAll" ContainsAll { name: Text, items: Vec<Data> } => Flag;
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
}
