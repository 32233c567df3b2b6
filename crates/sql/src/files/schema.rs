//! Every file is a table by its path; none is listed.

use super::Files;
use super::location::Location;
use super::table::{Declared, FileTable};
use crate::error::SqlError;
use crate::layered_schema::TableLayer;
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use std::sync::Arc;

#[async_trait]
impl TableLayer for Files {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn has(&self, _: &str) -> bool {
        false
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !Location::is_meant(name) {
            return Ok(None);
        }
        let location = Location::parse(name).map_err(SqlError::into_plan)?;
        let table = FileTable::open(self, &self.state, vec![location], Declared::default()).await?;
        Ok(Some(Arc::new(table)))
    }
}
