//! Shelves: the snapshot of a map, each with the entries of some partitions, in an embedded database.
//!
//! Why a database: a fold writes what changed, not the whole map, and its transactions make that all or nothing, whatever moment the
//! process is killed at. It is open only while a fold or a start goes on; between them it holds no memory and no file. It has no threads of
//! its own. Several shelves instead of one file: they are read side by side, and damage in one leaves the others.
//!
//! Run on stage `maintenance` (folds), on `mixed` (starts), and by the command line (backups).

use crate::change::{Entry, partition_of};
use crate::error::{Damage, Reach, StoreError};
use crate::folder;
use crate::frame::{HEADER, Kind, checksum};
use crate::overlay::{Overlay, place};
use crate::room::Room;
use crate::sums::{self, Checked};
use filbert_pool::caught;
use redb::backends::InMemoryBackend;
use redb::{Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, TableError};
use std::path::{Path, PathBuf};

/// How many shelves a map has.
pub(crate) const SHELVES: usize = 16;

/// How many partitions there are at most: one half is for entries, the other for changes that the store behind a map has yet to hear of.
pub(crate) const PARTITIONS: u16 = 1_024;

/// What a fold may keep in memory of the database.
const CACHE: usize = 16 << 20;

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// What a shelf says of itself, in one row without a key.
const STAMP: TableDefinition<'_, (), &[u8]> = TableDefinition::new("stamp");

/// What a shelf says of itself: whose it is, and how far the log is folded into it. Written in the transaction that folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The identity of the folder that it belongs to.
    pub(crate) id: u64,
    /// The last segment that was folded into it.
    pub(crate) folded: u64,
}

/// What is known of a shelf before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing: its folder has no manifest.
    Anything,
    /// There may be none; one that is there is this folder's.
    Maybe(u64),
    /// It has to be there, with this stamp or a later one.
    There(Stamp),
}

impl Expected {
    /// Why a shelf that was found with this stamp, or without one, is not the one that was written there.
    fn is_another(self, shelf: usize, found: Option<(Stamp, u64)>) -> Option<&'static str> {
        let (id, folded) = match self {
            Expected::Anything if found.is_some() => return Some("the list of the map's files is missing"),
            Expected::Anything => return None,
            Expected::Maybe(id) => (id, None),
            Expected::There(stamp) => (stamp.id, Some(stamp.folded)),
        };
        match found {
            // Written before shelves had stamps.
            None if folded == Some(0) => None,
            None => Some("the file is not one of this map's"),
            Some((stamp, _)) if stamp.id != id => Some("the file is another map's"),
            Some((_, number)) if number != shelf as u64 => Some("another file of the snapshot stands there"),
            Some((stamp, _)) if folded.is_some_and(|folded| stamp.folded < folded) => {
                Some("an older file stands there")
            }
            Some(_) => None,
        }
    }
}

/// The shelf of a partition.
pub(crate) fn of(partition: u16) -> usize {
    usize::from(partition) % SHELVES
}

/// Whose file it is.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// Ours: what a crash left is repaired, as far as there is room.
    Own(Room),
    /// Someone else's: nothing is written.
    Look,
}

/// One shelf of a map.
#[derive(Debug)]
pub(crate) struct Shelf {
    number: usize,
    path: PathBuf,
}

fn failed(action: &'static str, path: &Path, error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::Io(error) => StoreError::io(action, path, &error),
        other => StoreError::io(action, path, &std::io::Error::other(other.to_string())),
    }
}

impl Shelf {
    pub(crate) fn new(folder: &Path, number: usize) -> Self {
        Self { number, path: folder.join(format!("shelf-{number:02}.redb")) }
    }

