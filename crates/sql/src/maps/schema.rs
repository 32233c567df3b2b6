//! The schema `public`: tables and views that were made, and every map of the grid.

use super::discover::{completed, discovered};
use super::format::Format;
use super::layout::{Layout, Side};
use super::mapping::Mapping;
use super::on_taken::TakenKey;
use super::pages::failed;
use super::surprises::Surprises;
use super::table::MapTable;
use crate::error::SqlError;
use crate::layered_schema::{LayeredSchema, TableLayer};
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use filbert_grid::{Grid, Service};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};

/// What was registered, then mappings, then maps: the first that has the name is the table.
pub(crate) type MapsSchema = LayeredSchema<Maps>;

/// Mappings, and maps.
pub(crate) struct Maps {
    grid: Grid,
    mappings: RwLock<BTreeMap<String, Known>>,
    surprises: Arc<Surprises>,
}

/// A mapping and the columns that it gives its map.
#[derive(Clone)]
struct Known {
    mapping: Arc<Mapping>,
    layout: Arc<Layout>,
}

impl Maps {
    /// Those of `grid`.
    pub(crate) fn new(grid: &Grid) -> Self {
        Self { grid: grid.clone(), mappings: RwLock::default(), surprises: Arc::default() }
    }

    fn is_map(&self, name: &str) -> bool {
        self.grid.structures().contains(Service::Map, name)
    }

    fn known(&self, name: &str) -> Option<Known> {
        self.mappings.read().unwrap_or_else(|broken| broken.into_inner()).get(name).cloned()
    }

    /// The mapping of that name.
    pub(crate) fn mapping(&self, name: &str) -> Option<Arc<Mapping>> {
        self.known(name).map(|known| known.mapping)
    }

    /// In order.
    pub(crate) fn mapping_names(&self) -> Vec<String> {
        self.mappings.read().unwrap_or_else(|broken| broken.into_inner()).keys().cloned().collect()
    }

    /// Believes a mapping, in place of one that had its name.
    pub(crate) async fn add_mapping(&self, mapping: Mapping) -> std::result::Result<(), SqlError> {
        let layout = mapping.layout()?;
        for side in [Side::Key, Side::Value] {
            if let Format::Compact(schema) = layout.format(side) {
                let added = self.grid.catalog().define_schema(Arc::clone(schema));
                added
                    .await
                    .map_err(|error| SqlError::Refused(format!("mapping {:?}: {error}", mapping.name)))?;
            }
        }
        let known = Known { mapping: Arc::new(mapping), layout: Arc::new(layout) };
        let mut mappings = self.mappings.write().unwrap_or_else(|broken| broken.into_inner());
        mappings.insert(known.mapping.name.clone(), known);
        Ok(())
    }

    /// Forgets a mapping, not its map; false when there was none.
    pub(crate) fn drop_mapping(&self, name: &str) -> bool {
        self.mappings.write().unwrap_or_else(|broken| broken.into_inner()).remove(name).is_some()
    }

    /// The mapping or map of that name as a table.
    pub(crate) async fn map_table(&self, name: &str) -> Result<Option<Arc<MapTable>>> {
        let catalog = self.grid.catalog().clone();
        let (map, layout) = match self.known(name) {
            Some(known) => {
                let map = self.grid.map(&known.mapping.external_name);
                let layout = completed(&known.layout, &map, &catalog, &self.surprises).await;
                (map, layout.map_err(|error| failed(name, &error))?)
            }
            None if self.is_map(name) => {
                let map = self.grid.map(name);
                let layout = discovered(&map, &catalog, &self.surprises).await;
                let layout = layout.map_err(|error| failed(name, &error))?;
                (map, Arc::new(layout))
            }
            None => return Ok(None),
        };
        let indexes = map.indexes().await.map_err(|error| failed(name, &error))?;
        let taken_key = TakenKey::default();
        Ok(Some(Arc::new(MapTable {
            map,
            catalog,
            layout,
            indexes: indexes.into(),
            taken_key,
            reading: None,
        })))
    }
}

impl fmt::Debug for Maps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maps").field("mappings", &self.mapping_names()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableLayer for Maps {
    fn names(&self) -> Vec<String> {
        let maps = self.grid.structures().list().into_iter();
        let maps = maps.filter(|(kind, _)| *kind == Service::Map).map(|(_, name)| name.to_string());
        maps.chain(self.mapping_names()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.is_map(name) || self.known(name).is_some()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.map_table(name).await?.map(|table| table as Arc<dyn TableProvider>))
    }
}
