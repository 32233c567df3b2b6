//! The files of a log: numbered, each begun once, sealed when it is whole, never changed after that.
//!
//! ```text
//! | "FILBERTL" 8 | version 4 | salt 8 | checksum 4 | left ... | frames ... | seal |
//! ```
//!
//! Two may be without a seal. The last one: its writer was killed. A member that starts cuts what was torn, seals it, and begins another;
//! so no file is ever appended to by two processes. And one that was *left*, because the disk neither took what was written to it nor let it
//! be cut off again: a later one says so before its first change, and which bytes of it count.

use crate::error::StoreError;
use crate::folder;
use crate::frame::{Found, Frame, Frames, Kind, NO_PARTITION, checksum, write};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FILBERTL";
const VERSION: u32 = 1;

/// The bytes before the first frame.
pub(crate) const BEGIN: usize = 24;

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
pub(crate) fn begin(salt: u64) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend(salt.to_le_bytes());
    let sum = checksum(&[&out]);
    out.extend(sum.to_le_bytes());
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
        let Some(salt) = salt(&bytes) else { continue };
        for (_, found) in Frames::new(&bytes, salt, BEGIN) {
            let Found::Whole(Frame { kind: Kind::Left, payload, .. }) = found else { break };
            let word = |from: usize| Some(u64::from_le_bytes(*payload.get(from..)?.first_chunk()?));
            all.extend(word(0).zip(word(8)));
        }
    }
    Ok(all)
}

/// A segment that was read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// `None` when its begin cannot be read.
    salt: Option<u64>,
}

impl Segment {
    pub(crate) fn read(folder: &Path, number: u64) -> Result<Self, StoreError> {
        let path = path(folder, number);
        let bytes = std::fs::read(&path).map_err(|error| StoreError::io("read", &path, &error))?;
        let salt = salt(&bytes);
        Ok(Self { path, bytes, salt })
    }

    /// Its frames; `None` when its begin cannot be read.
    pub(crate) fn frames(&self) -> Option<Frames<'_>> {
        Some(Frames::new(&self.bytes, self.salt?, BEGIN))
    }

    /// Cuts what was torn, and seals it.
    pub(crate) fn finish(&self, end: u64) -> Result<(), StoreError> {
        let failed = |error: std::io::Error| StoreError::io("cut the torn end of", &self.path, &error);
        let Some(salt) = self.salt else {
            std::fs::remove_file(&self.path).map_err(failed)?;
            return folder::sync_parent(&self.path);
        };
        let mut file = OpenOptions::new().write(true).open(&self.path).map_err(failed)?;
        // The cut first: a seal before what was torn would be one in the middle.
        file.set_len(end).and_then(|()| file.sync_all()).map_err(failed)?;
        file.seek(SeekFrom::Start(end)).map_err(failed)?;
        file.write_all(&seal(salt)).and_then(|()| file.sync_data()).map_err(failed)
    }
}

/// What a segment ends with.
pub(crate) fn seal(salt: u64) -> Vec<u8> {
    let mut seal = Vec::new();
    write(&mut seal, salt, Kind::Seal, NO_PARTITION, &[]);
    seal
}

fn salt(bytes: &[u8]) -> Option<u64> {
    let begin = bytes.first_chunk::<BEGIN>()?;
    let sum = begin[20..].try_into().map(u32::from_le_bytes).ok()?;
    let sound =
        begin.starts_with(MAGIC) && begin[8..12] == VERSION.to_le_bytes() && checksum(&[&begin[..20]]) == sum;
    begin[12..20].try_into().map(u64::from_le_bytes).ok().filter(|_| sound)
}
