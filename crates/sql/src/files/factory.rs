//! `CREATE EXTERNAL TABLE name [(columns)] STORED AS format LOCATION 'path' [WITH ORDER (...)] [OPTIONS (...)]`.

use super::Files;
use super::kind::FileKind;
use super::location::Location;
use super::table::{Declared, FileTable};
use crate::error::SqlError;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, internal_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::CreateExternalTable;
use std::sync::Arc;

/// Makes tables of files.
#[derive(Debug)]
pub(super) struct FileTableFactory(pub(super) Files);

#[async_trait]
impl TableProviderFactory for FileTableFactory {
    async fn create(
        &self,
        state: &dyn Session,
        said: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let Some(state) = state.as_any().downcast_ref::<SessionState>() else {
            return internal_err!("a table of files is made by a session");
        };
        let refused =
            |text: &str| Err(SqlError::Refused(format!("external table {}: {text}", said.name)).into_plan());
        if !said.table_partition_cols.is_empty() {
            return refused("PARTITIONED BY is not known; values in folder names are not read as columns");
        }
        if said.unbounded {
            return refused("UNBOUNDED is not known; files are read to their end");
        }
        let mut locations = said.locations.clone();
        locations.sort();
        if let Some(twice) = locations.windows(2).find(|two| two[0] == two[1]) {
            return refused(&format!("LOCATION names '{}' twice; its rows would be there twice", twice[0]));
        }
        let locations =
            said.locations.iter().map(|text| Location::parse(text)).collect::<std::result::Result<_, _>>();
        let schema = said.schema.inner();
        let declared = Declared {
            kind: FileKind::of_word(&said.file_type),
            options: said.options.clone(),
            schema: (!schema.fields().is_empty()).then(|| Arc::clone(schema)),
            order: said.order_exprs.clone(),
            definition: said.definition.clone(),
            all_text: false,
            is_coded: false,
        };
        let table =
            FileTable::open(&self.0, state, locations.map_err(SqlError::into_plan)?, declared).await?;
        Ok(Arc::new(table))
    }
}
