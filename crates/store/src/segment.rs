//! The files of a log: numbered, each begun once, sealed when it is whole, never changed after that.
//!
//! ```text
//! | "FILBERTL" 8 | version 4 | salt 8 | checksum 4 | named | left ... | frames ... | seal |
//! ```
//!
//! Each says whose it is, its number, and the number of the one before it, so that one that stands in another's place is noticed. Those
//! of version 1 do not.
//!
//! Two may be without a seal. The last one: its writer was killed. A member that starts cuts what was torn, seals it, and begins another;
//! so no file is ever appended to by two processes. And one that was *left*, because the disk neither took what was written to it nor let it
//! be cut off again: a later one says so before its first change, and which bytes of it count.

use crate::error::StoreError;
use crate::folder;
use crate::frame::{Found, Frame, Frames, Kind, NO_PARTITION, checksum, write};
use crate::room::Room;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FILBERTL";
const VERSION: u32 = 2;

/// The version of those without a name.
const NAMELESS: u32 = 1;

/// The bytes before the first frame.
pub(crate) const BEGIN: usize = 24;

/// The bytes before the first change, when nothing was left.
#[cfg(test)]
pub(crate) const NAMED: usize = BEGIN + crate::frame::HEADER + 24;

/// What a segment says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    /// The identity of the folder that it belongs to.
    pub(crate) id: u64,
    /// Its number.
    pub(crate) number: u64,
    /// The one before it; 0 when there was none.
    pub(crate) before: u64,
}

/// Where the segment of that number is.
pub(crate) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("log-{number:016x}.seg"))
}

/// The numbers of the segments in a folder, the oldest first.
pub(crate) fn numbers(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let mut numbers: Vec<u64> = folder::names(folder)?
        .iter()
        .filter_map(|name| u64::from_str_radix(name.strip_prefix("log-")?.strip_suffix(".seg")?, 16).ok())
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// What a segment begins with.
pub(crate) fn begin(salt: u64, name: Name) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend(salt.to_le_bytes());
    let sum = checksum(&[&out]);
    out.extend(sum.to_le_bytes());
    let words = [name.id, name.number, name.before].map(u64::to_le_bytes);
    write(&mut out, salt, Kind::Named, NO_PARTITION, &[&words[0], &words[1], &words[2]]);
    out
}

/// Says at the begin of a segment that another one was left, and which bytes of it count.
pub(crate) fn left(out: &mut Vec<u8>, salt: u64, number: u64, end: u64) {
    write(out, salt, Kind::Left, NO_PARTITION, &[&number.to_le_bytes(), &end.to_le_bytes()]);
}

/// How many bytes of a segment are looked at to see which ones it says were left. More are left only by a disk that fails again and again.
const LOOKED_AT: u64 = 64 << 10;

/// The segments that were left, by number, and how many bytes count of each.
pub(crate) fn all_left(folder: &Path, numbers: &[u64]) -> Result<BTreeMap<u64, u64>, StoreError> {
    let mut all = BTreeMap::new();
    for number in numbers {
        let path = path(folder, *number);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes));
        read.map_err(|error| StoreError::io("read", &path, &error))?;
        let Some((salt, _)) = begun(&bytes) else { continue };
        for (_, found) in Frames::new(&bytes, salt, BEGIN) {
            match found {
                Found::Whole(Frame { kind: Kind::Named, .. }) => {}
                Found::Whole(Frame { kind: Kind::Left, payload, .. }) => {
                    all.extend(word(payload, 0).zip(word(payload, 8)))
                }
                _ => break,
            }
        }
    }
    Ok(all)
}

/// True when one of the segments says whose it is: then its folder had a manifest.
pub(crate) fn any_named(folder: &Path, numbers: &[u64]) -> Result<bool, StoreError> {
    for number in numbers {
        let path = path(folder, *number);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(BEGIN as u64).read_to_end(&mut bytes));
        read.map_err(|error| StoreError::io("read", &path, &error))?;
        if begun(&bytes).is_some_and(|(_, version)| version != NAMELESS) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A segment that was read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Its salt and version; `None` when its begin cannot be read.
    begun: Option<(u64, u32)>,
}

impl Segment {
    pub(crate) fn read(folder: &Path, number: u64) -> Result<Self, StoreError> {
        let path = path(folder, number);
        let bytes = std::fs::read(&path).map_err(|error| StoreError::io("read", &path, &error))?;
        let begun = begun(&bytes);
        Ok(Self { path, bytes, begun })
    }

    /// Its frames; `None` when its begin cannot be read.
    pub(crate) fn frames(&self) -> Option<Frames<'_>> {
        Some(Frames::new(&self.bytes, self.salt()?, BEGIN))
    }

    /// The random number at its begin.
    pub(crate) fn salt(&self) -> Option<u64> {
        self.begun.map(|(salt, _)| salt)
    }

    /// True when it was written before segments said whose they are.
    pub(crate) fn is_nameless(&self) -> bool {
        self.begun.is_some_and(|(_, version)| version == NAMELESS)
    }

    /// What it says of itself.
    pub(crate) fn name(&self) -> Option<Name> {
        match self.frames()?.next()? {
            (_, Found::Whole(Frame { kind: Kind::Named, payload, .. })) => {
                Some(Name { id: word(payload, 0)?, number: word(payload, 8)?, before: word(payload, 16)? })
            }
            _ => None,
        }
    }

    /// Cuts what was torn, and seals it.
    pub(crate) fn finish(&self, end: u64, room: &Room) -> Result<(), StoreError> {
        let failed = |error: std::io::Error| StoreError::io("cut the torn end of", &self.path, &error);
        let Some(salt) = self.salt() else {
            std::fs::remove_file(&self.path).map_err(failed)?;
            return folder::sync_parent(&self.path);
        };
        let mut file = OpenOptions::new().write(true).open(&self.path).map_err(failed)?;
        // The cut first: a seal before what was torn would be one in the middle.
        file.set_len(end).and_then(|()| file.sync_all()).map_err(failed)?;
        file.seek(SeekFrom::Start(end)).map_err(failed)?;
        room.write(&mut file, &seal(salt)).and_then(|()| file.sync_data()).map_err(failed)
    }
}

/// What a segment ends with.
pub(crate) fn seal(salt: u64) -> Vec<u8> {
    let mut seal = Vec::new();
    write(&mut seal, salt, Kind::Seal, NO_PARTITION, &[]);
    seal
}

fn word(payload: &[u8], from: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*payload.get(from..)?.first_chunk()?))
}

/// The salt and the version of a segment that begins with these bytes.
fn begun(bytes: &[u8]) -> Option<(u64, u32)> {
    let begin = bytes.first_chunk::<BEGIN>()?;
    let number = |from: usize| begin[from..from + 4].try_into().map(u32::from_le_bytes).ok();
    let (version, sum) = (number(8)?, number(20)?);
    let is_known = matches!(version, NAMELESS | VERSION);
    let sound = begin.starts_with(MAGIC) && is_known && checksum(&[&begin[..20]]) == sum;
    word(begin, 12).filter(|_| sound).map(|salt| (salt, version))
}
