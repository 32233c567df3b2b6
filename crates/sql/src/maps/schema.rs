//! The schema `public`: tables and views that were made, and every map of the grid.

use super::discover::discovered;
use super::format::Format;
use super::layout::{Layout, Side};
use super::mapping::Mapping;
use super::pages::failed;
use super::table::MapTable;
use crate::error::SqlError;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use filbert_grid::{Grid, Service};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};

/// What was registered, then mappings, then maps: the first that has the name is the table.
pub(crate) struct MapsSchema {
    grid: Grid,
    registered: Arc<dyn SchemaProvider>,
    mappings: RwLock<BTreeMap<String, Known>>,
}

/// A mapping and the columns that it gives its map.
#[derive(Clone)]
struct Known {
    mapping: Arc<Mapping>,
    layout: Arc<Layout>,
}

impl MapsSchema {
    /// Maps of `grid`, behind what `registered` has.
    pub(crate) fn new(grid: &Grid, registered: Arc<dyn SchemaProvider>) -> Self {
        Self { grid: grid.clone(), registered, mappings: RwLock::default() }
    }

    fn is_map(&self, name: &str) -> bool {
        self.grid.structures().contains(Service::Map, name)
    }

    /// What has been registered, maps aside.
    pub(crate) fn registered(&self) -> &Arc<dyn SchemaProvider> {
        &self.registered
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
    pub(crate) fn add_mapping(&self, mapping: Mapping) -> std::result::Result<(), SqlError> {
        let layout = mapping.layout()?;
        for side in [Side::Key, Side::Value] {
            if let Format::Compact(schema) = layout.format(side) {
                let added = self.grid.catalog().add_schema(Arc::clone(schema));
                added.map_err(|error| SqlError::Refused(format!("mapping {:?}: {error}", mapping.name)))?;
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
            Some(known) => (self.grid.map(&known.mapping.external_name), known.layout),
            None if self.is_map(name) => {
                let map = self.grid.map(name);
                let layout = discovered(&map, &catalog).await.map_err(|error| failed(name, &error))?;
                (map, Arc::new(layout))
            }
            None => return Ok(None),
        };
        let indexes = map.indexes().await.map_err(|error| failed(name, &error))?;
        Ok(Some(Arc::new(MapTable { map, catalog, layout, indexes: indexes.into() })))
    }
}

impl fmt::Debug for MapsSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapsSchema").field("registered", &self.registered).finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for MapsSchema {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.registered.table_names();
        let maps = self.grid.structures().list();
        names.extend(
            maps.into_iter().filter(|(kind, _)| *kind == Service::Map).map(|(_, name)| name.to_string()),
        );
        names.extend(self.mapping_names());
        names.sort();
        names.dedup();
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.registered.table_exist(name)
            && let Some(table) = self.map_table(name).await?
        {
            return Ok(Some(table));
        }
        // A file, at last: one that has the name of a map is hidden by it.
        self.registered.table(name).await
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        match self.registered.table_type(name).await? {
            None if self.is_map(name) || self.known(name).is_some() => Ok(Some(TableType::Base)),
            known => Ok(known),
        }
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        self.registered.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.registered.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.registered.table_exist(name) || self.known(name).is_some() || self.is_map(name)
    }
}
