//! The list of a data directory's folders: which maps there have to be, so that a folder that is gone, another's or older is noticed.
//!
//! ```text
//! | "FILBERTD" 8 | generation 8 | lost 8 | count 8 | lost 8, identities 8, (id 8, written 8) ..., length 8, name | ... | checksum 4 |
//! ```
//!
//! A folder is known by the identity in its own [`Manifest`], and its age by how often that was written. The order of writes keeps the list
//! true at every moment: a folder is listed when its manifest is on the disk and before its first change is answered. One that is removed
//! is taken off the list before. One that a restore replaces is listed with both identities until the new one is in its place.
//!
//! The list counts only when the marker of the data directory says [`marker::CURRENT`], which is written after the first list: an earlier
//! version, which removes folders and knows no list, refuses the directory from then on.
//!
//! Rejected: a manifest of all files in one place. Each map would wait for the flushes of all others.

use crate::error::{Damage, Reach, StoreError};
use crate::folder;
use crate::frame::checksum;
use crate::manifest::{Found, Manifest};
use crate::marker::{self, Marker};
use crate::room::Room;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

const MAGIC: &[u8; 8] = b"FILBERTD";
pub(crate) const NAME: &str = "folders";
pub(crate) const COPY: &str = "folders-copy";

/// A folder as its own manifest tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stood {
    id: u64,
    /// Its manifest was written so often, at least.
    written: u64,
}

/// A folder that has to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Listed {
    /// It was missing, or not the one that was listed: what it held is lost, whatever stands there now.
    is_lost: bool,
    /// Any of these may stand there; any folder at all when there is none.
    stood: Vec<Stood>,
}

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct List {
    /// Counts how often it was written: of two copies the later one counts.
    generation: u64,
    /// There was another one before it, and nobody knows what that listed.
    is_after_lost: bool,
    /// By path from the data directory.
    folders: BTreeMap<String, Listed>,
}

/// The list of a data directory that is open, or is looked at.
#[derive(Debug)]
pub(crate) struct FolderList {
    directory: PathBuf,
    marker: Marker,
    room: Room,
    state: Mutex<State>,
    /// The number of the last change that is on the disk. Held by whoever writes, taken before the state.
    written: Mutex<u64>,
}

#[derive(Debug)]
struct State {
    list: List,
    /// Counts changes.
    changes: u64,
}

