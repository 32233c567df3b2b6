//! Maps with any number of values for a key.

use super::answers::{Count, Done, Flag, Items, Pairs, Registered};
use super::map::EntryEvent;
use super::service;
use crate::Data;
use crate::field::Text;
use uuid::Uuid;

service! {
    "MultiMap" = 0x02;
    0x01 "put" Put { name: Text, key: Data, value: Data, thread_id: i64 } => Flag;
    0x02 "get" Get { name: Text, key: Data, thread_id: i64 } => Items;
    0x03 "remove" Remove { name: Text, key: Data, thread_id: i64 } => Items;
    0x04 "keySet" KeySet { name: Text } => Items;
    0x05 "values" Values { name: Text } => Items;
    0x06 "entrySet" EntrySet { name: Text } => Pairs;
    0x07 "containsKey" ContainsKey { name: Text, key: Data, thread_id: i64 } => Flag;
    0x08 "containsValue" ContainsValue { name: Text, value: Data } => Flag;
    0x09 "containsEntry" ContainsEntry { name: Text, key: Data, value: Data, thread_id: i64 } => Flag;
    0x0a "size" Size { name: Text } => Count;
    0x0b "clear" Clear { name: Text } => Done;
    0x0c "valueCount" ValueCount { name: Text, key: Data, thread_id: i64 } => Count;
    0x0d "addEntryListenerToKey" AddEntryListenerToKey {
        name: Text, key: Data, include_value: bool, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0e "addEntryListener" AddEntryListener {
        name: Text, include_value: bool, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x0f "removeEntryListener" RemoveEntryListener { name: Text, registration_id: Uuid } => Flag;
    0x10 "lock" Lock { name: Text, key: Data, thread_id: i64, ttl_ms: i64, reference_id: i64 } => Done;
    0x11 "tryLock" TryLock {
        name: Text, key: Data, thread_id: i64, lease_ms: i64, timeout_ms: i64, reference_id: i64,
    } => Flag;
    0x12 "isLocked" IsLocked { name: Text, key: Data } => Flag;
    0x13 "unlock" Unlock { name: Text, key: Data, thread_id: i64, reference_id: i64 } => Done;
    0x14 "forceUnlock" ForceUnlock { name: Text, key: Data, reference_id: i64 } => Done;
    0x15 "removeEntry" RemoveEntry { name: Text, key: Data, value: Data, thread_id: i64 } => Flag;
    0x16 "delete" Delete { name: Text, key: Data, thread_id: i64 } => Done;
    0x17 "putAll" [since V2_1] PutAll { name: Text, entries: Vec<(Data, Vec<Data>)> } => Done;
}
