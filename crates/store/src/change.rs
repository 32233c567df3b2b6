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

const LIFE: usize = 24;

impl Change<'_> {
    /// Writes it as a frame behind what is in `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, salt: u64, partition: u16) {
        match *self {
            Change::Put { key, value, life } => {
                let length = u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes();
                match life {
                    None => frame::write(out, salt, Kind::Put, partition, &[&length, key, value]),
                    Some(life) => {
                        let mut ends = [0; LIFE];
                        ends[..8].copy_from_slice(&life.ttl_ms.to_le_bytes());
                        ends[8..16].copy_from_slice(&life.max_idle_ms.to_le_bytes());
                        ends[16..].copy_from_slice(&life.ends_unix_ms.to_le_bytes());
                        frame::write(out, salt, Kind::PutUntil, partition, &[&ends, &length, key, value]);
                    }
                }
            }
            Change::Remove { key } => frame::write(out, salt, Kind::Remove, partition, &[key]),
            Change::Clear => frame::write(out, salt, Kind::Clear, partition, &[]),
        }
    }
}

impl Entry {
    /// As a change.
    pub fn as_change(&self) -> Change<'_> {
        Change::Put { key: &self.key, value: &self.value, life: self.life }
    }

    /// Reads the payload of a [`Kind::Put`] or [`Kind::PutUntil`]; `None` when it is neither or cannot be one.
    pub(crate) fn read(kind: Kind, partition: u16, payload: &[u8]) -> Option<Self> {
        let (life, rest) = match kind {
            Kind::Put => (None, payload),
            Kind::PutUntil => {
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

    #[test]
    fn what_is_no_entry_is_none() {
        for payload in [&b""[..], b"abc", &[200, 0, 0, 0, 1], &[0; 23]] {
            assert_eq!(Entry::read(Kind::PutUntil, 0, payload), None);
        }
        assert_eq!(Entry::read(Kind::Put, 0, &[200, 0, 0, 0, 1]), None);
        assert_eq!(Entry::read(Kind::Remove, 0, b"key"), None);
    }
}
