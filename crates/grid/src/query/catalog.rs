//! `Catalog`: what queries of a member look up: the schemas that clients sent with their Compact objects, and comparators.

use super::definitions::{self, Definition, DefinitionsOnDisk};
use super::error::QueryError;
use super::index::IndexSettings;
use super::paging::{Comparators, EntryComparator};
use crate::error::GridError;
use crate::invocation::Invocation;
use filbert_pool::Stages;
use filbert_store::{Damage, Store, StoreError};
use filbert_wire::Data;
use filbert_wire::compact::{Schema, SchemaSource};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

/// How many schemas a member keeps. They are never forgotten, as entries may still need them, so that clients must not add without end.
const MAX_SCHEMAS: usize = 1 << 16;

/// How many bytes they may take together.
const MAX_SCHEMA_BYTES: usize = 16 << 20;

/// What a schema takes beside its names, roughly, and each of its fields.
const SCHEMA_BYTES: usize = 256;
const FIELD_BYTES: usize = 96;

type MakeComparator = Arc<dyn Fn(&Data) -> Result<Arc<dyn EntryComparator>, String> + Send + Sync>;

/// The schemas and comparators that a member knows; a handle that is cheap to clone.
///
/// ```
/// use filbert_grid::query::Catalog;
/// use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema, SchemaSource};
///
/// let catalog = Catalog::default();
/// let fields = vec![FieldDescriptor { name: "age".into(), kind: FieldKind::Int32 }];
/// let schema = Schema::new("person", fields)?;
/// catalog.add_schema(schema.clone().into())?;
/// assert!(catalog.schema(schema.id()).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Catalog {
    shared: Arc<RwLock<Known>>,
    /// Where schemas and indexes are kept, when maps are.
    disk: Arc<OnceLock<DefinitionsOnDisk>>,
}

#[derive(Default)]
struct Known {
    schemas: HashMap<i64, Arc<Schema>>,
    schema_bytes: usize,
    /// By map: those that are on disk.
    indexes: HashMap<String, Vec<Arc<IndexSettings>>>,
    comparators: HashMap<(i32, i32), MakeComparator>,
}

impl Catalog {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.shared.read().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Takes over what a data directory has, and keeps schemas and indexes there from now on; what of it cannot be read. Blocks.
    pub(crate) fn open(&self, stages: &Stages, store: &Store) -> Result<Vec<Damage>, StoreError> {
        let found = store.read_definitions()?;
        let disk = DefinitionsOnDisk::new(stages, store.definitions());
        for (key, value) in found.all {
            match definitions::read(&key, &value) {
                Some(Definition::Schema(schema)) => {
                    if let Err(error) = self.add_schema(schema.into()) {
                        tracing::warn!(%error, "a Compact schema on disk is not kept");
                    }
                }
                Some(Definition::Index(map, index)) => {
                    let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
                    known.indexes.entry(map).or_default().push(index.into());
                }
                None => tracing::warn!(?key, "a definition on disk is of a kind that is not known"),
            }
            disk.found(key);
        }
        let _ = self.disk.set(disk);
        Ok(found.damage)
    }

    /// Keeps a schema; done when it is on disk too, where maps are. An entry that needs it may be written then.
    pub fn define_schema(&self, schema: Arc<Schema>) -> Invocation<()> {
        if let Err(error) = self.add_schema(Arc::clone(&schema)) {
            return Invocation::ready(Err(GridError::Query(error)));
        }
        match self.disk.get() {
            Some(disk) => disk.put(definitions::schema_key(&schema), &definitions::schema_value(&schema)),
            None => Invocation::ready(Ok(())),
        }
    }

