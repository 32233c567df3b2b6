//! A map with the Rust types of its keys and values: a thin layer that writes and reads [`Data`] around the raw [`Map`].

use super::{Interest, Lifetime, Map, MapEvent, MapEventKind};
use crate::code::Code;
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::reading::Reading;
use filbert_wire::{Data, FromData, ToData};
use std::borrow::Borrow;
use std::marker::PhantomData;
use uuid::Uuid;

/// A map of `K` to `V`; a handle that is cheap to clone.
///
/// What it writes is read by every Hazelcast client, and the other way round: `K` and `V` are any types that
/// [`ToData`](filbert_wire::ToData) lists. Methods return at once with the result or its future. What is rarely needed with types is on the
/// [raw](TypedMap::raw) map.
///
/// ```
/// # let stages = filbert_pool::Stages::start()?;
/// let grid = filbert_grid::Grid::new(&stages);
/// let cities = grid.typed_map::<String, i64>("cities");
/// cities.put("Oslo", &709_000).wait()?;
/// assert_eq!(cities.get("Oslo").wait()?, Some(709_000));
/// assert_eq!(cities.replace("Bergen", &290_000).wait()?, None);
/// assert_eq!(cities.size().wait()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TypedMap<K, V> {
    raw: Map,
    types: PhantomData<fn(K) -> V>,
}

/// Entries on their way, read as `K` and `V`.
pub type ReadingPairs<K, V> = Reading<Vec<(Data, Data)>, Vec<(K, V)>>;

/// Something that happened in a [`TypedMap`].
#[derive(Debug, Clone, PartialEq)]
pub struct TypedMapEvent<K, V> {
    /// What.
    pub kind: MapEventKind,
    /// To which key; `None` when it was all of them.
    pub key: Option<K>,
    /// The value after it.
    pub value: Option<V>,
    /// The value before it.
    pub old_value: Option<V>,
    /// How many entries, when it was all of them; otherwise 1.
    pub affected: u64,
}

/// Writes a value, or says why it cannot be written.
fn write<T: ToData + ?Sized>(operation: &'static str, value: &T) -> GridResult<Data> {
    value.to_data().map_err(|error| GridError::BadData { operation, problem: error.to_string() })
}

/// Reads a value, or says why it cannot be read.
fn read<T: FromData>(data: &Data) -> GridResult<T> {
    T::from_data(data).map_err(unread)
}

fn unread(error: impl std::fmt::Display) -> GridError {
    GridError::BadData { operation: "map", problem: error.to_string() }
}

fn read_found<T: FromData>(found: Option<Data>) -> GridResult<Option<T>> {
    found.as_ref().map(read).transpose()
}

fn read_all<T: FromData>(found: Vec<Data>) -> GridResult<Vec<T>> {
    found.iter().map(read).collect()
}

fn read_pairs<K: FromData, V: FromData>(found: Vec<(Data, Data)>) -> GridResult<Vec<(K, V)>> {
    found.iter().map(|(key, value)| Ok((read(key)?, read(value)?))).collect()
}

/// Runs `call` with what was written; a value that cannot be written is the invocation's error.
macro_rules! written {
    ($name:literal, [$($value:ident),+], $call:expr) => {
        match (|| Ok::<_, GridError>(($(write($name, $value)?,)+)))() {
            Ok(($($value,)+)) => $call,
            Err(error) => Invocation::ready(Err(error)),
        }
    };
}

impl<K, V> TypedMap<K, V> {
    /// The raw map with these types.
    pub fn new(raw: Map) -> Self {
        Self { raw, types: PhantomData }
    }

    /// The map of `Data`, with everything that maps can do.
    pub fn raw(&self) -> &Map {
        &self.raw
    }

    /// How many entries there are.
    pub fn size(&self) -> Invocation<u64> {
        self.raw.size()
    }

    /// Removes all entries.
    pub fn clear(&self) -> Invocation<()> {
        self.raw.clear()
    }

    /// Removes a listener; false when there was none.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        self.raw.remove_listener(id)
    }
}

