//! Changes of a map, as values that are written and read.

use crate::frame::{self, Kind};

/// When an entry ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// How long it was to live after it was written, in milliseconds; the largest number for ever.
    pub ttl_ms: u64,
    /// How long it may be idle.
    pub max_idle_ms: u64,
    /// When it ends, in calendar time; the largest number never.
    pub ends_unix_ms: u64,
}

/// One change of one partition of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A key has this value now.
    Put {
        /// The key, all its bytes.
        key: &'a [u8],
        /// The value, all its bytes.
        value: &'a [u8],
        /// `None`: it lives for ever.
        life: Option<Life>,
    },
    /// A key is gone, for whatever reason.
    Remove {
        /// The key.
        key: &'a [u8],
    },
    /// All keys of the partition are gone.
    Clear,
    /// A [`Change::Put`] that the store behind the map has yet to be told of.
    PutUntold {
        /// The key, all its bytes.
        key: &'a [u8],
        /// The value, all its bytes.
        value: &'a [u8],
        /// The end of the entry; `None`: it lives for ever.
        life: Option<Life>,
    },
    /// A [`Change::Remove`] that the store behind the map has yet to be told of.
    RemoveUntold {
        /// The key.
        key: &'a [u8],
    },
    /// The store behind the map has the last change of a key.
    Told {
        /// The key.
        key: &'a [u8],
    },
}

/// An entry that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its partition.
    pub partition: u16,
    /// The key, all its bytes.
    pub key: Vec<u8>,
    /// The value, all its bytes.
    pub value: Vec<u8>,
    /// `None`: it lives for ever.
    pub life: Option<Life>,
}

/// A change of an entry that the store behind the map had not been told of when its writer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untold {
    /// The partition of the key.
    pub partition: u16,
    /// The key, all its bytes.
    pub key: Vec<u8>,
    /// The value that the store is to have; `None`: the key is to go from it.
    pub value: Option<Vec<u8>>,
}

const LIFE: usize = 24;

/// Added to the number of a partition where changes stand that the store behind the map has yet to be told of. They are kept as entries
/// are, in the same shelf, so that folds and backups need not know of them.
const UNTOLD: u16 = crate::shelf::PARTITIONS / 2;

/// The partition that keeps the untold changes of `partition`.
pub(crate) fn untold_of(partition: u16) -> u16 {
    partition | UNTOLD
}

/// The partition whose entries or untold changes are kept as those of `partition`.
pub(crate) fn partition_of(partition: u16) -> u16 {
    partition & !UNTOLD
}

impl Change<'_> {
    /// Writes it as a frame behind what is in `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, salt: u64, partition: u16) {
        match *self {
            Change::Put { key, value, life } | Change::PutUntold { key, value, life } => {
                let is_told = matches!(self, Change::Put { .. });
                let length = u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes();
                match life {
                    None => {
                        let kind = if is_told { Kind::Put } else { Kind::PutUntold };
                        frame::write(out, salt, kind, partition, &[&length, key, value]);
                    }
                    Some(life) => {
                        let mut ends = [0; LIFE];
                        ends[..8].copy_from_slice(&life.ttl_ms.to_le_bytes());
                        ends[8..16].copy_from_slice(&life.max_idle_ms.to_le_bytes());
                        ends[16..].copy_from_slice(&life.ends_unix_ms.to_le_bytes());
                        let kind = if is_told { Kind::PutUntil } else { Kind::PutUntilUntold };
                        frame::write(out, salt, kind, partition, &[&ends, &length, key, value]);
                    }
                }
            }
            Change::Remove { key } => frame::write(out, salt, Kind::Remove, partition, &[key]),
            Change::RemoveUntold { key } => frame::write(out, salt, Kind::RemoveUntold, partition, &[key]),
            Change::Told { key } => frame::write(out, salt, Kind::Told, partition, &[key]),
            Change::Clear => frame::write(out, salt, Kind::Clear, partition, &[]),
        }
    }
}