    /// Keeps an index of a map that is on disk; done when it is there too. Refused when `is_gone` says that the map was destroyed: that is
    /// asked while indexes can be neither added nor forgotten, so that none is left of a map that is destroyed meanwhile.
    pub(crate) fn define_index(
        &self,
        map: &str,
        index: &IndexSettings,
        is_gone: impl FnOnce() -> bool,
    ) -> Invocation<()> {
        let Some(disk) = self.disk.get() else { return Invocation::ready(Ok(())) };
        let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
        if is_gone() {
            return Invocation::ready(Err(GridError::Destroyed { structure: format!("map {map}") }));
        }
        let all = known.indexes.entry(map.to_owned()).or_default();
        if all.iter().all(|known| known.name() != index.name()) {
            all.push(index.clone().into());
        }
        // With the lock: whoever forgets them comes after it on disk too.
        disk.put(definitions::index_key(map, index), &definitions::index_value(map, index))
    }

    /// Forgets the indexes of a map that is destroyed, and that says so already.
    pub(crate) fn forget_indexes(&self, map: &str) {
        let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
        let gone = known.indexes.remove(map);
        if let Some(disk) = self.disk.get() {
            gone.iter().flatten().for_each(|index| disk.remove(&definitions::index_key(map, index)));
        }
    }

    /// The indexes of a map that are on disk.
    pub(crate) fn indexes_of(&self, map: &str) -> Vec<Arc<IndexSettings>> {
        self.read().indexes.get(map).cloned().unwrap_or_default()
    }

    /// The maps that have indexes on disk.
    pub(crate) fn indexed_maps(&self) -> Vec<String> {
        self.read().indexes.keys().cloned().collect()
    }

    /// Keeps a schema in memory: for a member that keeps no entries on disk. Others have [`Catalog::define_schema`].
    pub fn add_schema(&self, schema: Arc<Schema>) -> Result<(), QueryError> {
        let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
        if known.schemas.contains_key(&schema.id()) {
            return Ok(());
        }
        let too_large = |what, size, limit| Err(QueryError::TooLarge { what, size, limit });
        let (size, bytes) = (known.schemas.len() + 1, known.schema_bytes + bytes_of(&schema));
        if size > MAX_SCHEMAS {
            return too_large("the number of Compact schemas", size, MAX_SCHEMAS);
        }
        if bytes > MAX_SCHEMA_BYTES {
            return too_large("the size of all Compact schemas in bytes", bytes, MAX_SCHEMA_BYTES);
        }
        known.schema_bytes = bytes;
        known.schemas.insert(schema.id(), schema);
        Ok(())
    }

    /// Registers a comparator that clients send as an object of that factory and class; `make` reads its fields.
    pub fn add_comparator(
        &self,
        factory: i32,
        class: i32,
        make: impl Fn(&Data) -> Result<Arc<dyn EntryComparator>, String> + Send + Sync + 'static,
    ) {
        let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
        known.comparators.insert((factory, class), Arc::new(make));
    }
}

/// What a schema takes in memory, roughly.
fn bytes_of(schema: &Schema) -> usize {
    let fields: usize = schema.fields().iter().map(|field| FIELD_BYTES + field.name.len()).sum();
    SCHEMA_BYTES + schema.type_name().len() + fields
}

impl SchemaSource for Catalog {
    fn schema(&self, id: i64) -> Option<Arc<Schema>> {
        self.read().schemas.get(&id).cloned()
    }
}

impl Comparators for Catalog {
    fn comparator(&self, factory: i32, class: i32, object: &Data) -> Option<Arc<dyn EntryComparator>> {
        let make = self.read().comparators.get(&(factory, class)).cloned()?;
        make(object).ok()
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.read();
        write!(f, "Catalog({} schemas, {} comparators)", known.schemas.len(), known.comparators.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_wire::compact::{FieldDescriptor, FieldKind};

    /// They are kept for ever, so whoever may send one must not be able to fill the memory.
    #[test]
    fn schemas_take_a_bounded_room() {
        let catalog = Catalog::default();
        let schema = |number: usize| {
            let name = format!("{number}{}", "x".repeat(1 << 20));
            Arc::new(Schema::new("t", vec![FieldDescriptor { name, kind: FieldKind::Int32 }]).unwrap())
        };
        let kept = (0..100).filter(|number| catalog.add_schema(schema(*number)).is_ok()).count();
        assert_eq!(kept, 15);
        assert_eq!(catalog.add_schema(schema(3)), Ok(()), "what is known is known");
    }
}
