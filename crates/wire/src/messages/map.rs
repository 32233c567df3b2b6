//! Maps.

use super::answers::{Count, Done, Flag, Found, Items, Pairs, Projected, Registered};
use super::service;
use super::structures::{AnchorDataListHolder, IndexConfig, PagingPredicateHolder, SimpleEntryView};
use crate::Data;
use crate::field::Text;
use crate::message::record;
use uuid::Uuid;

record! {
    /// Values of one page.
    PagedItems {
        /// Keys or values.
        values: Vec<Data>,
        /// Where the pages so far ended.
        anchors: AnchorDataListHolder,
    }
}

record! {
    /// Entries of one page.
    PagedPairs {
        /// Keys with their values.
        entries: Vec<(Data, Data)>,
        /// Where the pages so far ended.
        anchors: AnchorDataListHolder,
    }
}

record! {
    /// Something happened to an entry, or to all of them.
    EntryEvent {
        /// The key; null when it happened to all.
        key: Option<Data>,
        /// What the value is now, if asked for.
        value: Option<Data>,
        /// What it was, if asked for.
        old_value: Option<Data>,
        /// What came from another cluster.
        merging_value: Option<Data>,
        /// One bit of the `listener_flags`: 1 added, 2 removed, 4 updated, 8 evicted, 16 expired, 32 all evicted, 64 all
        /// cleared, 128 merged, 256 invalidated, 512 loaded.
        event_type: i32,
        /// The member on which it happened.
        uuid: Uuid,
        /// How many entries it happened to.
        number_of_affected_entries: i32,
    }
}

record! {
    /// All copies of a partition were lost.
    PartitionLost {
        /// Which.
        partition_id: i32,
        /// The member that says so.
        uuid: Uuid,
    }
}

record! {
    /// A near cache has to forget a key, or all.
    Invalidation {
        /// The key; null for all.
        key: Option<Data>,
        /// Who changed it.
        source_uuid: Uuid,
        /// Changes when the partition starts anew.
        partition_uuid: Uuid,
        /// Counts the changes of the partition.
        sequence: i64,
    }
}

record! {
    /// A near cache has to forget keys.
    BatchInvalidation {
        /// The keys.
        keys: Vec<Data>,
        /// Who changed each.
        source_uuids: Vec<Uuid>,
        /// Of the partition of each.
        partition_uuids: Vec<Uuid>,
        /// Of the change of each.
        sequences: Vec<i64>,
    }
}

