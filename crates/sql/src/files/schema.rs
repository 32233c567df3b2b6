//! Every file is a table by its path; none is listed.

use super::Files;
use super::location::Location;
use super::read_function::ReadCall;
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
        if let Some(call) = ReadCall::of_name(name) {
            let locations = call.locations().map_err(SqlError::into_plan)?;
            let declared = Declared {
                kind: call.kind(),
                all_text: call.all_text,
                options: call.options.into_iter().collect(),
                ..Declared::default()
            };
            return Ok(Some(Arc::new(FileTable::open(self, &self.state, locations, declared).await?)));
        }
        if !Location::is_meant(name) {
            return Ok(None);
        }
        let location = Location::parse(name).map_err(SqlError::into_plan)?;
        let table = FileTable::open(self, &self.state, vec![location], Declared::default()).await?;
        Ok(Some(Arc::new(table)))
    }
}
