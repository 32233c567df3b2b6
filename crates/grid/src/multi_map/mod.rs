//! A map with any number of values for a key: each once (a set, as it is unless the settings say otherwise) or in the order in which they
//! came (a list).
//!
//! A key lives on its partition, as in a map, and can be locked as there: what would change a key that another owner has locked waits,
//! and holds no thread.

mod acts;
mod locking;
mod part;

pub use part::ValueCollection;

use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::items::detached;
use crate::keeper::{Home, Keeper, waiting};
use crate::map::{Interest, MapEvent, MapEventKind, Owner};
use crate::structures::{Service, Structure};
use acts::{
    Clear, ContainsEntry, ContainsKey, ContainsValue, Delete, Entries, Get, Keys, Put, PutAll, Remove,
    RemoveEntry, Size, ValueCount, Values,
};
use filbert_wire::{Data, PartitionId};
use locking::{ForceUnlock, IsLocked, Lock, Patience, ReleaseLocksOf, Unlock};
use part::{Part, Shared};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Keys, each with any number of values.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// let (orders, me) = (grid.multi_map("orders"), grid.new_owner());
/// let (ann, nuts, figs) = (Data::new(-3, b"a"), Data::new(-3, b"n"), Data::new(-3, b"f"));
/// assert!(orders.put(&ann, &nuts, me).wait()? && orders.put(&ann, &figs, me).wait()?);
/// assert!(!orders.put(&ann, &nuts, me).wait()?, "it is there already");
/// assert_eq!(orders.value_count(&ann).wait()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MultiMap {
    keeper: Keeper<Part>,
    shared: Arc<Shared>,
}

