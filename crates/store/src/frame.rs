//! Frames: how changes stand in a file, each with its own checksums.
//!
//! ```text
//! | mark 1 | kind 1 | partition 2 | length 4 | checksum of the payload 4 | checksum of the header 4 | payload ... |
//! ```
//!
//! All numbers are little-endian. The header has a checksum of its own, so that a damaged payload still says whose it was and how long it
//! is: only that partition is lost to its readers. The checksum of the header is salted with a random number of the file, so that bytes of
//! one file that are stored as a value in another are never taken for a frame of it.
//!
//! A crash leaves what was not flushed in any state: its end may be on the disk and its middle not. So whatever was written after a flush
//! begins with a [`Kind::Safe`]: what cannot be read is *torn* when none follows, and *damaged* when one does.
//!
//! Rejected: one checksum for a whole group of changes. One flipped bit would take all of them.

use crc32fast::Hasher;

/// The bytes of a frame before its payload.
pub(crate) const HEADER: usize = 16;
const MARK: u8 = 0xF1;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A key has a value for ever.
    Put = 1,
    /// A key has a value, and both have an end.
    PutUntil = 2,
    /// A key is gone.
    Remove = 3,
    /// All keys of the partition are gone.
    Clear = 4,
    /// All keys of the map are gone, and so is the map.
    Reset = 5,
    /// The file is whole: nothing comes after this.
    Seal = 6,
    /// In a backup: from here on entries of the map of that name.
    Map = 7,
    /// Everything before this was on the disk when this was written.
    Safe = 8,
    /// At the begin of a file: one before it was left without a seal, and so many bytes of it count.
    Left = 9,
    /// At the begin of a file: whose it is, its number, and the one before it.
    Named = 10,
    /// In a backup: from here on definitions of the data directory.
    Definitions = 11,
    /// A [`Kind::Put`] that the store behind the map has yet to be told of.
    PutUntold = 12,
    /// A [`Kind::PutUntil`] that the store behind the map has yet to be told of.
    PutUntilUntold = 13,
    /// A [`Kind::Remove`] that the store behind the map has yet to be told of.
    RemoveUntold = 14,
    /// The store behind the map has the last change of a key.
    Told = 15,
}

impl Kind {
    pub(crate) fn of(byte: u8) -> Option<Self> {
        use Kind::{Clear, Definitions, Left, Map, Named, Put, PutUntil, Remove, Reset, Safe, Seal};
        use Kind::{PutUntilUntold, PutUntold, RemoveUntold, Told};
        let all = [Put, PutUntil, Remove, Clear, Reset, Seal, Map, Safe, Left, Named, Definitions];
        let mut all = all.into_iter().chain([PutUntold, PutUntilUntold, RemoveUntold, Told]);
        all.find(|kind| *kind as u8 == byte)
    }
}

/// The partition of a frame that is of none.
pub(crate) const NO_PARTITION: u16 = u16::MAX;

/// The largest payload: lengths are 32 bits.
pub(crate) const MOST_PAYLOAD: usize = u32::MAX as usize;

pub(crate) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// Writes a frame behind what is in `out`.
pub(crate) fn write(out: &mut Vec<u8>, salt: u64, kind: Kind, partition: u16, payload: &[&[u8]]) {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    debug_assert!(length <= MOST_PAYLOAD, "an entry is smaller than a message");
    out.reserve(HEADER + length);
    let begin = out.len();
    out.extend([MARK, kind as u8]);
    out.extend(partition.to_le_bytes());
    out.extend((length as u32).to_le_bytes());
    out.extend(checksum(payload).to_le_bytes());
    let header = checksum(&[&salt.to_le_bytes(), &out[begin..]]);
    out.extend(header.to_le_bytes());
    payload.iter().for_each(|part| out.extend_from_slice(part));
}

/// A frame that is as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: Kind,
    pub(crate) partition: u16,
    pub(crate) payload: &'a [u8],
}

/// What stands at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A frame.
    Whole(Frame<'a>),
    /// A frame whose payload is not what was written; of this partition.
    BadPayload { partition: u16, length: usize },
    /// Nothing that can be a frame, up to the next place where one is.
    BadHeader { length: usize },
    /// From here on to the end nothing was flushed: a write was under way.
    Torn,
}

/// The frames of a file, one after the other.
#[derive(Debug)]
pub(crate) struct Frames<'a> {
    bytes: &'a [u8],
    salt: u64,
    at: usize,
    /// Where the last frame is that says that all before it is on the disk; looked for when something is not as it should be.
    safe: Option<Option<usize>>,
    /// So many bytes are known to have been on the disk.
    flushed: usize,
}

impl<'a> Frames<'a> {
    /// Those from `at` on.
    pub(crate) fn new(bytes: &'a [u8], salt: u64, at: usize) -> Self {
        Self { bytes, salt, at, safe: None, flushed: 0 }
    }

