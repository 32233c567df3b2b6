//! The data directory of a member.
//!
//! ```text
//! data/
//!   folders, folders-copy     which folders there have to be
//!   filbert-data             says what this folder is, and in which version
//!   definitions/             what is to be known to read the maps, kept as a map is
//!   lock                     held by the member that uses it
//!   maps/orders/
//!     log-0000000000000007.seg   the log, the newest last
//!     shelf-00.redb .. shelf-15.redb, shelf-00.sums ..   the snapshot
//!     manifest, manifest-copy    which of these have to be there
//!     flushed                    how far the newest log was flushed
//!     fold.lock              held while the snapshot changes or is read
//! ```

use crate::change::Entry;
use crate::definitions;
use crate::error::{Damage, Reach, StoreError};
use crate::folder;
use crate::folder_list::FolderList;
use crate::log::{MapLog, fold_lock};
use crate::manifest::{FlushedEnd, Found, Manifest};
use crate::marker::{self, Marker};
use crate::overlay::{LogFiles, LogState, Overlay};
use crate::room::Room;
use crate::segment;
use crate::settings::PersistenceSettings;
use crate::shelf::{Access, Expected, Shelf, Stamp};
use filbert_pool::Stages;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The data directory of a member, locked: a handle that is cheap to clone.
///
/// ```
/// use filbert_store::{Change, PersistenceSettings, Store};
///
/// let folder = tempfile::tempdir()?;
/// let stages = filbert_pool::Stages::start()?;
/// let store = Store::open(&stages, folder.path())?;
/// let log = store.log("orders", &PersistenceSettings::default());
/// let (stored, wait) = std::sync::mpsc::channel();
/// let change = Change::Put { key: b"a key", value: b"a value", life: None };
/// log.append(7, &change).expect("fsync = always").then(move |result| stored.send(result).unwrap());
/// wait.recv()??;
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    stages: Stages,
    room: Room,
    folders: Arc<FolderList>,
    logs: Mutex<BTreeMap<String, MapLog>>,
    definitions: OnceLock<MapLog>,
    _lock: File,
}

/// Where the maps of a data directory are.
pub(crate) fn maps_folder(directory: &Path) -> PathBuf {
    directory.join("maps")
}

/// The names of the maps in a data directory, with their folders.
pub(crate) fn maps(directory: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let maps = maps_folder(directory);
    let names = folder::names(&maps)?;
    let found = names.iter().filter_map(|name| {
        // One whose restore was interrupted stands aside, until the next start.
        let aside = name.strip_suffix(folder::ASIDE).filter(|home| !maps.join(home).exists());
        Some((folder::map_of(aside.unwrap_or(name))?, maps.join(name)))
    });
    Ok(found.collect())
}

/// The names of the maps that are there or have to be, with their folders.
pub(crate) fn maps_listed(
    directory: &Path,
    folders: &FolderList,
) -> Result<BTreeMap<String, PathBuf>, StoreError> {
    let home = |path: PathBuf| {
        let name = path.strip_prefix(maps_folder(directory)).ok()?.to_str().and_then(folder::map_of)?;
        Some((name, path))
    };
    let listed = folders.all().into_iter().filter_map(home);
    // One that is there stands aside, perhaps.
    Ok(listed.chain(maps(directory)?).collect())
}

/// True when `directory` is a data directory.
pub(crate) fn is_one(directory: &Path) -> bool {
    Marker::find(directory).is_some()
}

/// Makes a data directory where none is, locks it, and finishes or undoes a restore that was interrupted.
pub(crate) fn claim(directory: &Path, room: &Room) -> Result<(File, FolderList), StoreError> {
    folder::make(directory)?;
    let shown = || directory.display().to_string();
    let marker = match Marker::find(directory) {
        Some(marker) => marker,
        None if folder::names(directory)?.is_empty() => Marker::create(directory)?,
        None => {
            return Err(StoreError::NotADataDirectory {
                directory: shown(),
                marker: marker::NAME,
                expected: marker::CURRENT.trim_end(),
            });
        }
    };
    let path = directory.join("lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| StoreError::io("open", &path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { directory: shown() }),
        Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &path, &error)),
    }
    folder::settle(&definitions::folder(directory))?;
    let maps = maps_folder(directory);
    for name in folder::names(&maps)? {
        let home = name.strip_suffix(folder::ASIDE).filter(|home| folder::map_of(home).is_some());
        home.map_or(Ok(()), |home| folder::settle(&maps.join(home)))?;
    }
    Ok((file, FolderList::open(directory, marker, room)?))
}

