//! What a member has to know to read and query its maps on disk: Compact schemas and indexes, kept in its data directory.
//!
//! Each is on disk before whoever sent it is answered, so before an entry that needs it can be written. There is nothing of it without maps on disk.

use super::index::{BitmapOptions, IndexKind, IndexSettings, UniqueKeyTransformation};
use crate::error::GridError;
use crate::invocation::Invocation;
use filbert_pool::{StageKind, Stages};
use filbert_store as store;
use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a promise of a definition is called.
const DEFINE: &str = "grid.define";

/// The first byte of a key.
const SCHEMA: u8 = 1;
const INDEX: u8 = 2;

/// One that was read.
#[derive(Debug, PartialEq)]
pub(super) enum Definition {
    Schema(Schema),
    /// The map, and its index.
    Index(String, IndexSettings),
}

/// The definitions on disk; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct DefinitionsOnDisk {
    stages: Stages,
    disk: store::Definitions,
    stored: Arc<Mutex<Stored>>,
}

/// What is known to be on disk.
#[derive(Debug, Default)]
struct Stored {
    /// The keys of those that are there.
    keys: HashSet<Vec<u8>>,
    /// The keys that are on their way there, each with the number of the last put: a removal takes it out, so that a put whose answer comes
    /// after it does not count.
    under_way: HashMap<Vec<u8>, u64>,
    /// The number of the next put.
    next: u64,
}

impl Stored {
    /// The put of that number is over.
    fn end(&mut self, key: Vec<u8>, number: u64, is_stored: bool) {
        if self.under_way.get(&key) != Some(&number) {
            return;
        }
        self.under_way.remove(&key);
        if is_stored {
            self.keys.insert(key);
        }
    }
}

impl DefinitionsOnDisk {
    pub(super) fn new(stages: &Stages, disk: store::Definitions) -> Self {
        Self { stages: stages.clone(), disk, stored: Arc::default() }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        locked(&self.stored)
    }

    /// Notes that one was found on disk.
    pub(super) fn found(&self, key: Vec<u8>) {
        self.stored().keys.insert(key);
    }

    /// Writes a definition; done when it is on disk.
    pub(super) fn put(&self, key: Vec<u8>, value: &[u8]) -> Invocation<()> {
        // Both under the lock: the order of puts and removals on disk is that of what is known of them.
        let mut known = self.stored();
        if known.keys.contains(&key) {
            return Invocation::ready(Ok(()));
        }
        if let Some(refused) = self.disk.refuses() {
            return Invocation::ready(Err(GridError::Store(refused)));
        }
        let Some(pending) = self.disk.put(&key, value) else { return Invocation::ready(Ok(())) };
        let number = known.next;
        known.next += 1;
        known.under_way.insert(key.clone(), number);
        drop(known);
        let (promise, later) = self.stages.promise(StageKind::Mixed, DEFINE);
        let stored = Arc::clone(&self.stored);
        pending.then(move |result| {
            locked(&stored).end(key, number, result.is_ok());
            promise.keep(result.map_err(GridError::Store));
        });
        Invocation::later(later)
    }

    /// Removes one; nobody waits for that.
    pub(super) fn remove(&self, key: &[u8]) {
        let mut known = self.stored();
        known.keys.remove(key);
        known.under_way.remove(key);
        let removed = self.disk.remove(key);
        drop(known);
        drop(removed);
    }
}

fn locked(stored: &Mutex<Stored>) -> MutexGuard<'_, Stored> {
    stored.lock().unwrap_or_else(|broken| broken.into_inner())
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

pub(super) fn schema_key(schema: &Schema) -> Vec<u8> {
    [&[SCHEMA][..], &schema.id().to_be_bytes()].concat()
}

pub(super) fn schema_value(schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, schema.type_name());
    out.extend((schema.fields().len() as u32).to_le_bytes());
    for field in schema.fields() {
        out.extend((field.kind.code() as u32).to_le_bytes());
        text(&mut out, &field.name);
    }
    out
}

pub(super) fn index_key(map: &str, index: &IndexSettings) -> Vec<u8> {
    let mut out = vec![INDEX];
    text(&mut out, map);
    out.extend_from_slice(index.name().as_bytes());
    out
}