    /// All shelves of a map.
    pub(crate) fn all(folder: &Path) -> impl Iterator<Item = Self> + use<'_> {
        (0..SHELVES).map(|number| Self::new(folder, number))
    }

    /// Puts changes on top of what is there, all or none of them.
    pub(crate) fn fold(
        &self,
        map: &str,
        overlay: &Overlay,
        stamp: Stamp,
        room: &Room,
    ) -> Result<(), StoreError> {
        if overlay.is_empty() {
            return Ok(());
        }
        if overlay.clears_all(self.number) && self.path.exists() {
            // Also one that is damaged begins anew.
            sums::forget(&self.path)?;
            std::fs::remove_file(&self.path).map_err(|error| StoreError::io("remove", &self.path, &error))?;
        }
        if self.path.exists() {
            match sums::check(&self.path)? {
                Checked::Sound => {}
                // An earlier fold was interrupted.
                Checked::Unknown => drop(self.repaired(room)?),
                // New sums would hide it.
                Checked::Damaged(places) => {
                    let problem = "a block of the snapshot is not as it was written".to_owned();
                    if let Some(place) = places.into_iter().next() {
                        let damage = self.damage(place, problem);
                        return Err(StoreError::Damaged { map: map.to_owned(), damage });
                    }
                }
            }
        }
        sums::forget(&self.path)?;
        if self.path.exists() {
            self.write(&self.path, overlay, stamp)?;
        } else {
            self.begin(overlay, stamp)?;
        }
        sums::write(&self.path, room)
    }

    /// The first fold: under another name, since a database that is just being made is none yet if the process ends.
    fn begin(&self, overlay: &Overlay, stamp: Stamp) -> Result<(), StoreError> {
        let begun = self.path.with_extension("redb-new");
        match std::fs::remove_file(&begun) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &begun, &error));
            }
            _ => {}
        }
        self.write(&begun, overlay, stamp)?;
        std::fs::rename(&begun, &self.path).map_err(|error| StoreError::io("rename", &begun, &error))?;
        folder::sync_parent(&self.path)
    }

    /// Makes the changes in the database at `path`, in one transaction.
    fn write(&self, path: &Path, overlay: &Overlay, stamp: Stamp) -> Result<(), StoreError> {
        self.guarded("fold into", || {
            let error = |error: redb::Error| failed("fold into", path, error);
            let database = Builder::new().set_cache_size(CACHE).create(path).map_err(|e| error(e.into()))?;
            let changes = database.begin_write().map_err(|e| error(e.into()))?;
            {
                let mut table = changes.open_table(ENTRIES).map_err(|e| error(e.into()))?;
                for partition in &overlay.cleared {
                    let (from, to) = (place(*partition, b""), place(partition.saturating_add(1), b""));
                    table.retain_in(&from[..]..&to[..], |_, _| false).map_err(|e| error(e.into()))?;
                }
                for (place, entry) in &overlay.changes {
                    match entry {
                        Some(entry) => table.insert(&place[..], &row(place, entry)[..]),
                        None => table.remove(&place[..]),
                    }
                    .map_err(|e| error(e.into()))?;
                }
            }
            {
                let mut said = changes.open_table(STAMP).map_err(|e| error(e.into()))?;
                let words = [stamp.id, self.number as u64, stamp.folded].map(u64::to_le_bytes);
                said.insert((), &words.concat()[..]).map_err(|e| error(e.into()))?;
            }
            changes.commit().map_err(|e| error(e.into()))
        })
    }

    /// What panics in the database is an error of this shelf, and of nothing else.
    fn guarded<T>(
        &self,
        action: &'static str,
        run: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        caught(run).unwrap_or_else(|message| {
            Err(StoreError::io(action, &self.path, &std::io::Error::other(message)))
        })
    }

    /// Gives every entry to `each`; what cannot be read is damage. Each entry that is given is sound, also when another is not.
    pub(crate) fn read(
        &self,
        access: &Access,
        expected: Expected,
        damage: &mut Vec<Damage>,
        mut each: impl FnMut(&[u8], Entry),
    ) -> Result<(), StoreError> {
        if !self.path.exists() {
            if matches!(expected, Expected::There(_)) {
                damage.push(self.damage((0, 0), "the file is missing".to_owned()));
            }
            return Ok(());
        }
        let database = match sums::check(&self.path)? {
            Checked::Damaged(places) => {
                let problem = "a block of the snapshot is not as it was written";
                damage.extend(places.into_iter().map(|place| self.damage(place, problem.to_owned())));
                return Ok(());
            }
            Checked::Sound => self.opened(),
            Checked::Unknown => match access {
                // A disk without room is no damage: what the repair would give is read without writing it.
                Access::Own(room) => self.repaired(room).or_else(|error| {
                    tracing::warn!(file = %self.path.display(), %error, "a part of the snapshot is repaired in memory only");
                    self.copied()
                }),
                Access::Look => self.copied(),
            },
        };
        let read = database.and_then(|database| {
            self.guarded("read", || {
                let error = |error: redb::Error| failed("read", &self.path, error);
                let reading = database.begin_read().map_err(|e| error(e.into()))?;
                let found = match reading.open_table(STAMP) {
                    Ok(said) => {
                        said.get(()).map_err(|e| error(e.into()))?.and_then(|said| stamp_of(said.value()))
                    }
                    Err(TableError::TableDoesNotExist(_)) => None,
                    Err(missing) => return Err(error(missing.into())),
                };
                if let Some(problem) = expected.is_another(self.number, found) {
                    damage.push(self.damage((0, length_of(&self.path)), problem.to_owned()));
                    return Ok(());
                }
                let table = match reading.open_table(ENTRIES) {
                    Ok(table) => table,
                    Err(TableError::TableDoesNotExist(_)) => return Ok(()),
                    Err(missing) => return Err(error(missing.into())),
                };
                for row in table.iter().map_err(|e| error(e.into()))? {
                    let (place, row) = row.map_err(|e| error(e.into()))?;
                    match entry(place.value(), row.value()) {
                        Some(entry) => each(place.value(), entry),
                        None => damage.push(self.bad_row(place.value(), row.value())),
                    }
                }
                Ok(())
            })
        });
        if let Err(unreadable) = read {
            damage.push(self.damage((0, length_of(&self.path)), unreadable.to_string()));
        }
        Ok(())
    }

    /// True when it has a file.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Its number.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    fn damage(&self, (at, length): (u64, u64), problem: String) -> Damage {
        Damage {
            file: self.path.display().to_string(),
            at,
            length,
            problem,
            reach: Reach::Shelf(self.number),
        }
    }

    fn bad_row(&self, place: &[u8], row: &[u8]) -> Damage {
        let reach = match place.first_chunk::<2>().map(|partition| u16::from_be_bytes(*partition)) {
            Some(partition) if of(partition) == self.number => Reach::Partition(partition_of(partition)),
            _ => Reach::Shelf(self.number),
        };
        let problem = "an entry of the snapshot is not as it was written".to_owned();
        Damage { reach, ..self.damage((0, row.len() as u64), problem) }
    }

    /// Opens a file that is known to be sound, without writing to it.
    fn opened(&self) -> Result<Box<dyn Readable>, StoreError> {
        self.guarded("open", || {
            let opened = Builder::new().set_cache_size(CACHE).open_read_only(&self.path);
            opened
                .map(|opened| Box::new(opened) as Box<dyn Readable>)
                .map_err(|error| failed("open", &self.path, error))
        })
    }

    /// Opens a file that was closed in the middle of a change: the change is undone or done, as the database finds.
    fn repaired(&self, room: &Room) -> Result<Box<dyn Readable>, StoreError> {
        self.guarded("repair", || {
            let mut database = Builder::new()
                .set_cache_size(CACHE)
                .create(&self.path)
                .map_err(|error| failed("repair", &self.path, error))?;
            database.check_integrity().map_err(|error| failed("repair", &self.path, error))?;
            drop(database);
            sums::write(&self.path, room)
        })?;
        self.opened()
    }

    /// The same for someone else's file: in a copy.
    fn copied(&self) -> Result<Box<dyn Readable>, StoreError> {
        self.guarded("read", || {
            let bytes =
                std::fs::read(&self.path).map_err(|error| StoreError::io("read", &self.path, &error))?;
            let copy = InMemoryBackend::new();
            let copied = copy.set_len(bytes.len() as u64).and_then(|()| copy.write(0, &bytes));
            copied.map_err(|error| StoreError::io("copy", &self.path, &error))?;
            let mut database = Builder::new()
                .create_with_backend(copy)
                .map_err(|error| failed("read", &self.path, error))?;
            database.check_integrity().map_err(|error| failed("read", &self.path, error))?;
            Ok(Box::new(database) as Box<dyn Readable>)
        })
    }
}

