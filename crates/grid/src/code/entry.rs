//! Code that works on one entry where the entry is.

use crate::map::copied;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// Reads and changes one entry, alone with it: no other operation on the key happens meanwhile.
///
/// ```
/// use filbert_grid::{Entry, EntryProcessor};
/// use filbert_wire::Data;
///
/// /// Makes a value one byte longer.
/// struct Grow;
///
/// impl EntryProcessor for Grow {
///     fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
///         let mut bytes = entry.value().ok_or("there is no entry")?.payload().to_vec();
///         bytes.push(0);
///         entry.set_value(Data::new(-12, &bytes));
///         Ok(None)
///     }
/// }
/// ```
pub trait EntryProcessor: Send + Sync {
    /// Works on `entry`, which has no value when the key is not in the map. What it gives goes to the caller.
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String>;

    /// True when it takes long on one entry. Then, called for one key, it runs on an executor with a copy of the entry; the key is
    /// locked meanwhile, and readers go on.
    fn is_offloadable(&self) -> bool {
        false
    }
}

/// What a processor decided about an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryChange {
    /// It has this value.
    Set(Data),
    /// It goes.
    Remove,
}

/// One entry in the hands of a processor.
#[derive(Debug)]
pub struct Entry<'a> {
    key: &'a [u8],
    value: Option<&'a [u8]>,
    change: Option<EntryChange>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(key: &'a [u8], value: Option<&'a [u8]>) -> Self {
        Self { key, value, change: None }
    }

    /// The key.
    pub fn key(&self) -> Data {
        copied(self.key)
    }

    /// The value, with what the processor changed; `None` when there is no entry.
    pub fn value(&self) -> Option<Data> {
        match &self.change {
            None => self.value.map(copied),
            Some(EntryChange::Set(value)) => Some(value.clone()),
            Some(EntryChange::Remove) => None,
        }
    }

    /// The bytes of the key, without a copy.
    pub fn key_bytes(&self) -> &[u8] {
        self.key
    }

    /// The bytes of the value, without a copy.
    pub fn value_bytes(&self) -> Option<&[u8]> {
        match &self.change {
            None => self.value,
            Some(EntryChange::Set(value)) => Some(value.as_bytes()),
            Some(EntryChange::Remove) => None,
        }
    }

    /// Gives the key this value.
    pub fn set_value(&mut self, value: Data) {
        self.change = Some(EntryChange::Set(value));
    }

    /// Removes the key.
    pub fn remove(&mut self) {
        self.change = Some(EntryChange::Remove);
    }

    pub(crate) fn into_change(self) -> Option<EntryChange> {
        self.change
    }
}