    /// Takes what is before `end` for flushed, whatever the frames say: it cannot be torn.
    pub(crate) fn flushed_to(self, end: u64) -> Self {
        Self { flushed: usize::try_from(end).unwrap_or(usize::MAX), ..self }
    }

    fn header(&self, at: usize) -> Option<(Kind, u16, usize, u32)> {
        let header = self.bytes.get(at..)?.first_chunk::<HEADER>()?;
        let word = |from: usize| header[from..from + 4].try_into().map(u32::from_le_bytes).ok();
        let kind = Kind::of(header[1]).filter(|_| header[0] == MARK)?;
        let length = word(4)? as usize;
        let sound = checksum(&[&self.salt.to_le_bytes(), &header[..12]]) == word(12)?;
        let whole = length <= self.bytes.len() - at - HEADER;
        let partition = u16::from_le_bytes([header[2], header[3]]);
        (sound && whole).then_some((kind, partition, length, word(8)?))
    }

    /// True when what was written at `at` was on the disk.
    fn was_safe(&mut self, at: usize) -> bool {
        if at < self.flushed {
            return true;
        }
        let safe = match self.safe {
            Some(known) => known,
            None => {
                let is_safe = |at: &usize| {
                    self.header(*at).is_some_and(|(kind, ..)| matches!(kind, Kind::Safe | Kind::Seal))
                };
                (self.at..self.bytes.len()).rev().find(is_safe)
            }
        };
        self.safe = Some(safe);
        safe.is_some_and(|safe| safe > at)
    }

    fn torn(&mut self) -> Found<'a> {
        self.at = self.bytes.len();
        Found::Torn
    }

    fn read(&mut self) -> Found<'a> {
        let at = self.at;
        let Some((kind, partition, length, expected)) = self.header(at) else {
            if !self.was_safe(at) {
                return self.torn();
            }
            let next = (at + 1..self.bytes.len()).find(|next| self.header(*next).is_some());
            self.at = next.unwrap_or(self.bytes.len());
            return Found::BadHeader { length: self.at - at };
        };
        let payload = &self.bytes[at + HEADER..at + HEADER + length];
        if checksum(&[payload]) == expected {
            self.at += HEADER + length;
            return Found::Whole(Frame { kind, partition, payload });
        }
        if !self.was_safe(at) {
            return self.torn();
        }
        self.at += HEADER + length;
        Found::BadPayload { partition, length: HEADER + length }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = (u64, Found<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        (at < self.bytes.len()).then(|| (at as u64, self.read()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, 7, Kind::Put, 1, &[b"one", b"1"]);
        write(&mut out, 7, Kind::Remove, 2, &[b"two"]);
        write(&mut out, 7, Kind::Clear, 3, &[]);
        out
    }

    fn found(bytes: &[u8]) -> Vec<(u64, Found<'_>)> {
        Frames::new(bytes, 7, 0).collect()
    }

    fn partitions(found: &[(u64, Found<'_>)]) -> Vec<u16> {
        let whole = |found: &(u64, Found<'_>)| match found.1 {
            Found::Whole(frame) if frame.kind != Kind::Safe => Some(frame.partition),
            _ => None,
        };
        found.iter().filter_map(whole).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = three();
        let found = found(&bytes);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].1, Found::Whole(Frame { kind: Kind::Put, partition: 1, payload: b"one1" }));
        assert_eq!(found[2], (39, Found::Whole(Frame { kind: Kind::Clear, partition: 3, payload: b"" })));
        assert_eq!(Frames::new(&bytes, 8, 0).collect::<Vec<_>>(), [(0, Found::Torn)], "another file's");
    }

    #[test]
    fn a_tail_that_is_cut_anywhere_is_torn_there() {
        let bytes = three();
        for end in 0..bytes.len() {
            let found = found(&bytes[..end]);
            let whole = [20, 39, 55].iter().filter(|frame| **frame <= end).count();
            let torn = ![0, 20, 39].contains(&end);
            assert_eq!(found.len(), whole + usize::from(torn), "{end}");
            assert_eq!(found.last().is_some_and(|last| last.1 == Found::Torn), torn, "{end}");
        }
    }

    #[test]
    fn a_flipped_bit_before_a_flush_takes_its_own_frame_and_no_other() {
        for bit in 0..39 * 8 {
            let mut bytes = three();
            write(&mut bytes, 7, Kind::Safe, NO_PARTITION, &[]);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = found(&bytes);
            let expected = if bit < 20 * 8 { [2, 3] } else { [1, 3] };
            assert_eq!(partitions(&found), expected, "bit {bit}");
            assert_eq!(found.len(), 4, "bit {bit}: {found:?}");
        }
    }

    /// Its middle may be missing while its end is there.
    #[test]
    fn what_was_not_flushed_is_torn_from_its_first_bad_frame_on() {
        let mut bytes = three();
        bytes[25] ^= 1;
        let found = found(&bytes);
        assert_eq!((partitions(&found), found.len()), (vec![1], 2));
        assert_eq!(found[1], (20, Found::Torn));
    }
}
