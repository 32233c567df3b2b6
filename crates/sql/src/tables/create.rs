//! `CREATE TABLE`, also `... AS SELECT`: the rows of the query are counted for the table as they come.
//!
//! DataFusion 55 gathers them beside every account, and runs the query without the memory that it may have. Runs where the statement is planned,
//! as all definitions do; fragments below an exchange run as those of any query.

use super::declared::Declared;
use super::insert::is_null;
use super::memory::{TableMemory, WhenNoRoom};
use super::ruled::RuledTable;
use super::rules::Rules;
use super::serial::Serial;
use crate::bounded;
use crate::error::SqlError;
use crate::query::QueryContext;
use crate::session::gathered;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::common::{SchemaError, TableReference, schema_err};
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{CreateMemoryTable, Expr, LogicalPlan};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::prelude::SessionContext;
use filbert_pool::checkpoint;
use futures::StreamExt;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Tells whether the table gets the rows of a query, as `CREATE TABLE ... AS` gives it.
pub(crate) fn has_query(create: &CreateMemoryTable) -> bool {
    !matches!(create.input.as_ref(), LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row)
}

/// Makes the table; returns how many rows it has.
pub(crate) async fn create_table(
    create: CreateMemoryTable,
    declared: &Declared,
    context: &SessionContext,
) -> Result<u64, SqlError> {
    let CreateMemoryTable { name, constraints, input, if_not_exists, or_replace, column_defaults, temporary } =
        create;
    if temporary {
        let text = "TEMPORARY is not supported; every table in memory is gone with the member";
        return Err(SqlError::Refused(text.to_owned()));
    }
    let is_there = context.table_provider(name.clone()).await.is_ok();
    match (if_not_exists, or_replace) {
        (true, true) => {
            return Err(SqlError::Refused("IF NOT EXISTS and OR REPLACE exclude each other".to_owned()));
        }
        (true, false) if is_there => return Ok(0),
        (false, false) if is_there => {
            return Err(DataFusionError::Execution(format!("Table '{name}' already exists")).into());
        }
        _ => {}
    }
    let mut names = HashSet::new();
    if let Some(twice) = input.schema().fields().iter().find(|field| !names.insert(field.name().as_str())) {
        let twice: datafusion::common::Result<()> =
            schema_err!(SchemaError::DuplicateUnqualifiedField { name: twice.name().clone() });
        twice?;
    }
    let state = context.state();
    let (schema, rows) = collected(&name, &input, &state).await?;
    let (schema, rows) = as_declared(&name, declared, schema, rows)?;
    let mut defaults: HashMap<String, Expr> = column_defaults.into_iter().collect();
    let serials: Vec<_> = declared.serials.iter().map(|_| Serial::new()).collect();
    for (column, serial) in declared.serials.iter().zip(&serials) {
        if defaults.insert(column.clone(), serial.next()).is_some() {
            let text = format!(
                "column {column:?} is a SERIAL, whose DEFAULT is the next number; leave the other away"
            );
            return Err(SqlError::Refused(text));
        }
    }
    let rules = Rules::new(name.table(), &schema, &constraints, declared, serials);
    if let Some(rules) = &rules {
        rows.iter().flatten().try_for_each(|batch| rules.check_lengths(batch))?;
        let memory = TableMemory::of(state.config())?;
        let all: Vec<RecordBatch> = rows.iter().flatten().cloned().collect();
        *rules.taken.lock().await = Some(rules.keys_of(&all, &memory, WhenNoRoom::Refuse).await?);
    }
    let count = rows.iter().flatten().map(RecordBatch::num_rows).sum::<usize>() as u64;
    let table = MemTable::try_new(schema, rows)?.with_constraints(constraints).with_column_defaults(defaults);
    if or_replace && is_there {
        context.deregister_table(name.clone())?;
    }
    let table: Arc<dyn TableProvider> = match rules {
        Some(rules) => Arc::new(RuledTable { table, rules }),
        None => Arc::new(table),
    };
    context.register_table(name, table)?;
    Ok(count)
}

/// Gives columns the NULLs that are declared, and not those of the query that fills them; refuses rows that have others.
fn as_declared(
    table: &TableReference,
    declared: &Declared,
    schema: SchemaRef,
    rows: Vec<Vec<RecordBatch>>,
) -> Result<(SchemaRef, Vec<Vec<RecordBatch>>), SqlError> {
    if declared.not_null.len() != schema.fields().len() {
        return Ok((schema, rows));
    }
    let fields = schema.fields().iter().zip(&declared.not_null);
    let fields: Vec<_> =
        fields.map(|(field, not_null)| field.as_ref().clone().with_nullable(!not_null)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let anew = |batch: RecordBatch| -> Result<RecordBatch, SqlError> {
        let has_null = |(field, column): &(&FieldRef, &ArrayRef)| {
            !field.is_nullable() && column.logical_null_count() > 0
        };
        if let Some((field, _)) = schema.fields().iter().zip(batch.columns()).find(has_null) {
            return Err(is_null(table.table(), field.name()).into());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options);
        Ok(batch.map_err(DataFusionError::from)?)
    };
    let rows = rows.into_iter().map(|batches| batches.into_iter().map(anew).collect());
    let rows = rows.collect::<Result<Vec<Vec<_>>, _>>()?;
    Ok((schema, rows))
}

/// Runs a query, and keeps its rows for `table`: as many lists of batches as it has partitions, and their columns.
async fn collected(
    table: &TableReference,
    input: &LogicalPlan,
    state: &SessionState,
) -> Result<(SchemaRef, Vec<Vec<RecordBatch>>), SqlError> {
    let missing = || SqlError::Refused("a table is made by a statement of a session".to_owned());
    let query = state.config().get_extension::<QueryContext>().ok_or_else(missing)?;
    let memory = TableMemory::of(state.config())?;
    let input = state.optimize(input)?;
    let schema = Arc::clone(input.schema().inner());
    let plan = state.create_physical_plan(&input).await?;
    let partitions = plan.output_partitioning().partition_count().max(1);
    let runtime =
        RuntimeEnv { memory_pool: Arc::clone(query.memory()), ..state.runtime_env().as_ref().clone() };
    let task = Arc::new(TaskContext::from(state).with_runtime(Arc::new(runtime)));
    let mut stream = gathered(plan).execute(0, task)?;
    let mut rows = vec![Vec::new(); partitions];
    let mut number = 0;
    loop {
        let next = std::future::poll_fn(|context| {
            // What its functions make is no constant of a plan.
            let _in_query = bounded::enter(&query);
            stream.poll_next_unpin(context)
        });
        let Some(batch) = next.await else { return Ok((schema, rows)) };
        rows[number % partitions].push(memory.keep(table.table(), &batch?, WhenNoRoom::Refuse)?);
        number += 1;
        checkpoint().await;
    }
}