impl<K: ToData, V: ToData + FromData + Send + 'static> TypedMap<K, V> {
    /// The value of `key`. Read in place when the partition is idle: nothing is copied but what `V` holds.
    #[inline]
    pub fn get<Q: ToData + ?Sized>(&self, key: &Q) -> Reading<Option<Data>, Option<V>>
    where
        K: Borrow<Q>,
    {
        let key = match write("map.get", key) {
            Ok(key) => key,
            Err(error) => return Reading::ready(Err(error)),
        };
        let in_place = |bytes: Option<&[u8]>| bytes.map(V::from_bytes).transpose();
        match self.raw.try_read(&key, in_place) {
            Some(value) => Reading::ready(value.map_err(unread)),
            None => Reading::new(self.raw.get(key), read_found),
        }
    }

    /// Whether `key` is there.
    pub fn contains_key<Q: ToData + ?Sized>(&self, key: &Q) -> Invocation<bool>
    where
        K: Borrow<Q>,
    {
        written!("map.contains_key", [key], self.raw.contains_key(key))
    }

    /// Writes, and gives the value that was there before.
    pub fn put<Q: ToData + ?Sized>(&self, key: &Q, value: &V) -> Reading<Option<Data>, Option<V>>
    where
        K: Borrow<Q>,
    {
        Reading::new(written!("map.put", [key, value], self.raw.put(key, value)), read_found)
    }

    /// Writes; cheaper than [`put`](TypedMap::put), for the old value is not read.
    #[inline]
    pub fn set<Q: ToData + ?Sized>(&self, key: &Q, value: &V) -> Invocation<()>
    where
        K: Borrow<Q>,
    {
        written!("map.set", [key, value], self.raw.set(key, value))
    }

    /// Writes if `key` is not there; gives the value that is.
    pub fn put_if_absent<Q: ToData + ?Sized>(&self, key: &Q, value: &V) -> Reading<Option<Data>, Option<V>>
    where
        K: Borrow<Q>,
    {
        let written = written!(
            "map.put_if_absent",
            [key, value],
            self.raw.put_if_absent(key, value, Lifetime::default())
        );
        Reading::new(written, read_found)
    }

    /// Writes if `key` is there; gives the value that was.
    pub fn replace<Q: ToData + ?Sized>(&self, key: &Q, value: &V) -> Reading<Option<Data>, Option<V>>
    where
        K: Borrow<Q>,
    {
        Reading::new(written!("map.replace", [key, value], self.raw.replace(key, value)), read_found)
    }

    /// Writes if the value of `key` is `expected`; says whether it did.
    pub fn replace_if_same<Q: ToData + ?Sized>(&self, key: &Q, expected: &V, value: &V) -> Invocation<bool>
    where
        K: Borrow<Q>,
    {
        let replaced = |key, expected, value| self.raw.replace_if_same(key, expected, value);
        written!("map.replace_if_same", [key, expected, value], replaced(key, expected, value))
    }

    /// Takes `key` away and gives its value.
    pub fn remove<Q: ToData + ?Sized>(&self, key: &Q) -> Reading<Option<Data>, Option<V>>
    where
        K: Borrow<Q>,
    {
        Reading::new(written!("map.remove", [key], self.raw.remove(key)), read_found)
    }

    /// Takes `key` away; says whether it was there.
    pub fn delete<Q: ToData + ?Sized>(&self, key: &Q) -> Invocation<bool>
    where
        K: Borrow<Q>,
    {
        written!("map.delete", [key], self.raw.delete(key))
    }

    /// Writes many, partition by partition, in parallel.
    pub fn put_all<'a>(&self, entries: impl IntoIterator<Item = (&'a K, &'a V)>) -> Invocation<()>
    where
        K: 'a,
        V: 'a,
    {
        let data = |(key, value)| Ok((write("map.put_all", key)?, write("map.put_all", value)?));
        match entries.into_iter().map(data).collect::<GridResult<Vec<_>>>() {
            Ok(entries) => self.raw.put_all(entries),
            Err(error) => Invocation::ready(Err(error)),
        }
    }

    /// Takes a lock of `key`; waits for it as long as it takes, without a thread.
    pub fn lock<Q: ToData + ?Sized>(&self, key: &Q) -> Invocation<()>
    where
        K: Borrow<Q>,
    {
        written!("map.lock", [key], self.raw.lock(key, None))
    }

    /// Gives the lock of `key` back.
    pub fn unlock<Q: ToData + ?Sized>(&self, key: &Q) -> Invocation<()>
    where
        K: Borrow<Q>,
    {
        written!("map.unlock", [key], self.raw.unlock(key))
    }

    /// Runs the registered entry processor `name` with `argument` on the entry of `key`, where it lives; gives what the processor
    /// returns.
    pub fn execute_on_key<Q: ToData + ?Sized, A: ToData + ?Sized>(
        &self,
        key: &Q,
        name: &str,
        argument: &A,
    ) -> Invocation<Option<Data>>
    where
        K: Borrow<Q>,
    {
        let code = |argument| Code::named(name, argument);
        written!("map.execute", [key, argument], self.raw.execute_on_key(key, code(argument)))
    }
}

impl<K: ToData + FromData + Send + 'static, V: ToData + FromData + Send + 'static> TypedMap<K, V> {
    /// The entries of those keys that are there, partition by partition, in parallel.
    pub fn get_all<'a>(&self, keys: impl IntoIterator<Item = &'a K>) -> ReadingPairs<K, V>
    where
        K: 'a,
    {
        match keys.into_iter().map(|key| write("map.get_all", key)).collect::<GridResult<Vec<_>>>() {
            Ok(keys) => Reading::new(self.raw.get_all(keys), read_pairs),
            Err(error) => Reading::ready(Err(error)),
        }
    }

    /// All keys, in no order.
    pub fn keys(&self) -> Reading<Vec<Data>, Vec<K>> {
        Reading::new(self.raw.key_set(), read_all)
    }

    /// All values, in no order.
    pub fn values(&self) -> Reading<Vec<Data>, Vec<V>> {
        Reading::new(self.raw.values(), read_all)
    }

    /// All entries, in no order.
    pub fn entries(&self) -> ReadingPairs<K, V> {
        Reading::new(self.raw.entry_set(), read_pairs)
    }

    /// From now on `listener` hears of every change, with values, on the `event` stage. An event whose key or value is not of these
    /// types is left out, and logged. Removed by `id`.
    pub fn add_listener(&self, id: Uuid, listener: impl Fn(&TypedMapEvent<K, V>) + Send + Sync + 'static) {
        self.raw.add_listener(id, Interest::ALL, move |event| match typed(event) {
            Ok(event) => listener(&event),
            Err(error) => tracing::warn!(%error, "an event of other types than the listener's"),
        });
    }
}

fn typed<K: FromData, V: FromData>(event: &MapEvent) -> GridResult<TypedMapEvent<K, V>> {
    let MapEvent { kind, key, value, old_value, affected } = event;
    Ok(TypedMapEvent {
        kind: *kind,
        key: key.as_ref().map(read).transpose()?,
        value: value.as_ref().map(read).transpose()?,
        old_value: old_value.as_ref().map(read).transpose()?,
        affected: *affected,
    })
}

impl<K, V> Clone for TypedMap<K, V> {
    fn clone(&self) -> Self {
        Self::new(self.raw.clone())
    }
}

impl<K, V> std::fmt::Debug for TypedMap<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedMap").field(self.raw.name()).finish()
    }
}
