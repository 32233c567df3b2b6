//! What a member has to know to read and query its maps on disk: Compact schemas and indexes, kept in its data directory.
//!
//! Each is on disk before whoever sent it is answered, so before an entry that needs it can be written. There is nothing of it without maps on disk.

use super::index::{BitmapOptions, IndexKind, IndexSettings, UniqueKeyTransformation};
use crate::error::GridError;
use crate::invocation::Invocation;
use filbert_pool::{StageKind, Stages};
use filbert_store as store;
use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema};
use std::collections::HashSet;
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
    /// The keys of those that are on disk.
    stored: Arc<Mutex<HashSet<Vec<u8>>>>,
}

impl DefinitionsOnDisk {
    pub(super) fn new(stages: &Stages, disk: store::Definitions) -> Self {
        Self { stages: stages.clone(), disk, stored: Arc::default() }
    }

    fn stored(&self) -> MutexGuard<'_, HashSet<Vec<u8>>> {
        self.stored.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Notes that one was found on disk.
    pub(super) fn found(&self, key: Vec<u8>) {
        self.stored().insert(key);
    }

    /// Writes a definition; done when it is on disk.
    pub(super) fn put(&self, key: Vec<u8>, value: &[u8]) -> Invocation<()> {
        if self.stored().contains(&key) {
            return Invocation::ready(Ok(()));
        }
        if let Some(refused) = self.disk.refuses() {
            return Invocation::ready(Err(GridError::Store(refused)));
        }
        let Some(pending) = self.disk.put(&key, value) else { return Invocation::ready(Ok(())) };
        let (promise, later) = self.stages.promise(StageKind::Mixed, DEFINE);
        let stored = Arc::clone(&self.stored);
        pending.then(move |result| {
            if result.is_ok() {
                stored.lock().unwrap_or_else(|broken| broken.into_inner()).insert(key);
            }
            promise.keep(result.map_err(GridError::Store));
        });
        Invocation::later(later)
    }

    /// Removes one; nobody waits for that.
    pub(super) fn remove(&self, key: &[u8]) {
        self.stored().remove(key);
        drop(self.disk.remove(key));
    }
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
}
