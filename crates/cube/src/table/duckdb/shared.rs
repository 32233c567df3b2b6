//! Files that are open, each once in the process, by however many queries.
//!
//! A process that opens a file twice loses its lock on it when it closes it once, which is how locks of files work here; another process could
//! then write what is still being read. So whoever reads a file holds a [`Lease`] of the one database that has it open, and the last lease
//! closes it, before anybody can open it again.
//!
//! Databases in memory are nobody else's: each has a lease of its own.

use super::library;
use super::place::{DuckDb, MEMORY};
use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Database, Driver};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static FILES: Mutex<BTreeMap<PathBuf, Arc<Mutex<Slot>>>> = Mutex::new(BTreeMap::new());

/// A database and those who use it.
#[derive(Default)]
struct Slot {
    leases: usize,
    /// There while there are leases, with the place it was opened by.
    open: Option<(ManagedDatabase, DuckDb)>,
}

/// The right to use a database. Every connection of it is to be gone before.
pub(super) struct Lease {
    slot: Arc<Mutex<Slot>>,
    /// None in memory.
    path: Option<PathBuf>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file, by a path that is the same however it is written.
fn path_of(place: &DuckDb) -> Option<PathBuf> {
    let path = place.path.as_ref()?;
    // DuckDB says what is wrong with one that is not there.
    Some(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
}

/// How many leases of a file there are.
pub(super) fn readers(place: &DuckDb) -> usize {
    let slot = path_of(place).and_then(|path| locked(&FILES).get(&path).cloned());
    slot.map_or(0, |slot| locked(&slot).leases)
}

impl Lease {
    /// Opens the database, unless it is open, and connects to it. Waits. An error says what is wrong.
    pub(super) fn take(place: &DuckDb) -> Result<(ManagedConnection, Self), String> {
        let path = path_of(place);
        let slot = match &path {
            Some(path) => Arc::clone(locked(&FILES).entry(path.clone()).or_default()),
            None => Arc::default(),
        };
        // From here on it is given back, also when it could not be opened.
        let lease = Self { slot, path };
        let mut slot = locked(&lease.slot);
        slot.leases += 1;
        let connected = match &slot.open {
            Some((_, other)) if !place.is_opened_like(other) => {
                Err("its file is being read with another library or other settings; use the same".to_owned())
            }
            Some((database, _)) => connect(database),
            None => open(place).and_then(|database| {
                let connected = connect(&database);
                slot.open = Some((database, place.clone()));
                connected
            }),
        };
        drop(slot);
        Ok((connected?, lease))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        {
            let mut slot = locked(&self.slot);
            slot.leases -= 1;
            if slot.leases == 0 {
                // Closes it, while nobody else can open it.
                slot.open = None;
            }
        }
        let Some(path) = &self.path else { return };
        let mut files = locked(&FILES);
        // Nobody but the list and this lease has it, and nobody can get it now. Of two that go at once neither may see that; what then stays is
        // an empty entry.
        if Arc::strong_count(&self.slot) == 2 {
            files.remove(path);
        }
    }
}

fn connect(database: &ManagedDatabase) -> Result<ManagedConnection, String> {
    database.new_connection().map_err(|error| error.message)
}

fn open(place: &DuckDb) -> Result<ManagedDatabase, String> {
    let mut driver = library::load(place.library.as_deref())?;
    let path = match &place.path {
        Some(path) => path.to_str().ok_or_else(|| format!("its path {path:?} is not UTF-8"))?,
        None => MEMORY,
    };
    let mut options = vec![("path", path)];
    let is_set = |known: &str| place.settings.iter().any(|(name, _)| name.eq_ignore_ascii_case(known));
    if place.path.is_some() && !is_set("access_mode") {
        options.push(("access_mode", "read_only"));
    }
    // A statement that names a file elsewhere does not bring foreign code into this process.
    if !is_set("autoinstall_known_extensions") {
        options.push(("autoinstall_known_extensions", "false"));
    }
    options.extend(place.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let options = options
        .into_iter()
        .map(|(name, value)| (OptionDatabase::Other(name.to_owned()), OptionValue::String(value.to_owned())));
    driver.new_database_with_opts(options).map_err(|error| error.message)
}