impl Store {
    /// Opens a data directory, or makes one; refused while another process has it.
    pub fn open(stages: &Stages, directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(stages, directory, Room::default())
    }

    /// The same with a bound for its logs, for tests of a disk that is full.
    pub fn open_with(stages: &Stages, directory: impl AsRef<Path>, room: Room) -> Result<Self, StoreError> {
        let directory = directory.as_ref().to_owned();
        let (_lock, folders) = claim(&directory, &room)?;
        let (stages, folders) = (stages.clone(), Arc::new(folders));
        let (logs, definitions) = (Mutex::default(), OnceLock::new());
        Ok(Self { inner: Arc::new(Inner { directory, stages, room, folders, logs, definitions, _lock }) })
    }

    /// The names of the maps in a data directory that is not opened; none when it is no such directory.
    pub fn maps_in(directory: impl AsRef<Path>) -> Vec<String> {
        let directory = directory.as_ref();
        let found = if is_one(directory) { maps(directory).unwrap_or_default() } else { Vec::new() };
        found.into_iter().map(|(name, _)| name).collect()
    }

    /// The names of the maps that are on disk, or have to be.
    pub fn maps(&self) -> Result<Vec<String>, StoreError> {
        Ok(maps_listed(&self.inner.directory, &self.inner.folders)?.into_keys().collect())
    }

    /// What is wrong with the data directory as a whole.
    pub fn damage(&self) -> Option<Damage> {
        self.inner.folders.damage()
    }

    /// Writes which folders there are now, after maps were recovered; on a disk without room that is done later. Blocks.
    pub fn list_folders(&self) {
        if let Err(error) = self.inner.folders.write() {
            tracing::warn!(%error, "the list of the folders is not written yet");
        }
    }

    /// The log of a map; nothing is on disk before its first change.
    pub fn log(&self, name: &str, settings: &PersistenceSettings) -> MapLog {
        let mut logs = self.inner.logs.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(known) = logs.get(name) {
            return known.renewed();
        }
        let Inner { stages, room, folders, .. } = &*self.inner;
        let (room, folders) = (room.clone(), Arc::clone(folders));
        let log = MapLog::new(name, self.folder(name), *settings, stages, room, folders);
        logs.insert(name.to_owned(), log.clone());
        log
    }

    fn folder(&self, name: &str) -> PathBuf {
        maps_folder(&self.inner.directory).join(folder::of_map(name))
    }

    /// Reads what the log of a map says, cuts its torn end, and gives the shelves to read; before its first change. `None` when there
    /// is none, or it was destroyed. Blocks.
    pub fn recover(
        &self,
        name: &str,
        settings: &PersistenceSettings,
    ) -> Result<Option<Recovery>, StoreError> {
        let folder = self.folder(name);
        let log = || self.log(name, settings);
        let Some(recovery) = self.recover_folder(name, &folder, log)? else { return Ok(None) };
        if recovery.is_gone && recovery.damage.is_empty() {
            // Off the list first: one that is listed and gone is damage.
            match self.inner.folders.remove(&folder) {
                Ok(()) => folder::remove(&folder)?,
                Err(error) => {
                    tracing::warn!(map = name, %error, "a map that was destroyed is not removed yet")
                }
            }
            return Ok(None);
        }
        Ok(Some(recovery))
    }

    fn recover_folder(
        &self,
        name: &str,
        folder: &Path,
        log: impl FnOnce() -> MapLog,
    ) -> Result<Option<Recovery>, StoreError> {
        let folders = &self.inner.folders;
        let wrong = folders.damage_of(folder, folder)?;
        if wrong.is_some()
            && let Err(error) = folders.lose(folder)
        {
            tracing::warn!(map = name, %error, "the list of the folders is not written yet");
        }
        if !folder.is_dir() {
            let Some(damage) = wrong else { return Ok(None) };
            log().never_fold();
            return Ok(Some(Recovery::of_nothing(damage)));
        }
        let (access, new_id) = (Access::Own(self.inner.room.clone()), self.inner.stages.clock().random());
        let mut recovery = Recovery::read(name, folder, &access, new_id, Some(folders))?;
        recovery.damage.splice(0..0, wrong);
        if recovery.is_gone && recovery.damage.is_empty() {
            return Ok(Some(recovery));
        }
        if !recovery.damage.is_empty() || recovery.unfinished.is_some() {
            let log = log();
            if !recovery.damage.is_empty() {
                log.never_fold();
            }
            if let Some((number, end)) = recovery.unfinished {
                log.leave_behind(number, end);
            }
        }
        Ok(Some(recovery))
    }

