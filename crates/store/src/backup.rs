//! Backups: made of a data directory, also of one that a member uses; restored into one; and a look at either.
//!
//! While a map is read, its snapshot is not changed: a lock keeps folds away, of whatever process. Its log is only ever appended to, so a
//! backup has every change up to some moment, the same as a crash at that moment would leave.
//!
//! These block, and are run by whoever calls them: the command line.

use crate::backup_file::{BackupReader, BackupWriter, Item};
use crate::definitions;
use crate::error::{Damage, StoreError};
use crate::folder;
use crate::folder_list::FolderList;
use crate::manifest::{Found, Manifest};
use crate::marker;
use crate::overlay::{Overlay, place};
use crate::room::Room;
use crate::shelf::{self, Access, SHELVES, Shelf, Stamp};
use crate::store::{self, Recovery, maps_folder};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// Entries that are gathered for a fold while a backup is restored, in bytes.
const GATHERED: usize = 32 << 20;

/// Where a long chore stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The map it is at.
    pub map: String,
    /// Entries of it so far.
    pub entries: u64,
    /// Steps done of `steps`.
    pub done: u64,
    /// Steps in all.
    pub steps: u64,
}

/// What was found of one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapReport {
    /// Its name.
    pub name: String,
    /// Its entries, those whose time is over included.
    pub entries: u64,
    /// The bytes of keys and values.
    pub bytes: u64,
    /// The changes that the store behind the map has yet to be told of.
    pub untold: u64,
    /// Bytes at the end of its log that were never flushed.
    pub torn_bytes: u64,
    /// What cannot be read.
    pub damage: Vec<Damage>,
}

impl MapReport {
    fn new(name: String) -> Self {
        Self { name, entries: 0, bytes: 0, untold: 0, torn_bytes: 0, damage: Vec::new() }
    }

    fn count(&mut self, entry: &crate::Entry) {
        if entry.is_untold() {
            self.untold += 1;
        } else {
            self.entries += 1;
        }
        self.bytes += (entry.key.len() + entry.value.len()) as u64;
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// By name.
    pub maps: Vec<MapReport>,
    /// What is to be known to read them, when there is any.
    pub definitions: Option<MapReport>,
    /// What is wrong with the data directory as a whole.
    pub directory: Option<Damage>,
}

impl Report {
    /// True when nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damage().next().is_none()
    }

    /// All damaged places.
    pub fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.directory.iter().chain(self.all().flat_map(|map| &map.damage))
    }

    /// The definitions, if there are any, and the maps.
    pub fn all(&self) -> impl Iterator<Item = &MapReport> {
        self.definitions.iter().chain(&self.maps)
    }

    /// Entries of all maps.
    pub fn entries(&self) -> u64 {
        self.maps.iter().map(|map| map.entries).sum()
    }
}

/// What comes next while all is read: the definitions, or a map.
enum Part<'a> {
    Definitions,
    Map(&'a str),
}

