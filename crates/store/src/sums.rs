//! Checksums of a whole file, block by block, in a file beside it.
//!
//! The embedded database checks its own pages only when it is asked to, and trusts them otherwise: a flipped bit can give a wrong answer,
//! a panic, or an allocation that ends the process. So nothing of it is opened before each of its blocks is known to be what was written;
//! that also says where the damage is.
//!
//! While the database is changed there are no sums: then it was closed in the middle of a change, and its own recovery is asked.

use crate::error::StoreError;
use crate::folder;
use crate::frame::checksum;
use crate::room::Room;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FILBERTS";
const BLOCK: usize = 64 << 10;

/// What the sums say of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is what was written.
    Sound,
    /// These places are not: where they begin, and how many bytes.
    Damaged(Vec<(u64, u64)>),
    /// There are none.
    Unknown,
}

fn beside(file: &Path) -> PathBuf {
    file.with_extension("sums")
}

/// Forgets the sums of a file that is about to change.
pub(crate) fn forget(file: &Path) -> Result<(), StoreError> {
    let path = beside(file);
    match std::fs::remove_file(&path) {
        Ok(()) => folder::sync_parent(&path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io("remove", &path, &error)),
    }
}

/// The length of a file and the sum of each block.
fn compute(file: &Path) -> Result<(u64, Vec<u32>), StoreError> {
    let failed = |error: std::io::Error| StoreError::io("read", file, &error);
    let mut reader = File::open(file).map_err(failed)?;
    let (mut length, mut sums, mut block) = (0, Vec::new(), vec![0; BLOCK]);
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match reader.read(&mut block[filled..]).map_err(failed)? {
                0 => break,
                read => filled += read,
            }
        }
        if filled == 0 {
            return Ok((length, sums));
        }
        length += filled as u64;
        sums.push(checksum(&[&block[..filled]]));
    }
}

/// Writes the sums of a file that is as it should be, and on the disk.
pub(crate) fn write(file: &Path, room: &Room) -> Result<(), StoreError> {
    let (length, sums) = compute(file)?;
    let mut out = MAGIC.to_vec();
    out.extend(length.to_le_bytes());
    sums.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
    let whole = checksum(&[&out]);
    out.extend(whole.to_le_bytes());
    let path = beside(file);
    folder::replace(&path, &out, room)?;
    folder::sync_parent(&path)
}

/// Compares a file with its sums.
pub(crate) fn check(file: &Path) -> Result<Checked, StoreError> {
    let known = match std::fs::read(beside(file)) {
        Ok(known) => known,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Checked::Unknown),
        Err(error) => return Err(StoreError::io("read", &beside(file), &error)),
    };
    // Sums that are damaged themselves say nothing.
    let Some((said, whole)) = known.split_last_chunk::<4>() else { return Ok(Checked::Unknown) };
    if checksum(&[said]) != u32::from_le_bytes(*whole) || said.len() < 16 || !said.starts_with(MAGIC) {
        return Ok(Checked::Unknown);
    }
    let length = said[8..16].try_into().map(u64::from_le_bytes).unwrap_or_default();
    let expected: Vec<u32> =
        said[16..].chunks_exact(4).filter_map(|sum| sum.try_into().map(u32::from_le_bytes).ok()).collect();
    let (found, sums) = compute(file)?;
    let at = |block: usize| (block * BLOCK) as u64;
    let mut bad: Vec<(u64, u64)> = expected
        .iter()
        .enumerate()
        .filter(|(block, sum)| sums.get(*block) != Some(sum))
        .map(|(block, _)| (at(block), (length - at(block)).min(BLOCK as u64)))
        .collect();
    if found > length {
        bad.push((length, found - length));
    }
    Ok(if bad.is_empty() { Checked::Sound } else { Checked::Damaged(bad) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_file_is_seen_and_placed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shelf-00.redb");
        let bytes: Vec<u8> = (0..2 * BLOCK + 10).map(|byte| byte as u8).collect();
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(check(&file).unwrap(), Checked::Unknown);
        write(&file, &Room::default()).unwrap();
        assert_eq!(check(&file).unwrap(), Checked::Sound);
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = bytes.clone();
            change(&mut changed);
            std::fs::write(&file, changed).unwrap();
            check(&file).unwrap()
        };
        let second = Checked::Damaged(vec![(BLOCK as u64, BLOCK as u64)]);
        assert_eq!(with(&|bytes| bytes[BLOCK + 5] ^= 8), second);
        assert_eq!(with(&|bytes| bytes.truncate(2 * BLOCK)), Checked::Damaged(vec![(2 * BLOCK as u64, 10)]));
        let longer = with(&|bytes| bytes.push(0));
        assert!(
            matches!(longer, Checked::Damaged(places) if places.len() == 2),
            "the last block, and a byte more"
        );
        forget(&file).unwrap();
        assert_eq!(check(&file).unwrap(), Checked::Unknown);
    }
}
