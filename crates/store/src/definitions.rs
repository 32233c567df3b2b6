//! Definitions: what a member has to know to read its maps, beside the maps: small values by key, on disk before they are used.
//!
//! They are kept as a map is, in a folder of their own beside those of the maps, with a log that is flushed before anyone is answered and folded into
//! shelves. What they say is the affair of whoever writes them; a catalog that is shared by several members can take their place.

use crate::change::Change;
use crate::error::{Damage, StoreError};
use crate::log::{MapLog, Pending};
use crate::settings::{Fsync, PersistenceSettings};
use crate::store::{Recovery, Store};
use std::path::{Path, PathBuf};

/// What they are called where a map has its name.
pub(crate) const NAME: &str = "(definitions)";

/// They are few: the log stays short.
const FOLD_BYTES: u64 = 1 << 20;

/// The partition that all of them are in.
const PARTITION: u16 = 0;

/// Where the definitions of a data directory are.
pub(crate) fn folder(directory: &Path) -> PathBuf {
    directory.join("definitions")
}

pub(crate) fn settings() -> PersistenceSettings {
    PersistenceSettings { fsync: Fsync::Always, fold_bytes: FOLD_BYTES, ..Default::default() }
}

/// The definitions of a data directory; a handle that is cheap to clone.
///
/// ```
/// let (folder, stages) = (tempfile::tempdir()?, filbert_pool::Stages::start()?);
/// let store = filbert_store::Store::open(&stages, folder.path())?;
/// let (stored, wait) = std::sync::mpsc::channel();
/// let pending = store.definitions().put(b"a key", b"a value").expect("its answer waits");
/// pending.then(move |result| stored.send(result).unwrap());
/// wait.recv()??;
/// store.close()?;
/// drop(store);
/// let found = filbert_store::Store::open(&stages, folder.path())?.read_definitions()?;
/// assert_eq!(found.all, [(b"a key".to_vec(), b"a value".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Definitions {
    log: MapLog,
}

/// What a data directory has of definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundDefinitions {
    /// Keys and values, by key.
    pub all: Vec<(Vec<u8>, Vec<u8>)>,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

impl Definitions {
    pub(crate) fn new(log: MapLog) -> Self {
        Self { log }
    }

    /// Why none can be changed now; nothing when they can.
    pub fn refuses(&self) -> Option<StoreError> {
        self.log.refuses()
    }

    /// Sets one. What comes back is what has to be waited for before it is used.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Option<Pending> {
        self.log.append(PARTITION, &Change::Put { key, value, life: None })
    }

    /// Removes one.
    pub fn remove(&self, key: &[u8]) -> Option<Pending> {
        self.log.append(PARTITION, &Change::Remove { key })
    }
}

impl Store {
    /// The definitions of the data directory; nothing is on disk before the first.
    pub fn definitions(&self) -> Definitions {
        Definitions::new(self.definitions_log())
    }

    /// Reads the definitions, before the first is changed. Blocks.
    pub fn read_definitions(&self) -> Result<FoundDefinitions, StoreError> {
        let mut found = FoundDefinitions::default();
        let Some(recovery) = self.recover_definitions()? else { return Ok(found) };
        found.damage.clone_from(&recovery.damage);
        read_into(recovery, &mut found)?;
        if !found.damage.is_empty() {
            self.definitions_log().never_fold();
        }
        found.all.sort();
        Ok(found)
    }
}

fn read_into(recovery: Recovery, found: &mut FoundDefinitions) -> Result<(), StoreError> {
    for shelf in recovery.into_shelves() {
        let damage = shelf.read(|entry| found.all.push((entry.key, entry.value)))?;
        found.damage.extend(damage);
    }
    Ok(())
}
