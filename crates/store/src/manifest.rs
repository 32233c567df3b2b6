//! The manifest of a map: which files its folder has to have, so that one that is missing, older or another's is noticed.
//!
//! ```text
//! | "FILBERTM" 8 | generation 8 | id 8 | first segment 8 | lost 8 | count 8 | number 8, salt 8, flushed 8 | ... | 16 x shelf 8 | checksum 4 |
//! ```
//!
//! It is written as a whole under another name, flushed, and renamed, twice: one that cannot be read is replaced by its copy. The order is
//! what makes it true at every moment: a segment is listed before its first change is answered, and a segment that was folded is taken
//! off the list before its file is removed. A shelf is listed with the last segment that was folded into it; the shelf itself may say a
//! later one, when the process ended between the two.
//!
//! Beside it, the file `flushed` says how far the newest segment was flushed. It is written after every flush and not flushed itself: a
//! killed process leaves it exact, a machine without power may leave an older one. Either way that much was on the disk.
//!
//! Rejected: the flushed end in the manifest alone. Every group of changes would cost a second flush.

use crate::error::StoreError;
use crate::folder;
use crate::frame::checksum;
use crate::room::Room;
use crate::segment::{self, Segment};
use crate::shelf::{SHELVES, Shelf};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FILBERTM";
const NAME: &str = "manifest";
const COPY: &str = "manifest-copy";
const FLUSHED: &str = "flushed";

/// Stands for a shelf that has no file.
const NO_SHELF: u64 = u64::MAX;

/// A segment that has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) number: u64,
    /// The random number at its begin; 0 when it was not known.
    pub(crate) salt: u64,
    /// So many bytes of it were flushed, at least.
    pub(crate) flushed: u64,
}

/// The files that the folder of a map has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The identity of the folder, written into its segments and shelves.
    pub(crate) id: u64,
    /// Counts how often it was written: of two copies the later one counts.
    generation: u64,
    /// Segments below this number are in the shelves; one that is there is left over.
    pub(crate) first: u64,
    /// There was another one before it, and nobody knows what that listed.
    pub(crate) is_after_lost: bool,
    /// By number.
    pub(crate) segments: Vec<Listed>,
    /// The last segment that was folded into each shelf; `None` when the shelf has no file.
    pub(crate) shelves: [Option<u64>; SHELVES],
}

/// What a folder says of its files.
#[derive(Debug)]
pub(crate) enum Found {
    /// These have to be there.
    Manifest(Box<Manifest>),
    /// Nothing: it is new, or was written before there were manifests.
    Nothing,
    /// There was a manifest, and it cannot be read.
    Lost,
}

impl Manifest {
    /// An empty one.
    pub(crate) fn new(id: u64) -> Self {
        let (segments, shelves) = (Vec::new(), [None; SHELVES]);
        Self { id, generation: 0, first: 0, is_after_lost: false, segments, shelves }
    }

    /// One for a folder that was written before there were manifests: it lists what is there.
    pub(crate) fn adopted(folder: &Path, id: u64) -> Result<Self, StoreError> {
        let mut manifest = Self::new(id);
        for number in segment::numbers(folder)? {
            manifest.begun(number, Segment::read(folder, number)?.salt().unwrap_or_default());
        }
        for shelf in Shelf::all(folder).filter(Shelf::exists) {
            manifest.shelves[shelf.number()] = Some(0);
        }
        Ok(manifest)
    }

    /// One for a folder whose own cannot be read: it lists what is there, and remembers that something may be missing. The identity is
    /// what the files say, or `new_id`.
    pub(crate) fn in_place_of_a_lost_one(folder: &Path, new_id: u64) -> Result<Self, StoreError> {
        let mut known = FlushedEnd::find(folder).map(|flushed| flushed.id);
        let mut segments = Vec::new();
        for number in segment::numbers(folder)? {
            let segment = Segment::read(folder, number)?;
            known = known.or(segment.name().map(|name| name.id));
            segments.push(Listed { number, salt: segment.salt().unwrap_or_default(), flushed: 0 });
        }
        let first = segments.first().map_or(0, |listed| listed.number);
        let id = known.unwrap_or(new_id);
        Ok(Self { is_after_lost: true, first, segments, ..Self::new(id) })
    }

