//! `DESCRIBE table`: columns with the types that SQL has.

use crate::type_names::type_name;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use datafusion::common::{DFSchema, Result};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use std::sync::Arc;

/// Plans the rows that describe the columns of a table.
pub(crate) fn columns_of(table: &Schema, output: &DFSchema) -> Result<LogicalPlan> {
    let texts = |text: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((0..table.fields().len()).map(|at| Some(text(at))).collect::<StringArray>())
    };
    let nullable = |at: usize| if table.field(at).is_nullable() { "YES" } else { "NO" }.to_owned();
    let columns = vec![
        texts(&|at| table.field(at).name().clone()),
        texts(&|at| type_name(table.field(at).data_type())),
        texts(&nullable),
    ];
    let output = Arc::clone(output.inner());
    let rows = RecordBatch::try_new(Arc::clone(&output), columns)?;
    let rows = MemTable::try_new(output, vec![vec![rows]])?;
    LogicalPlanBuilder::scan("columns", provider_as_source(Arc::new(rows)), None)?.build()
}
