//! The schema `public` without a grid: tables and views that were made, and every file by its path.

use super::Files;
use super::location::Location;
use super::table::{Declared, FileTable};
use crate::error::SqlError;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use std::sync::Arc;

/// What was registered; then, for names that mean files, files. These are never listed.
#[derive(Debug)]
pub(super) struct FilesSchema {
    files: Files,
    registered: Arc<dyn SchemaProvider>,
}

impl FilesSchema {
    pub(super) fn new(files: Files, registered: Arc<dyn SchemaProvider>) -> Self {
        Self { files, registered }
    }
}

#[async_trait]
impl SchemaProvider for FilesSchema {
    fn table_names(&self) -> Vec<String> {
        self.registered.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.registered.table(name).await? {
            return Ok(Some(table));
        }
        if !Location::is_meant(name) {
            return Ok(None);
        }
        let location = Location::parse(name).map_err(SqlError::into_plan)?;
        let table =
            FileTable::open(&self.files, &self.files.state, vec![location], Declared::default()).await?;
        Ok(Some(Arc::new(table)))
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        self.registered.table_type(name).await
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
        self.registered.table_exist(name)
    }
}