    /// How often it was written.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads the manifest of a folder, or its copy.
    pub(crate) fn find(folder: &Path) -> Result<Found, StoreError> {
        let (mut best, mut is_there) = (None::<Self>, false);
        for name in [NAME, COPY] {
            let path = folder.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    is_there = true;
                    let read = Self::read(&bytes);
                    best = [best, read].into_iter().flatten().max_by_key(|manifest| manifest.generation);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io("read", &path, &error)),
            }
        }
        Ok(match best {
            Some(manifest) => Found::Manifest(Box::new(manifest)),
            None if is_there || folder.join(FLUSHED).exists() => Found::Lost,
            None => Found::Nothing,
        })
    }

    /// Writes it, twice, and flushes that it is there.
    pub(crate) fn write(&mut self, folder: &Path, room: &Room) -> Result<(), StoreError> {
        self.generation += 1;
        let bytes = self.bytes();
        for name in [NAME, COPY] {
            folder::replace(&folder.join(name), &bytes, room)?;
        }
        folder::sync_parent(&folder.join(NAME))
    }

    /// The segment of that number.
    pub(crate) fn segment(&self, number: u64) -> Option<&Listed> {
        self.segments.iter().find(|listed| listed.number == number)
    }

    /// Lists a segment that was begun.
    pub(crate) fn begun(&mut self, number: u64, salt: u64) {
        if self.segment(number).is_none() {
            self.segments.push(Listed { number, salt, flushed: 0 });
        }
    }

    /// Notes how far a segment was flushed, at least.
    pub(crate) fn flushed(&mut self, number: u64, end: u64) {
        if let Some(listed) = self.segments.iter_mut().find(|listed| listed.number == number) {
            listed.flushed = listed.flushed.max(end);
        }
    }

    /// Notes that a segment is in these shelves now and is to go.
    pub(crate) fn folded(&mut self, number: u64, shelves: &[usize]) {
        shelves.iter().for_each(|shelf| self.shelves[*shelf] = Some(number));
        self.first = self.first.max(number + 1);
        self.segments.retain(|listed| listed.number > number);
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut word = |word: u64| out.extend(word.to_le_bytes());
        let (is_after_lost, count) = (u64::from(self.is_after_lost), self.segments.len() as u64);
        [self.generation, self.id, self.first, is_after_lost, count].into_iter().for_each(&mut word);
        for Listed { number, salt, flushed } in &self.segments {
            [*number, *salt, *flushed].into_iter().for_each(&mut word);
        }
        self.shelves.iter().for_each(|folded| word(folded.unwrap_or(NO_SHELF)));
        let sum = checksum(&[&out]);
        out.extend(sum.to_le_bytes());
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (said, sum) = bytes.split_last_chunk::<4>()?;
        if checksum(&[said]) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut words = said.strip_prefix(MAGIC)?.chunks_exact(8).map(|word| {
            let word: [u8; 8] = word.try_into().unwrap_or_default();
            u64::from_le_bytes(word)
        });
        let (generation, id, first) = (words.next()?, words.next()?, words.next()?);
        let (is_after_lost, count) = (words.next()? != 0, words.next()?);
        if words.len() as u64 != count.checked_mul(3)?.checked_add(SHELVES as u64)? {
            return None;
        }
        let mut segments = Vec::new();
        for _ in 0..count {
            let (number, salt, flushed) = (words.next()?, words.next()?, words.next()?);
            segments.push(Listed { number, salt, flushed });
        }
        let mut shelves = [None; SHELVES];
        for shelf in &mut shelves {
            *shelf = words.next().filter(|folded| *folded != NO_SHELF);
        }
        Some(Self { id, generation, first, is_after_lost, segments, shelves })
    }
}

/// How far the newest segment of a map was flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlushedEnd {
    /// The folder's, see [`Manifest::id`].
    pub(crate) id: u64,
    /// The segment.
    pub(crate) number: u64,
    /// So many bytes of it are on the disk.
    pub(crate) end: u64,
}

