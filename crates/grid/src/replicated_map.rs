//! A map that every member has as a whole, so that reads never leave the member.
//!
//! With one member it is what a map is, under a name of its own: no locks, no queries, a lifetime for each entry. Reads of another
//! member's changes may come late when there are more members.

use crate::allowance::Allowance;
use crate::invocation::Invocation;
use crate::map::{Interest, Lifetime, Map, MapEvent};
use filbert_wire::Data;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Keys and values that every member has; a handle that is cheap to clone.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let rates = Grid::new(&stages).replicated_map("rates");
/// let (key, value) = (Data::new(-3, b"k"), Data::new(-3, b"v"));
/// assert_eq!(rates.put(key.clone(), value.clone(), None).wait()?, None);
/// assert_eq!(rates.get(key).wait()?, Some(value));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReplicatedMap {
    map: Map,
}

impl ReplicatedMap {
    pub(crate) fn new(map: Map) -> Self {
        Self { map }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        self.map.name()
    }

    /// The same for a request whose result may take so much memory.
    #[must_use]
    pub fn within(&self, allowance: &Allowance) -> Self {
        Self { map: self.map.within(allowance) }
    }

    /// Gives `key` a value, for ever or for so long; the one before.
    pub fn put(&self, key: Data, value: Data, ttl: Option<Duration>) -> Invocation<Option<Data>> {
        let ttl_ms = ttl.map_or(0, |ttl| i64::try_from(ttl.as_millis()).unwrap_or(0));
        self.map.put_for(key, value, Lifetime::ttl_ms(ttl_ms))
    }

    /// Gives keys their values.
    pub fn put_all(&self, entries: impl IntoIterator<Item = (Data, Data)>) -> Invocation<()> {
        self.map.put_all(entries)
    }

    /// The value of `key`.
    pub fn get(&self, key: Data) -> Invocation<Option<Data>> {
        self.map.get(key)
    }

    /// Removes `key`; the value it had.
    pub fn remove(&self, key: Data) -> Invocation<Option<Data>> {
        self.map.remove(key)
    }

    /// Whether `key` is there.
    pub fn contains_key(&self, key: Data) -> Invocation<bool> {
        self.map.contains_key(key)
    }

    /// Whether any key has this value.
    pub fn contains_value(&self, value: &Data) -> Invocation<bool> {
        self.map.contains_value(value)
    }

    /// How many entries there are.
    pub fn size(&self) -> Invocation<u64> {
        self.map.size()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> Invocation<bool> {
        self.map.is_empty()
    }

    /// All keys, in no order.
    pub fn key_set(&self) -> Invocation<Vec<Data>> {
        self.map.key_set()
    }

    /// All values, in no order.
    pub fn values(&self) -> Invocation<Vec<Data>> {
        self.map.values()
    }

    /// All entries, in no order.
    pub fn entry_set(&self) -> Invocation<Vec<(Data, Data)>> {
        self.map.entry_set()
    }

    /// Removes all entries.
    pub fn clear(&self) -> Invocation<()> {
        self.map.clear()
    }

    /// From now on `listener` hears of what `interest` says, on the `event` stage.
    pub fn add_listener(
        &self,
        id: Uuid,
        interest: Interest,
        listener: impl Fn(&MapEvent) + Send + Sync + 'static,
    ) {
        self.map.add_listener(id, interest, listener);
    }

    /// What removes a listener later; it does not keep the entries alive.
    pub fn listener_remover(&self, id: Uuid) -> impl FnOnce() -> bool + Send + 'static + use<> {
        self.map.listener_remover(id)
    }
}