impl Untold {
    /// Returns the form in which it is kept: an entry beside those of its partition.
    pub(crate) fn into_entry(self) -> Entry {
        let Self { partition, key, value } = self;
        let is_there = value.is_some();
        let mut value = value.unwrap_or_default();
        value.push(u8::from(is_there));
        Entry { partition: untold_of(partition), key, value, life: None }
    }
}

impl Entry {
    /// As a change.
    pub fn as_change(&self) -> Change<'_> {
        Change::Put { key: &self.key, value: &self.value, life: self.life }
    }

    /// Returns the change that the store behind the map has yet to be told of, or the entry itself when it is one of the map.
    pub fn into_untold(mut self) -> Result<Untold, Self> {
        if !self.is_untold() {
            return Err(self);
        }
        let Self { partition, key, .. } = &mut self;
        let (partition, key) = (partition_of(*partition), std::mem::take(key));
        let is_there = self.value.pop() == Some(1);
        Ok(Untold { partition, key, value: is_there.then_some(self.value) })
    }

    /// Returns true when it is no entry of the map, but a change that the store behind it has yet to be told of.
    pub fn is_untold(&self) -> bool {
        self.partition & UNTOLD != 0
    }

    /// Reads the payload of a put of any [`Kind`]; `None` when it is none or cannot be one.
    pub(crate) fn read(kind: Kind, partition: u16, payload: &[u8]) -> Option<Self> {
        let (life, rest) = match kind {
            Kind::Put | Kind::PutUntold => (None, payload),
            Kind::PutUntil | Kind::PutUntilUntold => {
                let (ends, rest) = payload.split_at_checked(LIFE)?;
                let number = |from: usize| ends[from..from + 8].try_into().map(u64::from_le_bytes).ok();
                let (ttl_ms, max_idle_ms, ends_unix_ms) = (number(0)?, number(8)?, number(16)?);
                (Some(Life { ttl_ms, max_idle_ms, ends_unix_ms }), rest)
            }
            _ => return None,
        };
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (key, value) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { partition, key: key.to_vec(), value: value.to_vec(), life })
    }

    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.key.len() + self.value.len() + frame::HEADER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Found, Frames};

    #[test]
    fn an_entry_comes_back_as_it_went() {
        let life = Some(Life { ttl_ms: 5, max_idle_ms: u64::MAX, ends_unix_ms: 77 });
        for (life, value) in [(None, &b"v"[..]), (life, b""), (life, b"value")] {
            let entry = Entry { partition: 270, key: b"key".to_vec(), value: value.to_vec(), life };
            let mut out = Vec::new();
            entry.as_change().write(&mut out, 1, entry.partition);
            let Some((0, Found::Whole(frame))) = Frames::new(&out, 1, 0).next() else { panic!() };
            assert_eq!(Entry::read(frame.kind, frame.partition, frame.payload), Some(entry));
        }
    }

    /// It stands beside the entries of its partition, in the same shelf, and is none of them.
    #[test]
    fn an_untold_change_comes_back_as_it_went() {
        for value in [None, Some(Vec::new()), Some(b"value".to_vec())] {
            let untold = Untold { partition: 270, key: b"key".to_vec(), value };
            let kept = untold.clone().into_entry();
            assert_eq!(crate::shelf::of(kept.partition), crate::shelf::of(270));
            assert_eq!(partition_of(kept.partition), 270);
            assert_eq!(kept.into_untold(), Ok(untold));
        }
        let entry = Entry { partition: 270, key: b"key".to_vec(), value: vec![1], life: None };
        assert_eq!(entry.clone().into_untold(), Err(entry));
    }

    #[test]
    fn what_is_no_entry_is_none() {
        for payload in [&b""[..], b"abc", &[200, 0, 0, 0, 1], &[0; 23]] {
            assert_eq!(Entry::read(Kind::PutUntil, 0, payload), None);
        }
        assert_eq!(Entry::read(Kind::Put, 0, &[200, 0, 0, 0, 1]), None);
        assert_eq!(Entry::read(Kind::Remove, 0, b"key"), None);
    }
}