impl FlushedEnd {
    /// Reads what a folder says; `None` when it says nothing that can be read.
    pub(crate) fn find(folder: &Path) -> Option<Self> {
        let bytes = std::fs::read(folder.join(FLUSHED)).ok()?;
        let (said, sum) = bytes.split_last_chunk::<4>()?;
        let word = |from: usize| Some(u64::from_le_bytes(*said.get(from..)?.first_chunk()?));
        let is_sound = said.len() == 24 && checksum(&[said]) == u32::from_le_bytes(*sum);
        is_sound.then_some(Self { id: word(0)?, number: word(8)?, end: word(16)? })
    }

    fn bytes(self) -> Vec<u8> {
        let mut out: Vec<u8> =
            [self.id, self.number, self.end].into_iter().flat_map(u64::to_le_bytes).collect();
        let sum = checksum(&[&out]);
        out.extend(sum.to_le_bytes());
        out
    }
}

/// Writes [`FlushedEnd`]s: over the one before, without a flush. What fails is not told: the one before is true as well.
#[derive(Debug, Default)]
pub(crate) struct FlushedFile {
    file: Option<File>,
}

impl FlushedFile {
    /// Notes how far a segment was flushed.
    pub(crate) fn note(&mut self, folder: &Path, end: FlushedEnd) {
        if self.file.is_none() {
            let path: PathBuf = folder.join(FLUSHED);
            self.file = OpenOptions::new().write(true).create(true).truncate(false).open(path).ok();
        }
        let Some(file) = &mut self.file else { return };
        let noted = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&end.bytes()));
        if noted.is_err() {
            self.file = None;
        }
    }

    /// The same, on the disk when it comes back: a segment ends, and no flush of the next one says how far it came.
    pub(crate) fn note_for_good(&mut self, folder: &Path, end: FlushedEnd) {
        self.note(folder, end);
        if let Some(file) = &self.file
            && file.sync_data().is_err()
        {
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut manifest = Manifest::new(77);
        manifest.begun(3, 5);
        manifest.begun(4, 6);
        manifest.begun(5, 7);
        manifest.flushed(4, 900);
        manifest.flushed(4, 800);
        assert_eq!(manifest.segment(4).map(|listed| listed.flushed), Some(900));
        manifest.folded(3, &[0, 15]);
        manifest
    }

    #[test]
    fn a_manifest_comes_back_as_it_was_written_and_from_its_copy() {
        let folder = tempfile::tempdir().unwrap();
        let find = || match Manifest::find(folder.path()).unwrap() {
            Found::Manifest(manifest) => Some(*manifest),
            Found::Nothing | Found::Lost => None,
        };
        assert!(matches!(Manifest::find(folder.path()).unwrap(), Found::Nothing));
        let mut written = manifest();
        written.write(folder.path(), &Room::default()).unwrap();
        assert_eq!((written.first, written.segments.len()), (4, 2));
        assert_eq!(find(), Some(written.clone()));
        for name in [NAME, COPY] {
            let path = folder.path().join(name);
            let sound = std::fs::read(&path).unwrap();
            for bit in 0..sound.len() * 8 {
                let mut bytes = sound.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Manifest::read(&bytes), None, "bit {bit}");
            }
            std::fs::remove_file(&path).unwrap();
            assert_eq!(find(), Some(written.clone()));
            std::fs::write(&path, &sound[..20]).unwrap();
            assert_eq!(find(), Some(written.clone()));
            std::fs::write(&path, &sound).unwrap();
        }
        for name in [NAME, COPY] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        assert!(matches!(Manifest::find(folder.path()).unwrap(), Found::Lost));
    }

    #[test]
    fn the_flushed_end_comes_back_or_nothing_does() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(FlushedEnd::find(folder.path()), None);
        let mut file = FlushedFile::default();
        for end in [100, 2_000] {
            let noted = FlushedEnd { id: 1, number: 2, end };
            file.note(folder.path(), noted);
            assert_eq!(FlushedEnd::find(folder.path()), Some(noted));
        }
        let path = folder.path().join(FLUSHED);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[16] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(FlushedEnd::find(folder.path()), None);
    }
}