/// Reads everything in a data directory.
fn read_all(
    directory: &Path,
    progress: &mut dyn FnMut(&Progress),
    mut begin: impl FnMut(Part<'_>) -> Result<(), StoreError>,
    mut each: impl FnMut(&crate::Entry) -> Result<(), StoreError>,
) -> Result<Report, StoreError> {
    // Before the folders: a member that runs makes a folder first, and lists it then.
    let folders = FolderList::find(directory)?;
    let mut report = Report { directory: folders.damage(), ..Report::default() };
    let maps = store::maps_listed(directory, &folders)?;
    let steps = ((maps.len() + 1) * SHELVES) as u64;
    let mut read_one = |name: String, home: &Path, folder: &Path, number: usize| {
        let wrong = match folders.damage_of(home, folder)? {
            // Removed or replaced since the list was read, perhaps: then the list says so by now.
            Some(_) => FolderList::find(directory)?.damage_of(home, folder)?,
            None => None,
        };
        if !folder.is_dir() {
            let damage = wrong.into_iter().collect();
            return Ok(MapReport { damage, ..MapReport::new(name) });
        }
        let recovery = Recovery::read(&name, folder, &Access::Look, 0, None)?;
        let mut report = MapReport { torn_bytes: recovery.torn_bytes, ..MapReport::new(name) };
        report.damage.extend(wrong);
        report.damage.extend_from_slice(&recovery.damage);
        let mut failed = Ok(());
        for (shelf, state) in recovery.into_shelves().into_iter().enumerate() {
            let damage = state.read(|entry| {
                if failed.is_ok() {
                    failed = each(&entry);
                }
                report.count(&entry);
            })?;
            report.damage.extend(damage);
            std::mem::replace(&mut failed, Ok(()))?;
            let done = (number * SHELVES + shelf + 1) as u64;
            progress(&Progress { map: report.name.clone(), entries: report.entries, done, steps });
        }
        Ok(report)
    };
    for (number, (name, folder)) in maps.into_iter().enumerate() {
        begin(Part::Map(&name))?;
        let home = maps_folder(directory).join(folder::of_map(&name));
        report.maps.push(read_one(name, &home, &folder, number)?);
    }
    // Last: what a map has by now, they have too.
    let home = definitions::folder(directory);
    let folder = folder::or_aside(home.clone());
    if folder.is_dir() || folders.damage_of(&home, &folder)?.is_some() {
        begin(Part::Definitions)?;
        let number = report.maps.len();
        report.definitions = Some(read_one(definitions::NAME.to_owned(), &home, &folder, number)?);
    }
    Ok(report)
}

/// Writes a backup of all maps of a data directory to the file `target`. What is damaged is left out, and named in the
/// report; such a backup goes to [`incomplete`](crate::incomplete), and one that is at `target` stays.
pub fn backup(
    directory: impl AsRef<Path>,
    target: impl AsRef<Path>,
    salt: u64,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, StoreError> {
    let writer = std::cell::RefCell::new(BackupWriter::create(target.as_ref(), salt)?);
    let report = read_all(
        directory.as_ref(),
        progress,
        |part| match part {
            Part::Definitions => writer.borrow_mut().definitions(),
            Part::Map(name) => writer.borrow_mut().map(name),
        },
        |entry| writer.borrow_mut().entry(entry),
    )?;
    writer.into_inner().finish(report.is_sound())?;
    Ok(report)
}

/// Reads everything in a data directory or a backup, and says what is there and what is damaged.
pub fn verify(path: impl AsRef<Path>, progress: &mut dyn FnMut(&Progress)) -> Result<Report, StoreError> {
    let path = path.as_ref();
    if !path.is_file() {
        return read_all(path, progress, |_| Ok(()), |_| Ok(()));
    }
    read_backup(path, progress, |_| Ok(()), |_| Ok(()))
}

/// How many entries of a backup are read between two words on where it stands.
const SAY_EVERY: u64 = 10_000;

fn read_backup(
    path: &Path,
    progress: &mut dyn FnMut(&Progress),
    mut begin: impl FnMut(Part<'_>) -> Result<(), StoreError>,
    mut each: impl FnMut(crate::Entry) -> Result<(), StoreError>,
) -> Result<Report, StoreError> {
    let mut reader = BackupReader::open(path)?;
    let (mut report, mut current) = (Report::default(), None::<MapReport>);
    let bad = |problem: &str| StoreError::BadBackup {
        path: path.display().to_string(),
        problem: problem.to_owned(),
    };
    loop {
        let item = reader.next()?;
        let (done, steps) = reader.at();
        if let Some(map) = &current
            && (map.entries.is_multiple_of(SAY_EVERY) || item.is_none())
        {
            progress(&Progress { map: map.name.clone(), entries: map.entries, done, steps });
        }
        let entry = match item {
            Some(Item::Entry(entry)) => entry,
            other => {
                match current.take() {
                    Some(over) if over.name == definitions::NAME && report.definitions.is_none() => {
                        report.definitions = Some(over);
                    }
                    over => report.maps.extend(over),
                }
                match other {
                    Some(Item::Map(name)) => {
                        begin(Part::Map(&name))?;
                        current = Some(MapReport::new(name));
                    }
                    Some(Item::Definitions) => {
                        begin(Part::Definitions)?;
                        current = Some(MapReport::new(definitions::NAME.to_owned()));
                    }
                    Some(Item::Entry(_)) => {}
                    None => return Ok(report),
                }
                continue;
            }
        };
        let Some(map) = &mut current else { return Err(bad("an entry stands before the first map")) };
        map.count(&entry);
        each(entry)?;
    }
}

/// A random number that no other folder has: nothing here runs under a simulated clock.
fn new_id() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A map that is being restored, in a folder beside its own.
struct Restored {
    folder: PathBuf,
    manifest: Manifest,
    shelves: Vec<Overlay>,
    gathered: usize,
}

impl Restored {
    fn new(folder: PathBuf) -> Result<Self, StoreError> {
        if folder.exists() {
            // Left by a restore that did not come to its end.
            std::fs::remove_dir_all(&folder).map_err(|error| StoreError::io("remove", &folder, &error))?;
        }
        folder::make(&folder)?;
        let shelves = std::iter::repeat_with(Overlay::default).take(SHELVES).collect();
        let manifest = Manifest::new(new_id());
        Ok(Self { folder, manifest, shelves, gathered: 0 })
    }

    fn add(&mut self, entry: crate::Entry) -> Result<(), StoreError> {
        self.gathered += entry.bytes();
        let place = place(entry.partition, &entry.key);
        self.shelves[shelf::of(entry.partition)].changes.insert(place, Some(entry));
        if self.gathered > GATHERED { self.fold() } else { Ok(()) }
    }

    fn fold(&mut self) -> Result<(), StoreError> {
        self.gathered = 0;
        let (stamp, room) = (Stamp { id: self.manifest.id, folded: 0 }, Room::default());
        for (shelf, overlay) in Shelf::all(&self.folder).zip(&mut self.shelves) {
            shelf.fold(&self.folder.display().to_string(), &std::mem::take(overlay), stamp, &room)?;
        }
        Ok(())
    }

    /// Folds the rest, and lists the files.
    fn finish(mut self) -> Result<(), StoreError> {
        self.fold()?;
        for shelf in Shelf::all(&self.folder).filter(Shelf::exists) {
            self.manifest.shelves[shelf.number()] = Some(0);
        }
        self.manifest.write(&self.folder, &Room::default())
    }
}

/// The definitions of a data directory that those of a backup are put on top of; and what of them is damaged.
fn definitions_there(
    directory: &Path,
    folders: &FolderList,
) -> Result<(Vec<crate::Entry>, Vec<Damage>), StoreError> {
    let folder = definitions::folder(directory);
    let (mut there, wrong) = (Vec::new(), folders.damage_of(&folder, &folder)?);
    if !folder.is_dir() {
        return Ok((there, wrong.into_iter().collect()));
    }
    let recovery = Recovery::read(definitions::NAME, &folder, &Access::Look, 0, None)?;
    let mut damage: Vec<Damage> = wrong.into_iter().chain(recovery.damage.iter().cloned()).collect();
    for shelf in recovery.into_shelves() {
        damage.extend(shelf.read(|entry| there.push(entry))?);
    }
    Ok((there, damage))
}

/// Puts the maps of a backup into a data directory that no member uses, or a new one. The backup is read to its end before anything is
/// changed. A map that is there already is refused, or replaced as a whole when `replaces`.
///
/// Definitions of the backup are put on top of those that are there, all of them: what they say, and of which map, is not known here. When
/// some that are there are damaged they would be lost: that is refused, or told in the report when `replaces`.
pub fn restore(
    backup: impl AsRef<Path>,
    directory: impl AsRef<Path>,
    replaces: bool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, StoreError> {
    let (backup, directory) = (backup.as_ref(), directory.as_ref());
    let named = read_backup(backup, &mut |_| {}, |_| Ok(()), |_| Ok(()))?;
    let (_lock, folders) = store::claim(directory, &Room::default())?;
    let home = |name: &str| maps_folder(directory).join(folder::of_map(name));
    if let Some(there) = named.maps.iter().find(|map| !replaces && home(&map.name).exists()) {
        let error = std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            format!("the map {:?} is there already; --replace replaces it", there.name),
        );
        return Err(StoreError::io("restore into", directory, &error));
    }
    let (there, lost) = if named.definitions.is_some() {
        definitions_there(directory, &folders)?
    } else {
        Default::default()
    };
    if let Some(damage) = lost.first().filter(|_| !replaces) {
        let error = std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!(
                "some of the definitions there are damaged ({damage}); --replace keeps those that can be read"
            ),
        );
        return Err(StoreError::io("restore into", directory, &error));
    }
    folders.marker().renew(marker::HAS_MANIFESTS, &Room::default())?;
    // No name of a map's folder has a dot.
    let beside = |name: &str| home(name).with_extension("restored");
    let current = std::cell::RefCell::new(None::<Restored>);
    let finish = || current.borrow_mut().take().map_or(Ok(()), Restored::finish);
    let begin = |part: Part<'_>| {
        finish()?;
        let restored = match part {
            Part::Map(name) => Restored::new(beside(name))?,
            Part::Definitions => {
                let mut restored = Restored::new(definitions::folder(directory).with_extension("restored"))?;
                there.iter().cloned().try_for_each(|entry| restored.add(entry))?;
                restored
            }
        };
        *current.borrow_mut() = Some(restored);
        Ok(())
    };
    let each = |entry| current.borrow_mut().as_mut().map_or(Ok(()), |map| map.add(entry));
    let mut report = read_backup(backup, progress, begin, each)?;
    finish()?;
    let maps = report.maps.iter().map(|map| (beside(&map.name), home(&map.name)));
    let folder = definitions::folder(directory);
    // The definitions first: a map that is there can be read.
    let definitions = report.definitions.iter().map(|_| (folder.with_extension("restored"), folder.clone()));
    let mut placed = Vec::new();
    for (new, home) in definitions.chain(maps) {
        let Found::Manifest(manifest) = Manifest::find(&new)? else {
            let error = std::io::Error::new(std::io::ErrorKind::InvalidData, "its list of files is gone");
            return Err(StoreError::io("read back", &new, &error));
        };
        folders.expect(&home, &manifest);
        placed.push((new, home, manifest));
    }
    // Listed with either until all are in their places: a restore that is killed leaves some of them replaced.
    folders.write()?;
    for (new, home, manifest) in placed {
        folder::put_in_place(&new, &home)?;
        folders.replaced(&home, &manifest);
    }
    folders.write()?;
    report.definitions.iter_mut().for_each(|definitions| definitions.damage.extend_from_slice(&lost));
    Ok(report)
}