/// A database, whatever it was opened for.
trait Readable {
    fn begin_read(&self) -> Result<redb::ReadTransaction, redb::TransactionError>;
}

impl Readable for Database {
    fn begin_read(&self) -> Result<redb::ReadTransaction, redb::TransactionError> {
        ReadableDatabase::begin_read(self)
    }
}

impl Readable for redb::ReadOnlyDatabase {
    fn begin_read(&self) -> Result<redb::ReadTransaction, redb::TransactionError> {
        ReadableDatabase::begin_read(self)
    }
}

fn length_of(path: &Path) -> u64 {
    std::fs::metadata(path).map(|file| file.len()).unwrap_or_default()
}

/// An entry as it stands in the database: a checksum over place and entry, and the entry as a frame has it.
fn row(place: &[u8], entry: &Entry) -> Vec<u8> {
    let mut frame = Vec::new();
    entry.as_change().write(&mut frame, 0, entry.partition);
    let mut row = vec![0; 4];
    row.push(frame[1]);
    row.extend_from_slice(&frame[HEADER..]);
    let sum = checksum(&[place, &row[4..]]);
    row[..4].copy_from_slice(&sum.to_le_bytes());
    row
}

/// The stamp and the number of the shelf that has it.
fn stamp_of(row: &[u8]) -> Option<(Stamp, u64)> {
    let word = |from: usize| Some(u64::from_le_bytes(*row.get(from..)?.first_chunk()?));
    Some((Stamp { id: word(0)?, folded: word(16)? }, word(8)?))
}