impl MultiMap {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let shared = Arc::new(Shared::new(grid, name));
        let of_partitions = Arc::clone(&shared);
        let made = move |home: &Home<Part>, partition| Part::new(&of_partitions, home.clone(), partition);
        let keeper = Keeper::partitioned(grid, name, made);
        Self { keeper, shared }
    }

    waiting! {
        /// Adds a value to a key, when nobody else has locked it; false when it is there already.
        put, put_to(&self, key: &Data, value: &Data, owner: Owner) -> bool
            = key.partition(), Put::new(key.detached(), value.detached(), owner);
        /// Removes a key, when nobody else has locked it; its values.
        remove, remove_to(&self, key: &Data, owner: Owner) -> Vec<Data>
            = key.partition(), Remove { key: key.detached(), owner, patience: Patience::of_map() };
        /// Removes a value of a key, when nobody else has locked it; false when it is not there.
        remove_entry, remove_entry_to(&self, key: &Data, value: &Data, owner: Owner) -> bool
            = key.partition(), RemoveEntry::new(key.detached(), value.detached(), owner);
        /// Removes a key, when nobody else has locked it.
        delete, delete_to(&self, key: &Data, owner: Owner) -> ()
            = key.partition(), Delete { key: key.detached(), owner, patience: Patience::of_map() };
        /// Locks a key, once more if the owner has it already; waits so long for whoever has it. After `lease_ms` it is free again. Whether
        /// it is locked.
        lock, lock_to(&self, key: &Data, owner: Owner, timeout_ms: u64, lease_ms: Option<u64>) -> bool
            = key.partition(), Lock::new(key.detached(), owner, timeout_ms, lease_ms);
    }

    /// Adds values to keys. Not at one moment: readers may see some before the others.
    pub fn put_all(
        &self,
        entries: impl IntoIterator<Item = (Data, Vec<Data>)>,
        owner: Owner,
    ) -> Invocation<()> {
        let mut parts: BTreeMap<PartitionId, Vec<(Data, Vec<Data>)>> = BTreeMap::new();
        for (key, values) in entries {
            parts.entry(key.partition()).or_default().push((key.detached(), detached(values)));
        }
        let acts = parts.into_iter().map(|(partition, entries)| (partition, PutAll::new(entries, owner)));
        self.keeper.each(acts, drop)
    }

    /// The values of a key.
    pub fn get(&self, key: &Data) -> Invocation<Vec<Data>> {
        self.keeper.call_on(key.partition(), Get { key: key.clone() })
    }

    /// How many values a key has.
    pub fn value_count(&self, key: &Data) -> Invocation<usize> {
        self.keeper.call_on(key.partition(), ValueCount { key: key.clone() })
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: &Data) -> Invocation<bool> {
        self.keeper.call_on(key.partition(), ContainsKey { key: key.clone() })
    }

    /// Whether a key has a value.
    pub fn contains_entry(&self, key: &Data, value: &Data) -> Invocation<bool> {
        let act = ContainsEntry { key: key.clone(), value: value.clone() };
        self.keeper.call_on(key.partition(), act)
    }

    /// Whether any key has a value. Looks at all keys.
    pub fn contains_value(&self, value: &Data) -> Invocation<bool> {
        let found = |found: Vec<bool>| found.into_iter().any(|found| found);
        self.keeper.everywhere(|| ContainsValue { value: value.clone() }, found)
    }

    /// How many values there are, of all keys.
    pub fn size(&self) -> Invocation<usize> {
        self.keeper.everywhere(|| Size {}, |sizes| sizes.into_iter().sum())
    }

    /// All keys, in no order.
    pub fn key_set(&self) -> Invocation<Vec<Data>> {
        self.keeper.everywhere(|| Keys {}, flat)
    }

    /// All values, in no order; one that several keys have is there as often.
    pub fn values(&self) -> Invocation<Vec<Data>> {
        self.keeper.everywhere(|| Values {}, flat)
    }

    /// All values with their keys, in no order.
    pub fn entry_set(&self) -> Invocation<Vec<(Data, Data)>> {
        self.keeper.everywhere(|| Entries {}, flat)
    }

    /// Removes all keys that are not locked.
    pub fn clear(&self) -> Invocation<()> {
        let shared = Arc::clone(&self.shared);
        self.keeper.everywhere(
            || Clear {},
            move |gone| shared.listeners.all_gone(MapEventKind::ClearAll, gone.into_iter().sum()),
        )
    }

    /// Whether anyone has locked a key.
    pub fn is_locked(&self, key: &Data) -> Invocation<bool> {
        self.keeper.call_on(key.partition(), IsLocked { key: key.clone() })
    }

    /// Gives a lock back once.
    pub fn unlock(&self, key: &Data, owner: Owner) -> Invocation<()> {
        self.keeper.call_on(key.partition(), Unlock { key: key.clone(), owner })
    }

    /// Frees a key, whoever has locked it.
    pub fn force_unlock(&self, key: &Data) -> Invocation<()> {
        self.keeper.call_on(key.partition(), ForceUnlock { key: key.clone() })
    }

    /// Frees all keys of a client or member that is gone; how many.
    pub fn release_locks_of(&self, id: Uuid) -> Invocation<usize> {
        self.keeper.everywhere(|| ReleaseLocksOf { id }, |freed| freed.into_iter().sum())
    }

    /// Frees all keys that a client or member which is gone had locked: at once, or, where a mailbox is full, as soon as it is not. Nobody
    /// else would ever free them.
    pub fn free_keys_of(&self, id: Uuid) {
        self.keeper.everywhere_until_taken(|| ReleaseLocksOf { id });
    }

    /// From now on `listener` hears of what `interest` says, on the `event` stage: values that came, values that went, all cleared.
    pub fn add_listener(
        &self,
        id: Uuid,
        interest: Interest,
        listener: impl Fn(&MapEvent) + Send + Sync + 'static,
    ) {
        self.shared.listeners.add(id, interest, listener);
    }

    /// What removes a listener later; unlike a handle it does not keep the entries alive.
    pub fn listener_remover(&self, id: Uuid) -> impl FnOnce() -> bool + Send + 'static + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.listeners.remove(id)
    }

    /// True when it was destroyed.
    pub fn is_destroyed(&self) -> bool {
        self.shared.destroyed.load(Ordering::Acquire)
    }
}

fn flat<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    parts.into_iter().flatten().collect()
}

impl Structure for MultiMap {
    fn service(&self) -> Service {
        Service::MultiMap
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.shared.destroyed.store(true, Ordering::Release);
        self.keeper.end();
    }
}
