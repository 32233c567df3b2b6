//! A map as a table of DataFusion.

use super::layout::Layout;
use super::on_taken::TakenKey;
use super::one_reading::OneReading;
use super::pages::{Reach, failed};
use super::reach::{is_useful, reach};
use super::scan::{MapScanExec, ScanOf};
use super::sink::{Existing, MapSink};
use crate::error::SqlError;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::execution_plan::Boundedness;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use filbert_grid::Map;
use filbert_grid::query::{Catalog, IndexSettings};
use std::fmt;
use std::sync::Arc;

/// A map as a table, with the columns that it had when the statement was planned.
#[derive(Clone)]
pub(crate) struct MapTable {
    pub(crate) map: Map,
    pub(crate) catalog: Catalog,
    pub(crate) layout: Arc<Layout>,
    pub(crate) indexes: Arc<[IndexSettings]>,
    /// What an `INSERT` does where a key is there.
    pub(crate) taken_key: TakenKey,
    /// The reading that it shares with other parts of the statement.
    pub(crate) reading: Option<Arc<OneReading>>,
}

impl fmt::Debug for MapTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapTable({:?})", self.layout.map)
    }
}

#[async_trait]
impl TableProvider for MapTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.layout.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let places = projection.cloned().unwrap_or_else(|| (0..self.layout.columns.len()).collect());
        let (reach, way) = reach(&self.layout, &self.indexes, filters);
        let rows = match &reach {
            Reach::Keys(keys) => keys.len(),
            _ => self.map.size().await.map_err(|error| failed(&self.layout.map, &error))? as usize,
        };
        if let Some(reading) = &self.reading {
            reading.add(&reach);
        }
        Ok(Arc::new(MapScanExec::new(ScanOf {
            reading: self.reading.clone(),
            map: self.map.clone(),
            catalog: self.catalog.clone(),
            layout: Arc::clone(&self.layout),
            places,
            reach,
            way,
            rows,
            limit,
            shares: state.config().target_partitions(),
        })?))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let useful = |filter: &&Expr| match is_useful(&self.layout, &self.indexes, filter) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(useful).collect())
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        how: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let existing = match (how, &self.taken_key) {
            (InsertOp::Append, TakenKey::Refused) => Existing::Refused,
            (InsertOp::Append, TakenKey::Kept) => Existing::Kept,
            (InsertOp::Append, TakenKey::Changed(change)) => Existing::Changed(change.planned(self, state)?),
            (InsertOp::Replace, _) => Existing::Replaced,
            (InsertOp::Overwrite, _) => {
                let text = "INSERT OVERWRITE of a map is not known; DELETE FROM it first, or SINK INTO it"
                    .to_owned();
                return Err(SqlError::Refused(text).into_plan());
            }
        };
        let (map, catalog, layout) = (self.map.clone(), self.catalog.clone(), Arc::clone(&self.layout));
        // A statement does not read what it writes. What has no end cannot be read before.
        let reads_first = input.boundedness() == Boundedness::Bounded && reads(&input, map.name());
        let sink = MapSink { map, catalog, layout, existing, reads_first };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// Tells if a plan reads that map.
fn reads(plan: &Arc<dyn ExecutionPlan>, map: &str) -> bool {
    plan.downcast_ref::<MapScanExec>().is_some_and(|scan| scan.map_name() == map)
        || plan.children().into_iter().any(|child| reads(child, map))
}
