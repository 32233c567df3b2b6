//! A schema whose tables are those that were registered, and behind them others that are there without that: maps, or files.
//!
//! What was registered goes first: a table or view hides a map of its name, a map hides a file. Runs where statements are planned, on
//! stage `fragment`.

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Tables that nobody has to register.
#[async_trait]
pub(crate) trait TableLayer: Debug + Send + Sync + 'static {
    /// Those that are listed.
    fn names(&self) -> Vec<String>;

    /// True for one that is listed.
    fn has(&self, name: &str) -> bool;

    /// The table of that name, listed or not.
    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>>;
}

/// A layer behind what was registered.
#[derive(Debug)]
pub(crate) struct LayeredSchema<L> {
    registered: Arc<dyn SchemaProvider>,
    layer: L,
}

impl<L: TableLayer> LayeredSchema<L> {
    /// `layer` behind what `registered` has.
    pub(crate) fn new(registered: Arc<dyn SchemaProvider>, layer: L) -> Self {
        Self { registered, layer }
    }

    /// What has been registered.
    pub(crate) fn registered(&self) -> &Arc<dyn SchemaProvider> {
        &self.registered
    }
}

/// What a layer knows beside its tables is asked of the schema.
impl<L> Deref for LayeredSchema<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.layer
    }
}

#[async_trait]
impl<L: TableLayer> SchemaProvider for LayeredSchema<L> {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.registered.table_names();
        names.extend(self.layer.names());
        names.sort();
        names.dedup();
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.registered.table_exist(name)
            && let Some(table) = self.layer.table(name).await?
        {
            return Ok(Some(table));
        }
        // Also what has a name only to whoever asks for it: a file behind a layer of maps.
        self.registered.table(name).await
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        match self.registered.table_type(name).await? {
            None if self.layer.has(name) => Ok(Some(TableType::Base)),
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
        self.registered.table_exist(name) || self.layer.has(name)
    }
}