pub(super) fn index_value(map: &str, index: &IndexSettings) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, map);
    text(&mut out, index.name());
    text(&mut out, index.kind().as_str());
    out.extend((index.attributes().len() as u32).to_le_bytes());
    index.attributes().iter().for_each(|attribute| text(&mut out, attribute.as_str()));
    if let Some(options) = index.bitmap_options() {
        text(&mut out, options.unique_key.as_str());
        text(&mut out, options.transformation.as_word());
    }
    out
}

/// Reads a definition; `None` when it cannot be one.
pub(super) fn read(key: &[u8], value: &[u8]) -> Option<Definition> {
    let mut rest = Reader(value);
    match *key.first()? {
        SCHEMA => {
            let type_name = rest.text()?;
            let mut fields = Vec::new();
            for _ in 0..rest.number()? {
                let kind = FieldKind::from_code(rest.number()? as i32)?;
                fields.push(FieldDescriptor { name: rest.text()?, kind });
            }
            Schema::new(type_name, fields).ok().map(Definition::Schema)
        }
        INDEX => {
            let (map, name, kind) = (rest.text()?, rest.text()?, rest.text()?);
            let kinds = [IndexKind::Sorted, IndexKind::Hash, IndexKind::Bitmap];
            let kind = kinds.into_iter().find(|known| known.as_str() == kind)?;
            let mut attributes = Vec::new();
            for _ in 0..rest.number()? {
                attributes.push(rest.text()?);
            }
            let mut index = IndexSettings::new(&map, kind, Some(&name), attributes).ok()?;
            if !rest.0.is_empty() {
                let (unique_key, transformation) = (rest.text()?.parse().ok()?, rest.text()?);
                let transformation = UniqueKeyTransformation::of_word(&transformation).ok()?;
                index = index.with_bitmap_options(BitmapOptions { unique_key, transformation }).ok()?;
            }
            Some(Definition::Index(map, index))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_come_back_as_they_were() {
        let field = |name: &str, kind| FieldDescriptor { name: name.into(), kind };
        let fields = vec![field("age", FieldKind::Int32), field("näme", FieldKind::String)];
        let schema = Schema::new("person", fields).unwrap();
        let back = read(&schema_key(&schema), &schema_value(&schema)).unwrap();
        assert_eq!(back, Definition::Schema(schema));
        let plain = IndexSettings::new("m", IndexKind::Sorted, None, ["age", "this.name"]).unwrap();
        let bitmap = IndexSettings::new("m", IndexKind::Bitmap, Some("b"), ["age"]).unwrap();
        let unique_key = "__key".parse().unwrap();
        let options = BitmapOptions { unique_key, transformation: UniqueKeyTransformation::Long };
        for index in [plain, bitmap.clone(), bitmap.with_bitmap_options(options).unwrap()] {
            let value = index_value("m", &index);
            assert_eq!(read(&index_key("m", &index), &value), Some(Definition::Index("m".into(), index)));
            assert_eq!(read(&[INDEX], &value[..9]), None);
        }
        assert_eq!(read(&[9], b""), None);
    }

    /// A put was under way when its key was removed, and its answer made the key known as stored: the next put wrote nothing.
    #[test]
    fn a_removal_counts_after_a_put_that_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let stages = Stages::simulated(1);
        let store = store::Store::open(&stages, folder.path()).unwrap();
        let disk = DefinitionsOnDisk::new(&stages, store.definitions());
        let key = || vec![INDEX, 7];
        let first = disk.put(key(), b"one");
        assert!(!first.is_done(), "it is under way");
        disk.remove(&key());
        first.wait().unwrap();
        assert!(!disk.stored().keys.contains(&key()));
        disk.put(key(), b"two").wait().unwrap();
        assert!(disk.stored().keys.contains(&key()) && disk.stored().under_way.is_empty());
        store.close().unwrap();
        drop((disk, store));
        let found = store::Store::open(&stages, folder.path()).unwrap().read_definitions().unwrap();
        assert_eq!(found.all, [(key(), b"two".to_vec())]);
    }
}
