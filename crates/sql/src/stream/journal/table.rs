//! The journal of a map as a table.

use super::scan::JournalScanExec;
use super::schema::JournalStart;
use crate::maps::{Layout, MapTable, VALUE, failed};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use filbert_wire::PartitionId;
use std::fmt;
use std::sync::Arc;

/// What a column of a journal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JournalColumn {
    /// What happened to the entry.
    Event,
    /// A column of the map's table, by its place there: of the key, or of the value after the change.
    OfMap(usize),
    /// The value before it, whole.
    Old(usize),
    /// Its number among the changes of its partition.
    Sequence,
    Partition,
    /// When it happened.
    Time,
    /// How many changes of its partition were overwritten, unread, right before it.
    Lost,
}

/// The columns of the journal of a map with that layout: names as those of `__key`, so that fields of values have all others.
fn columns(layout: &Layout) -> Vec<(JournalColumn, Field)> {
    let of_map =
        |place: usize| (JournalColumn::OfMap(place), layout.schema.field(place).clone().with_nullable(true));
    let mut columns = vec![(JournalColumn::Event, Field::new("__event", DataType::Utf8, false))];
    columns.extend((0..layout.visible).map(of_map));
    if let Some(place) = layout.columns.iter().position(|column| column.name == VALUE) {
        let whole = layout.schema.field(place).clone().with_name("__old").with_nullable(true);
        columns.push((JournalColumn::Old(place), whole));
    }
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    columns.extend([
        (JournalColumn::Sequence, Field::new("__sequence", DataType::Int64, false)),
        (JournalColumn::Partition, Field::new("__partition", DataType::Int32, false)),
        (JournalColumn::Time, Field::new("__time", time, false)),
        (JournalColumn::Lost, Field::new("__lost", DataType::Int64, false)),
    ]);
    columns
}

/// The journal of a map, with the columns that the map had when the statement was planned.
pub(super) struct JournalTable {
    table: Arc<MapTable>,
    start: JournalStart,
    columns: Vec<JournalColumn>,
    schema: SchemaRef,
}

impl JournalTable {
    pub(super) fn new(table: Arc<MapTable>, start: JournalStart) -> Self {
        let (columns, fields): (Vec<_>, Vec<_>) = columns(&table.layout).into_iter().unzip();
        Self { table, start, columns, schema: Arc::new(Schema::new(fields)) }
    }
}

impl fmt::Debug for JournalTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JournalTable({:?})", self.table.layout.map)
    }
}

#[async_trait]
impl TableProvider for JournalTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    /// Where each partition begins is found here and not when it runs: whoever has seen the columns misses nothing that comes later.
    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let map = &self.table.map;
        let mut from = Vec::new();
        for partition in PartitionId::all() {
            let span = map.span_of_journal(partition).await.map_err(|error| failed(map.name(), &error))?;
            let next = if self.start == JournalStart::Newest { span.next } else { span.oldest };
            from.push((partition, next, next < span.next));
        }
        let places = projection.cloned().unwrap_or_else(|| (0..self.columns.len()).collect());
        let schema = Arc::new(self.schema.project(&places)?);
        let columns = places.iter().map(|place| self.columns[*place]).collect();
        Ok(Arc::new(JournalScanExec::new(Arc::clone(&self.table), self.start, from, columns, schema)))
    }
}