    /// The log of the definitions.
    pub(crate) fn definitions_log(&self) -> MapLog {
        let Inner { directory, stages, room, folders, definitions: known, .. } = &*self.inner;
        let (name, folder, settings) =
            (definitions::NAME, definitions::folder(directory), definitions::settings());
        let log = || MapLog::new(name, folder, settings, stages, room.clone(), Arc::clone(folders));
        known.get_or_init(log).clone()
    }

    /// As [`Store::recover`], for the definitions.
    pub(crate) fn recover_definitions(&self) -> Result<Option<Recovery>, StoreError> {
        let folder = definitions::folder(&self.inner.directory);
        self.recover_folder(definitions::NAME, &folder, || self.definitions_log())
    }

    /// A map of which something cannot be read: its log is not folded any more, since that would hide what.
    pub fn has_damage(&self, name: &str, settings: &PersistenceSettings) {
        self.log(name, settings).never_fold();
    }

    /// Writes and flushes what is left of all maps. Blocks.
    pub fn close(&self) -> Result<(), StoreError> {
        self.close_all().into_iter().next().map_or(Ok(()), Err)
    }

    /// Closes all logs as [`Store::close`] does, and returns every failure.
    pub fn close_all(&self) -> Vec<StoreError> {
        let logs: Vec<MapLog> = {
            let logs = self.inner.logs.lock().unwrap_or_else(|broken| broken.into_inner());
            // The definitions last: what maps still write may need them.
            logs.values().chain(self.inner.definitions.get()).cloned().collect()
        };
        // All of them, also when one cannot be.
        let failures: Vec<StoreError> = logs.iter().filter_map(|log| log.close().err()).collect();
        self.list_folders();
        for error in &failures {
            tracing::error!(%error, "a map was not stored to the end");
        }
        failures
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let logs = self.logs.get_mut().unwrap_or_else(|broken| broken.into_inner());
        for log in logs.values().chain(self.definitions.get()) {
            if let Err(error) = log.close() {
                tracing::error!(%error, "a map was not stored to the end");
            }
        }
    }
}

/// What is on disk of a map.
#[derive(Debug)]
pub struct Recovery {
    /// What of the log cannot be read.
    pub damage: Vec<Damage>,
    /// How many changes the log has.
    pub changes: u64,
    /// Bytes at the end of the log that were not flushed when its writer ended, and do not count.
    pub torn_bytes: u64,
    is_gone: bool,
    /// A segment that could not be sealed, and how many bytes of it count.
    unfinished: Option<(u64, u64)>,
    shelves: Vec<ShelfState>,
    /// Until everything is read; `None` when there is nothing to read.
    _lock: Option<Arc<File>>,
}

/// What is on disk of some partitions of a map.
#[derive(Debug)]
pub struct ShelfState {
    shelf: Shelf,
    expected: Expected,
    overlay: Overlay,
    access: Access,
    _lock: Arc<File>,
}

