//! `Catalog`: what queries of a member look up: the schemas that clients sent with their Compact objects, and comparators.

use super::error::QueryError;
use super::paging::{Comparators, EntryComparator};
use filbert_wire::Data;
use filbert_wire::compact::{Schema, SchemaSource};
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// How many schemas a member keeps. They are never forgotten, as entries may still need them, so that clients must not add without end.
const MAX_SCHEMAS: usize = 1 << 16;

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
}

#[derive(Default)]
struct Known {
    schemas: HashMap<i64, Arc<Schema>>,
    comparators: HashMap<(i32, i32), MakeComparator>,
}

impl Catalog {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.shared.read().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Keeps a schema.
    pub fn add_schema(&self, schema: Arc<Schema>) -> Result<(), QueryError> {
        let mut known = self.shared.write().unwrap_or_else(|broken| broken.into_inner());
        let size = known.schemas.len() + 1;
        if size > MAX_SCHEMAS && !known.schemas.contains_key(&schema.id()) {
            return Err(QueryError::TooLarge {
                what: "the number of Compact schemas",
                size,
                limit: MAX_SCHEMAS,
            });
        }
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