impl FolderList {
    /// Reads the list of a data directory that others may use, and changes nothing.
    pub(crate) fn find(directory: &Path) -> Result<Self, StoreError> {
        let Some(marker) = Marker::find(directory) else {
            let problem = if directory.exists() {
                "it is no data directory of a member, and no backup"
            } else {
                "there is no such file or folder"
            };
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, problem);
            return Err(StoreError::io("read", directory, &error));
        };
        Self::read(directory, marker)
    }

    fn read(directory: &Path, marker: Marker) -> Result<Self, StoreError> {
        let list = List::find(directory, &marker)?;
        let (directory, room, written) = (directory.to_owned(), Room::default(), Mutex::new(0));
        let state = Mutex::new(State { list, changes: 0 });
        Ok(Self { directory, marker, room, state, written })
    }

    /// Opens the list of a data directory that is locked. One that an earlier version wrote gets its list, as soon as there is room for it.
    pub(crate) fn open(directory: &Path, marker: Marker, room: &Room) -> Result<Self, StoreError> {
        let list = Self { room: room.clone(), ..Self::read(directory, marker)? };
        if list.marker.version() < marker::LISTS_FOLDERS || list.is_new() {
            list.lock().changes += 1;
            if let Err(error) = list.write() {
                tracing::warn!(%error, "the list of the folders is not written yet");
            }
        }
        Ok(list)
    }

    /// True when it is on no disk.
    fn is_new(&self) -> bool {
        self.lock().list.generation == 0
    }

    /// The marker of the data directory.
    pub(crate) fn marker(&self) -> &Marker {
        &self.marker
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The path of a folder as it is listed.
    fn path_of(&self, folder: &Path) -> String {
        folder.strip_prefix(&self.directory).unwrap_or(folder).to_string_lossy().into_owned()
    }

    /// The folders that have to be there.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        self.lock().list.folders.keys().map(|path| self.directory.join(path)).collect()
    }

    /// What is wrong with the list itself.
    pub(crate) fn damage(&self) -> Option<Damage> {
        let problem =
            "the list of the folders is missing or damaged, so nobody knows whether all maps are there";
        let is_lost = self.lock().list.is_after_lost;
        is_lost.then(|| self.place(&self.directory.join(NAME), problem))
    }

    fn place(&self, file: &Path, problem: &str) -> Damage {
        let (file, problem) = (file.display().to_string(), problem.to_owned());
        Damage { file, at: 0, length: 0, problem, reach: Reach::Map }
    }

    /// Says why `home` is not the folder that has to be there; `stands` is where it is to be found now.
    pub(crate) fn damage_of(&self, home: &Path, stands: &Path) -> Result<Option<Damage>, StoreError> {
        // The list before the folder: a member that runs writes the folder first.
        let Some(listed) = self.lock().list.folders.get(&self.path_of(home)).cloned() else {
            return Ok(None);
        };
        let problem = if !stands.is_dir() {
            "the folder is missing"
        } else if listed.is_lost {
            "the folder was missing or replaced at an earlier start"
        } else if listed.stood.is_empty() {
            return Ok(None);
        } else {
            match Manifest::find(stands)? {
                // Named by whoever reads the folder.
                Found::Lost => return Ok(None),
                Found::Nothing => "another folder stands there",
                Found::Manifest(manifest) => {
                    match listed.stood.iter().find(|stood| stood.id == manifest.id) {
                        None => "another folder stands there",
                        Some(stood) if stood.written > manifest.generation() => {
                            "an older folder stands there"
                        }
                        Some(_) => return Ok(None),
                    }
                }
            }
        };
        Ok(Some(self.place(home, problem)))
    }

    /// Remembers for good that what a folder held is lost: later starts must not take what is there now for all there was.
    pub(crate) fn lose(&self, home: &Path) -> Result<(), StoreError> {
        let path = self.path_of(home);
        let mut state = self.lock();
        let listed = state.list.folders.entry(path).or_default();
        if std::mem::replace(&mut listed.is_lost, true) {
            return Ok(());
        }
        state.changes += 1;
        drop(state);
        self.write()
    }

    /// Forgets that what a folder held is lost: its map was destroyed. It is on the disk with the next change of the list.
    pub(crate) fn forgive(&self, home: &Path) {
        let path = self.path_of(home);
        let mut state = self.lock();
        if let Some(listed) = state.list.folders.get_mut(&path).filter(|listed| listed.is_lost) {
            *listed = Listed::default();
            state.changes += 1;
        }
    }

    /// Notes a folder that took the place of another as a whole, for the next [`FolderList::write`].
    pub(crate) fn replaced(&self, home: &Path, manifest: &Manifest) {
        let (path, stood) = (self.path_of(home), Stood { id: manifest.id, written: manifest.generation() });
        let mut state = self.lock();
        state.list.folders.insert(path, Listed { is_lost: false, stood: vec![stood] });
        state.changes += 1;
    }

    /// Notes a folder as it is now, for the next [`FolderList::write`]; one that stands in the place of another is a loss.
    pub(crate) fn note(&self, home: &Path, manifest: &Manifest) {
        let (path, stood) = (self.path_of(home), Stood { id: manifest.id, written: manifest.generation() });
        let mut state = self.lock();
        let listed = state.list.folders.entry(path).or_default();
        listed.is_lost |= !listed.stood.is_empty() && listed.stood.iter().all(|known| known.id != stood.id);
        listed.stood = vec![stood];
        state.changes += 1;
    }

    /// Notes that another folder may stand in the place of one that is listed.
    pub(crate) fn expect(&self, home: &Path, manifest: &Manifest) {
        let (path, stood) = (self.path_of(home), Stood { id: manifest.id, written: manifest.generation() });
        let mut state = self.lock();
        let Some(listed) = state.list.folders.get_mut(&path).filter(|listed| !listed.stood.is_empty()) else {
            return;
        };
        listed.stood.push(stood);
        state.changes += 1;
    }

    /// Takes a folder off the list, on the disk: it is removed after that.
    pub(crate) fn remove(&self, home: &Path) -> Result<(), StoreError> {
        let path = self.path_of(home);
        let mut state = self.lock();
        if state.list.folders.remove(&path).is_none() {
            return Ok(());
        }
        state.changes += 1;
        drop(state);
        self.write()
    }

    /// Writes what was noted, if anything, and flushes it. Whoever comes during a write shares the next one. When it fails the same may be tried
    /// again.
    pub(crate) fn write(&self) -> Result<(), StoreError> {
        let wanted = self.lock().changes;
        let mut written = self.written.lock().unwrap_or_else(|broken| broken.into_inner());
        if *written >= wanted {
            return Ok(());
        }
        let (list, changes) = {
            let mut state = self.lock();
            state.list.generation += 1;
            (state.list.clone(), state.changes)
        };
        let bytes = list.bytes();
        for name in [NAME, COPY] {
            folder::replace(&self.directory.join(name), &bytes, &self.room)?;
        }
        folder::sync_parent(&self.directory.join(NAME))?;
        // From here on it counts.
        self.marker.renew(marker::LISTS_FOLDERS, &self.room)?;
        *written = changes;
        Ok(())
    }
}

