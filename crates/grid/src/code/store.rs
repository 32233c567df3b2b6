//! What stands behind a map: a database, a file, a service that has the values for longer than the member lives.

use super::Registry;
use super::registry::guarded;
use crate::error::{GridError, GridResult};
use filbert_wire::Data;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// Where the entries of a map come from and go to. The settings of a map name one that is registered:
/// `[map."orders"] store = { name = "orders-db" }`; it is made once for each map that names it.
///
/// All of it may block: it runs on stage `mixed/map-store`, never on a partition's thread, and must not wait for changes
/// or loads of maps that have a store themselves. What is written, and when, is the map's affair: changes
/// of a key reach the store in their order, the last of several that wait alone, and no two calls for a key at a time. A store that
/// fails says why; one that panics has failed.
///
/// A map on disk remembers there which changes its store has not been told of, and a start after a kill tells it of those. So a store may
/// be told twice of a change, and must not mind.
///
/// ```
/// use filbert_grid::{Grid, GridSettings, MapSettings, MapStore, MapStoreSettings, Registry};
/// use filbert_wire::Data;
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Memory(Mutex<HashMap<Data, Data>>);
///
/// impl MapStore for Memory {
///     fn load(&self, key: &Data) -> Result<Option<Data>, String> {
///         Ok(self.0.lock().unwrap().get(key).cloned())
///     }
///     fn store(&self, key: &Data, value: &Data) -> Result<(), String> {
///         self.0.lock().unwrap().insert(key.clone(), value.clone());
///         Ok(())
///     }
///     fn delete(&self, key: &Data) -> Result<(), String> {
///         self.0.lock().unwrap().remove(key);
///         Ok(())
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let mut settings = GridSettings::default();
/// let store = Some(MapStoreSettings { name: "memory".into(), ..MapStoreSettings::default() });
/// settings.maps.set("orders", MapSettings { store, ..MapSettings::default() });
/// let registry = Registry::new().with_map_store("memory", |_map| Ok(Memory::default()));
/// let orders = Grid::with(&stages, settings, registry).map("orders");
/// let (key, value) = (Data::new(-7, &1_i32.to_be_bytes()), Data::new(-12, b"two hazelnuts"));
/// orders.set(key.clone(), value.clone()).wait()?;
/// orders.evict_all().wait()?;
/// assert_eq!(orders.get(key).wait()?, Some(value), "it was loaded");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait MapStore: Send + Sync {
    /// The value of a key, if it has one.
    fn load(&self, key: &Data) -> Result<Option<Data>, String>;

    /// The values of those keys that have one.
    fn load_all(&self, keys: &[Data]) -> Result<Vec<(Data, Data)>, String> {
        let mut found = Vec::new();
        for key in keys {
            found.extend(self.load(key)?.map(|value| (key.clone(), value)));
        }
        Ok(found)
    }

    /// All keys that have a value: what [`Map::load_all`](crate::Map::load_all) loads. None, unless a store says them.
    fn load_all_keys(&self) -> Result<Vec<Data>, String> {
        Ok(Vec::new())
    }

    /// Gives a key its value.
    fn store(&self, key: &Data, value: &Data) -> Result<(), String>;

    /// Gives keys their values. When it fails, all of them count as not written.
    fn store_all(&self, entries: &[(Data, Data)]) -> Result<(), String> {
        entries.iter().try_for_each(|(key, value)| self.store(key, value))
    }

    /// Takes a key's value away; it may have none.
    fn delete(&self, key: &Data) -> Result<(), String>;

    /// The same for several keys.
    fn delete_all(&self, keys: &[Data]) -> Result<(), String> {
        keys.iter().try_for_each(|key| self.delete(key))
    }
}

/// What errors call a store.
const STORE: &str = "map store";

/// Makes the store of a map, whose name it is given.
type Make = Arc<dyn Fn(&str) -> Result<Arc<dyn MapStore>, String> + Send + Sync>;

/// Makers of stores by name.
#[derive(Clone, Default)]
pub(super) struct Stores(Arc<RwLock<HashMap<String, Make>>>);

impl Stores {
    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let known = self.0.read().unwrap_or_else(|broken| broken.into_inner());
        let mut names: Vec<_> = known.keys().cloned().collect();
        names.sort();
        names
    }
}

impl Registry {
    /// The same, with a store that `make` makes for each map that names it.
    #[must_use]
    pub fn with_map_store<S: MapStore + 'static>(
        self,
        name: &str,
        make: impl Fn(&str) -> Result<S, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_map_store(name, make);
        self
    }

    /// Adds a store, in place of one of the same name. Maps that have that one keep it.
    pub fn add_map_store<S: MapStore + 'static>(
        &self,
        name: &str,
        make: impl Fn(&str) -> Result<S, String> + Send + Sync + 'static,
    ) {
        let make = move |map: &str| Ok(Arc::new(make(map)?) as Arc<dyn MapStore>);
        let mut known = self.stores.0.write().unwrap_or_else(|broken| broken.into_inner());
        known.insert(name.to_owned(), Arc::new(make));
    }

    /// The store of that name, made for `map`.
    pub(crate) fn map_store(&self, name: &str, map: &str) -> GridResult<StoreCalls> {
        let known = self.stores.0.read().unwrap_or_else(|broken| broken.into_inner());
        // The maker runs outside the lock: it is user code, and may register more.
        let make = known.get(name).cloned();
        drop(known);
        let make = make.ok_or_else(|| GridError::NotRegistered { what: STORE, name: name.to_owned() })?;
        Ok(StoreCalls { made: guarded(STORE, name, || make(map))?, name: name.into() })
    }
}

/// A store with its name; its panics are its own.
#[derive(Clone)]
pub(crate) struct StoreCalls {
    made: Arc<dyn MapStore>,
    name: Arc<str>,
}

impl StoreCalls {
    pub(crate) fn call<T>(&self, work: impl FnOnce(&dyn MapStore) -> Result<T, String>) -> GridResult<T> {
        guarded(STORE, &self.name, || work(&*self.made))
    }
}

impl std::fmt::Debug for StoreCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MapStore").field(&self.name).finish()
    }
}