impl Recovery {
    /// Reads what a folder says. One of our own whose files are not listed yet, because it was written before there were manifests, is
    /// given a manifest with `new_id`, once the marker of the data directory says that there are such, and listed in `folders`.
    pub(crate) fn read(
        map: &str,
        folder: &Path,
        access: &Access,
        new_id: u64,
        folders: Option<&FolderList>,
    ) -> Result<Self, StoreError> {
        let lock = Arc::new(fold_lock(folder)?);
        // The lists before the files: a member that runs lists a file only when it is there.
        let (found, flushed) = (Manifest::find(folder)?, FlushedEnd::find(folder));
        let numbers = segment::numbers(folder)?;
        let left = segment::all_left(folder, &numbers)?;
        let lost = || Manifest::in_place_of_a_lost_one(folder, new_id).map(Some);
        let manifest = match found {
            Found::Manifest(manifest) => Some(*manifest),
            Found::Lost => lost()?,
            // Begun between the two looks, perhaps.
            Found::Nothing if segment::any_named(folder, &numbers)? => match Manifest::find(folder)? {
                Found::Manifest(manifest) => Some(*manifest),
                Found::Nothing | Found::Lost => lost()?,
            },
            Found::Nothing => None,
        };
        let files = LogFiles { folder, numbers: &numbers, left: &left, manifest: manifest.as_ref(), flushed };
        let mut state = LogState::read(&files)?;
        if manifest.as_ref().is_some_and(|manifest| manifest.is_after_lost) {
            let file = folder.join("manifest").display().to_string();
            let problem =
                "the list of the map's files is missing or damaged, so nobody knows whether all are there";
            let (problem, reach) = (problem.to_owned(), Reach::Map);
            state.damage.push(Damage { file, at: 0, length: 0, problem, reach });
        }
        let expected = |shelf: &Shelf| match &manifest {
            None => Expected::Anything,
            Some(manifest) => match manifest.shelves[shelf.number()] {
                None => Expected::Maybe(manifest.id),
                Some(folded) => Expected::There(Stamp { id: manifest.id, folded }),
            },
        };
        let expected: Vec<Expected> = Shelf::all(folder).map(|shelf| expected(&shelf)).collect();
        let mut torn_bytes = 0;
        let (mut unfinished, mut finished) = (None, None);
        if let Some((number, segment, end)) = state.open_end.take() {
            torn_bytes = segment.bytes.len() as u64 - end;
            if let Access::Own(room) = access {
                // A disk without room is no reason not to start: the next segment says how much of this one counts.
                match segment.finish(end, room) {
                    Ok(()) => finished = Some((number, end)),
                    Err(error) => {
                        tracing::warn!(map, %error, "the end of the log could not be sealed");
                        unfinished = Some((number, end));
                    }
                }
                if torn_bytes > 0 {
                    tracing::warn!(map, torn_bytes, "the end of the log was not flushed and is cut");
                }
            }
        }
        if let Access::Own(room) = access {
            let mut manifest = manifest.map_or_else(|| Manifest::adopted(folder, new_id), Ok)?;
            let flushed = flushed.filter(|flushed| flushed.id == manifest.id);
            let flushed = flushed.map(|flushed| (flushed.number, flushed.end));
            flushed.into_iter().chain(finished).for_each(|(number, end)| manifest.flushed(number, end));
            // On a disk without room the log does it later.
            let renew = |folders: &FolderList| folders.marker().renew(marker::HAS_MANIFESTS, room);
            match folders.map_or(Ok(()), renew).and_then(|()| manifest.write(folder, room)) {
                Ok(()) => folders.iter().for_each(|folders| folders.note(folder, &manifest)),
                Err(error) => tracing::warn!(map, %error, "the list of a map's files is not written yet"),
            }
        }
        let overlays = std::mem::take(&mut state.shelves);
        let shelves = Shelf::all(folder).zip(expected).zip(overlays);
        let shelves = shelves
            .map(|((shelf, expected), overlay)| {
                let (access, _lock) = (access.clone(), Arc::clone(&lock));
                ShelfState { shelf, expected, overlay, access, _lock }
            })
            .collect();
        let LogState { damage, changes, is_gone, .. } = state;
        Ok(Self { damage, changes, torn_bytes, is_gone, unfinished, shelves, _lock: Some(lock) })
    }

    /// A folder that has to be there and is not.
    fn of_nothing(damage: Damage) -> Self {
        let (damage, shelves) = (vec![damage], Vec::new());
        Self { damage, changes: 0, torn_bytes: 0, is_gone: false, unfinished: None, shelves, _lock: None }
    }

    /// The shelves, to be read side by side.
    pub fn into_shelves(self) -> Vec<ShelfState> {
        self.shelves
    }
}

impl ShelfState {
    /// Gives every entry to `each`; what could not be read. Blocks.
    pub fn read(self, mut each: impl FnMut(Entry)) -> Result<Vec<Damage>, StoreError> {
        let Self { shelf, expected, overlay, access, .. } = self;
        let mut damage = Vec::new();
        if !overlay.clears_all(shelf.number()) {
            shelf.read(&access, expected, &mut damage, |place, entry| {
                if !overlay.cleared.contains(&entry.partition) && !overlay.changes.contains_key(place) {
                    each(entry);
                }
            })?;
        }
        overlay.changes.into_values().flatten().for_each(each);
        Ok(damage)
    }
}