impl List {
    /// Reads the list of a directory, or its copy; of one that has none because it is older, lists what is there.
    fn find(directory: &Path, marker: &Marker) -> Result<Self, StoreError> {
        if marker.version() < marker::LISTS_FOLDERS {
            return Self::adopted(directory);
        }
        let mut best = None::<Self>;
        for name in [NAME, COPY] {
            let path = directory.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let read = Self::read(&bytes);
                    best = [best, read].into_iter().flatten().max_by_key(|list| list.generation);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io("read", &path, &error)),
            }
        }
        match best {
            Some(list) => Ok(list),
            None => Ok(Self { is_after_lost: true, ..Self::adopted(directory)? }),
        }
    }

    /// One of what is there.
    fn adopted(directory: &Path) -> Result<Self, StoreError> {
        let mut list = Self::default();
        let maps = crate::store::maps_folder(directory);
        let names = folder::names(&maps)?.into_iter().filter(|name| folder::map_of(name).is_some());
        let definitions = crate::definitions::folder(directory);
        for home in names.map(|name| maps.join(name)).chain([definitions]).filter(|home| home.is_dir()) {
            let stood = match Manifest::find(&home)? {
                Found::Manifest(manifest) => vec![Stood { id: manifest.id, written: manifest.generation() }],
                Found::Nothing | Found::Lost => Vec::new(),
            };
            let path = home.strip_prefix(directory).unwrap_or(&home).to_string_lossy().into_owned();
            list.folders.insert(path, Listed { is_lost: false, stood });
        }
        Ok(list)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let Self { generation, is_after_lost, folders } = self;
        let mut words = |words: &[u64]| words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        words(&[*generation, u64::from(*is_after_lost), folders.len() as u64]);
        for (path, Listed { is_lost, stood }) in folders {
            let mut words = |words: &[u64]| words.iter().for_each(|word| out.extend(word.to_le_bytes()));
            words(&[u64::from(*is_lost), stood.len() as u64]);
            stood.iter().for_each(|stood| words(&[stood.id, stood.written]));
            words(&[path.len() as u64]);
            out.extend(path.as_bytes());
        }
        let sum = checksum(&[&out]);
        out.extend(sum.to_le_bytes());
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (said, sum) = bytes.split_last_chunk::<4>()?;
        if checksum(&[said]) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut rest = said.strip_prefix(MAGIC)?;
        let mut list = Self { generation: word(&mut rest)?, ..Self::default() };
        list.is_after_lost = word(&mut rest)? != 0;
        for _ in 0..word(&mut rest)? {
            let mut listed = Listed { is_lost: word(&mut rest)? != 0, stood: Vec::new() };
            for _ in 0..word(&mut rest)? {
                listed.stood.push(Stood { id: word(&mut rest)?, written: word(&mut rest)? });
            }
            let length = usize::try_from(word(&mut rest)?).ok()?;
            let (path, more) = rest.split_at_checked(length)?;
            list.folders.insert(std::str::from_utf8(path).ok()?.to_owned(), listed);
            rest = more;
        }
        rest.is_empty().then_some(list)
    }
}

fn word(rest: &mut &[u8]) -> Option<u64> {
    let (word, more) = rest.split_first_chunk()?;
    *rest = more;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_as_it_was_written_and_no_other() {
        let stood = |id| Stood { id, written: id + 1 };
        let folders = BTreeMap::from([
            ("definitions".to_owned(), Listed { is_lost: true, stood: Vec::new() }),
            ("maps/orders".to_owned(), Listed { is_lost: false, stood: vec![stood(3), stood(9)] }),
        ]);
        let list = List { generation: 7, is_after_lost: false, folders };
        let sound = list.bytes();
        assert_eq!(List::read(&sound).as_ref(), Some(&list));
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(List::read(&bytes), None, "bit {bit}");
        }
        (0..sound.len()).for_each(|end| assert_eq!(List::read(&sound[..end]), None));
    }
}
