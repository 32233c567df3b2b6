//! `pg_catalog` and `information_schema`: what tools ask to find out which tables there are, in tables of the shape that PostgreSQL has.
//!
//! Rows are made when a table is scanned, from the tables that the session may read. What does not exist here (indexes, triggers,
//! policies, functions of users) are tables without rows; [`Dialect`](super::dialect) knows them, and answers queries that can only be empty
//! without planning them.

mod definition;
mod information;
mod rows;
mod table;

pub(super) use definition::{Definition, OID_EXTENSION, Shelf};
pub(super) use rows::{DATABASE, OWNER, OWNER_OID, SCHEMAS, table_oid};

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use std::sync::Arc;
use table::CatalogTable;

/// A schema of the catalog.
#[derive(Debug)]
pub(super) struct Catalog(pub(super) Shelf);

#[async_trait]
impl SchemaProvider for Catalog {
    fn table_names(&self) -> Vec<String> {
        self.0.tables().iter().map(|table| table.name.to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = self.0.find(name);
        Ok(table.map(|table| Arc::new(CatalogTable::new(table)) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.0.find(name).is_some()
    }
}