service! {
    "Map" = 0x01;
    0x01 "put" Put { name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64 } => Found;
    0x02 "get" Get { name: Text, key: Data, thread_id: i64 } => Found;
    0x03 "remove" Remove { name: Text, key: Data, thread_id: i64 } => Found;
    0x04 "replace" Replace { name: Text, key: Data, value: Data, thread_id: i64 } => Found;
    0x05 "replaceIfSame" ReplaceIfSame {
        name: Text, key: Data, test_value: Data, value: Data, thread_id: i64,
    } => Flag;
    0x06 "containsKey" ContainsKey { name: Text, key: Data, thread_id: i64 } => Flag;
    0x07 "containsValue" ContainsValue { name: Text, value: Data } => Flag;
    0x08 "removeIfSame" RemoveIfSame { name: Text, key: Data, value: Data, thread_id: i64 } => Flag;
    0x09 "delete" Delete {
        name: Text, key: Data, thread_id: i64,
    } => Deleted { value: bool [since V2_7, else false] };
    0x0a "flush" Flush { name: Text } => Done;
    0x0b "tryRemove" TryRemove { name: Text, key: Data, thread_id: i64, timeout_ms: i64 } => Flag;
    0x0c "tryPut" TryPut { name: Text, key: Data, value: Data, thread_id: i64, timeout_ms: i64 } => Flag;
    0x0d "putTransient" PutTransient { name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64 } => Done;
    0x0e "putIfAbsent" PutIfAbsent { name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64 } => Found;
    0x0f "set" Set { name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64 } => Done;
    0x10 "lock" Lock { name: Text, key: Data, thread_id: i64, ttl_ms: i64, reference_id: i64 } => Done;
    0x11 "tryLock" TryLock {
        name: Text, key: Data, thread_id: i64, lease_ms: i64, timeout_ms: i64, reference_id: i64,
    } => Flag;
    0x12 "isLocked" IsLocked { name: Text, key: Data } => Flag;
    0x13 "unlock" Unlock { name: Text, key: Data, thread_id: i64, reference_id: i64 } => Done;
    0x14 "addInterceptor" AddInterceptor { name: Text, interceptor: Data } => InterceptorAdded { id: Text };
    0x15 "removeInterceptor" RemoveInterceptor { name: Text, id: Text } => Flag;
    0x16 "addEntryListenerToKeyWithPredicate" AddEntryListenerToKeyWithPredicate {
        name: Text, key: Data, predicate: Data, include_value: bool, listener_flags: i32, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x17 "addEntryListenerWithPredicate" AddEntryListenerWithPredicate {
        name: Text, predicate: Data, include_value: bool, listener_flags: i32, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x18 "addEntryListenerToKey" AddEntryListenerToKey {
        name: Text, key: Data, include_value: bool, listener_flags: i32, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x19 "addEntryListener" AddEntryListener {
        name: Text, include_value: bool, listener_flags: i32, local_only: bool,
    } => Registered raises 2 EntryEvent "Entry";
    0x1a "removeEntryListener" RemoveEntryListener { name: Text, registration_id: Uuid } => Flag;
    0x1b "addPartitionLostListener" AddPartitionLostListener {
        name: Text, local_only: bool,
    } => Registered raises 2 PartitionLost "MapPartitionLost";
    0x1c "removePartitionLostListener" RemovePartitionLostListener { name: Text, registration_id: Uuid } => Flag;
    0x1d "getEntryView" GetEntryView {
        name: Text, key: Data, thread_id: i64,
    } => EntryView { view: Option<SimpleEntryView>, max_idle_ms: i64 };
    0x1e "evict" Evict { name: Text, key: Data, thread_id: i64 } => Flag;
    0x1f "evictAll" EvictAll { name: Text } => Done;
    0x20 "loadAll" LoadAll { name: Text, replace_existing_values: bool } => Done;
    0x21 "loadGivenKeys" LoadGivenKeys { name: Text, keys: Vec<Data>, replace_existing_values: bool } => Done;
    0x22 "keySet" KeySet { name: Text } => Items;
    0x23 "getAll" GetAll { name: Text, keys: Vec<Data> } => Pairs;
    0x24 "values" Values { name: Text } => Items;
    0x25 "entrySet" EntrySet { name: Text } => Pairs;
    0x26 "keySetWithPredicate" KeySetWithPredicate { name: Text, predicate: Data } => Items;
    0x27 "valuesWithPredicate" ValuesWithPredicate { name: Text, predicate: Data } => Items;
    0x28 "entriesWithPredicate" EntriesWithPredicate { name: Text, predicate: Data } => Pairs;
    0x29 "addIndex" AddIndex { name: Text, index_config: IndexConfig } => Done;
    0x2a "size" Size { name: Text } => Count;
    0x2b "isEmpty" IsEmpty { name: Text } => Flag;
    0x2c "putAll" PutAll {
        name: Text, entries: Vec<(Data, Data)>, trigger_map_loader: bool [since V2_1, else true],
    } => Done;
    0x2d "clear" Clear { name: Text } => Done;
    0x2e "executeOnKey" ExecuteOnKey { name: Text, entry_processor: Data, key: Data, thread_id: i64 } => Found;
    0x2f "submitToKey" SubmitToKey { name: Text, entry_processor: Data, key: Data, thread_id: i64 } => Found;
    0x30 "executeOnAllKeys" ExecuteOnAllKeys { name: Text, entry_processor: Data } => Pairs;
    0x31 "executeWithPredicate" ExecuteWithPredicate { name: Text, entry_processor: Data, predicate: Data } => Pairs;
    0x32 "executeOnKeys" ExecuteOnKeys { name: Text, entry_processor: Data, keys: Vec<Data> } => Pairs;
    0x33 "forceUnlock" ForceUnlock { name: Text, key: Data, reference_id: i64 } => Done;
    0x34 "keySetWithPagingPredicate" KeySetWithPagingPredicate {
        name: Text, predicate: PagingPredicateHolder,
    } => PagedItems;
    0x35 "valuesWithPagingPredicate" ValuesWithPagingPredicate {
        name: Text, predicate: PagingPredicateHolder,
    } => PagedItems;
    0x36 "entriesWithPagingPredicate" EntriesWithPagingPredicate {
        name: Text, predicate: PagingPredicateHolder,
    } => PagedPairs;
    0x37 "fetchKeys" FetchKeys {
        name: Text, iteration_pointers: Vec<(i32, i32)>, batch: i32,
    } => FetchedKeys { iteration_pointers: Vec<(i32, i32)>, keys: Vec<Data> };
    0x38 "fetchEntries" FetchEntries {
        name: Text, iteration_pointers: Vec<(i32, i32)>, batch: i32,
    } => FetchedEntries { iteration_pointers: Vec<(i32, i32)>, entries: Vec<(Data, Data)> };
    0x39 "aggregate" Aggregate { name: Text, aggregator: Data } => Found;
    0x3a "aggregateWithPredicate" AggregateWithPredicate { name: Text, aggregator: Data, predicate: Data } => Found;
    0x3b "project" Project { name: Text, projection: Data } => Projected;
    0x3c "projectWithPredicate" ProjectWithPredicate { name: Text, projection: Data, predicate: Data } => Projected;
    0x3d "fetchNearCacheInvalidationMetadata" FetchNearCacheInvalidationMetadata {
        names: Vec<Text>, uuid: Uuid,
    } => InvalidationMetadata {
        name_partition_sequence_list: Vec<(Text, Vec<(i32, i64)>)>, partition_uuid_list: Vec<(i32, Uuid)>,
    };
    0x3e "removeAll" RemoveAll { name: Text, predicate: Data } => Done;
    0x3f "addNearCacheInvalidationListener" AddNearCacheInvalidationListener {
        name: Text, listener_flags: i32, local_only: bool,
    } => Registered raises 2 Invalidation "IMapInvalidation", 3 BatchInvalidation "IMapBatchInvalidation";
    0x40 "fetchWithQuery" FetchWithQuery {
        name: Text, iteration_pointers: Vec<(i32, i32)>, batch: i32, projection: Data, predicate: Data,
    } => FetchedResults { results: Vec<Option<Data>>, iteration_pointers: Vec<(i32, i32)> };
    0x41 "eventJournalSubscribe" EventJournalSubscribe {
        name: Text,
    } => JournalSubscribed { oldest_sequence: i64, newest_sequence: i64 };
    0x42 "eventJournalRead" EventJournalRead {
        name: Text, start_sequence: i64, min_size: i32, max_size: i32, predicate: Option<Data>,
        projection: Option<Data>,
    } => JournalRead { read_count: i32, items: Vec<Data>, item_seqs: Option<Vec<i64>>, next_seq: i64 };
    0x43 "setTtl" SetTtl { name: Text, key: Data, ttl_ms: i64 } => Flag;
    0x44 "putWithMaxIdle" PutWithMaxIdle {
        name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64, max_idle_ms: i64,
    } => Found;
    0x45 "putTransientWithMaxIdle" PutTransientWithMaxIdle {
        name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64, max_idle_ms: i64,
    } => Found;
    0x46 "putIfAbsentWithMaxIdle" PutIfAbsentWithMaxIdle {
        name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64, max_idle_ms: i64,
    } => Found;
    0x47 "setWithMaxIdle" SetWithMaxIdle {
        name: Text, key: Data, value: Data, thread_id: i64, ttl_ms: i64, max_idle_ms: i64,
    } => Found;
    0x48 "replaceAll" [since V2_4] ReplaceAll { name: Text, function: Data } => Done;
    0x49 "putAllWithMetadata" [since V2_7] PutAllWithMetadata { name: Text, entries: Vec<SimpleEntryView> } => Done;
}
