//! Maps that every member has as a whole.

use super::answers::{Count, Done, Flag, Found, Items, Pairs, Registered};
use super::map::EntryEvent;
use super::service;
use crate::Data;
use crate::field::Text;
use uuid::Uuid;

service! {
    "ReplicatedMap" = 0x0d;
    0x01 "put" Put { name: Text, key: Data, value: Data, ttl_ms: i64 } => Found;
    0x02 "size" Size { name: Text } => Count;
    0x03 "isEmpty" IsEmpty { name: Text } => Flag;
    0x04 "containsKey" ContainsKey { name: Text, key: Data } => Flag;
    0x05 "containsValue" ContainsValue { name: Text, value: Data } => Flag;
    0x06 "get" Get { name: Text, key: Data } => Found;
    0x07 "remove" Remove { name: Text, key: Data } => Found;
    0x08 "putAll" PutAll { name: Text, entries: Vec<(Data, Data)> } => Done;
    0x09 "clear" Clear { name: Text } => Done;
    0x0a "addEntryListenerToKeyWithPredicate" AddEntryListenerToKeyWithPredicate {
        name: Text, key: Data, predicate: Data, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0b "addEntryListenerWithPredicate" AddEntryListenerWithPredicate {
        name: Text, predicate: Data, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0c "addEntryListenerToKey" AddEntryListenerToKey {
        name: Text, key: Data, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0d "addEntryListener" AddEntryListener {
        name: Text, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0e "removeEntryListener" RemoveEntryListener { name: Text, registration_id: Uuid } => Flag;
    0x0f "keySet" KeySet { name: Text } => Items;
    0x10 "values" Values { name: Text } => Items;
    0x11 "entrySet" EntrySet { name: Text } => Pairs;
    0x12 "addNearCacheEntryListener" AddNearCacheEntryListener {
        name: Text, include_value: bool, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
}