fn entry(at: &[u8], row: &[u8]) -> Option<Entry> {
    let partition = u16::from_be_bytes(*at.first_chunk::<2>()?);
    let (sum, rest) = row.split_first_chunk::<4>()?;
    let (kind, payload) = rest.split_first()?;
    if checksum(&[at, rest]) != u32::from_le_bytes(*sum) {
        return None;
    }
    Entry::read(Kind::of(*kind)?, partition, payload).filter(|entry| place(partition, &entry.key) == at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPED: Stamp = Stamp { id: 7, folded: 2 };

    fn own() -> Access {
        Access::Own(Room::default())
    }

    fn filled(folder: &Path, keys: std::ops::Range<u32>) -> Shelf {
        let shelf = Shelf::new(folder, 3);
        let mut overlay = Overlay::default();
        for key in keys {
            let key = key.to_be_bytes().to_vec();
            let entry = Entry { partition: 3, value: key.repeat(5), key: key.clone(), life: None };
            overlay.changes.insert(place(3, &key), Some(entry));
        }
        shelf.fold("m", &overlay, STAMPED, &Room::default()).unwrap();
        shelf
    }

    fn read(shelf: &Shelf, access: Access) -> (usize, Vec<Damage>) {
        let (mut count, mut damage) = (0, Vec::new());
        shelf.read(&access, Expected::Maybe(STAMPED.id), &mut damage, |_, _| count += 1).unwrap();
        (count, damage)
    }

    #[test]
    fn folds_lie_on_top_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = filled(folder.path(), 0..100);
        filled(folder.path(), 50..150);
        assert_eq!(read(&shelf, own()), (150, Vec::new()));
        let mut overlay = Overlay::default();
        overlay.changes.insert(place(3, &7_u32.to_be_bytes()), None);
        shelf.fold("m", &overlay, STAMPED, &Room::default()).unwrap();
        assert_eq!(read(&shelf, Access::Look), (149, Vec::new()));
        overlay.cleared.insert(3);
        shelf.fold("m", &overlay, STAMPED, &Room::default()).unwrap();
        assert_eq!(read(&shelf, own()), (0, Vec::new()));
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread that looks on, as a kill would come: at any moment"
    )]
    fn a_shelf_is_there_only_when_it_is_whole() {
        let folders: Vec<_> = (0..40).map(|_| tempfile::tempdir().unwrap()).collect();
        let paths: Vec<_> = folders.iter().map(|folder| Shelf::new(folder.path(), 3).path).collect();
        let whole = std::thread::spawn(move || {
            // What a kill at any moment would leave.
            for path in paths {
                let bytes = loop {
                    match std::fs::read(&path) {
                        Ok(bytes) => break bytes,
                        Err(_) => std::thread::yield_now(),
                    }
                };
                let copy = tempfile::tempdir().unwrap();
                let shelf = Shelf::new(copy.path(), 3);
                std::fs::write(&shelf.path, bytes).unwrap();
                assert_eq!(read(&shelf, own()), (100, Vec::new()));
            }
        });
        folders.iter().for_each(|folder| drop(filled(folder.path(), 0..100)));
        whole.join().unwrap();
    }

    #[test]
    fn a_first_fold_begins_anew_where_one_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shelf-03.redb-new"), [0; 5_000]).unwrap();
        assert_eq!(read(&Shelf::new(folder.path(), 3), own()), (0, Vec::new()));
        let shelf = filled(folder.path(), 0..100);
        assert_eq!(read(&shelf, own()), (100, Vec::new()));
        let left: Vec<String> = folder::names(folder.path()).unwrap();
        assert_eq!(left, ["shelf-03.redb", "shelf-03.sums"]);
    }

    #[test]
    fn without_sums_the_database_looks_itself() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = filled(folder.path(), 0..100);
        sums::forget(&shelf.path).unwrap();
        assert_eq!(read(&shelf, Access::Look), (100, Vec::new()));
        assert_eq!(sums::check(&shelf.path).unwrap(), Checked::Unknown, "a look writes nothing");
        assert_eq!(read(&shelf, own()), (100, Vec::new()));
        assert_eq!(sums::check(&shelf.path).unwrap(), Checked::Sound);
    }

    #[test]
    fn a_flipped_bit_is_damage_and_nothing_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = filled(folder.path(), 0..100);
        let mut bytes = std::fs::read(&shelf.path).unwrap();
        bytes[5_000] ^= 1;
        std::fs::write(&shelf.path, bytes).unwrap();
        let (count, damage) = read(&shelf, own());
        assert_eq!((count, damage.len(), damage[0].at), (0, 1, 0));
        assert!(damage[0].reaches(3) && damage[0].reaches(19) && !damage[0].reaches(4));
        let mut overlay = Overlay::default();
        overlay.changes.insert(place(3, &7_u32.to_be_bytes()), None);
        let refused = shelf.fold("m", &overlay, STAMPED, &Room::default()).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        assert_eq!(read(&shelf, own()).1.len(), 1, "a fold hides no damage");
    }
}
