//! `INSERT INTO` and `SINK INTO` a map.
//!
//! Rows come in batches; the operations of a batch are all under way before the first answer is awaited, so they run side by side on
//! their partitions. There is no transaction over keys: what was written before an error stays.

use super::arrow_value::value_at;
use super::decoder::{Decoder, shown};
use super::encoder::Encoder;
use super::layout::Layout;
use super::on_taken::PlannedChange;
use super::pages::{after, failed};
use crate::error::SqlError;
use crate::returning::Returned;
use crate::stream::StreamFigures;
use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSink;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, SendableRecordBatchStream};
use filbert_grid::query::Catalog;
use filbert_grid::{Lifetime, Map};
use filbert_pool::checkpoint;
use filbert_wire::Data;
use futures::{StreamExt, stream};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Writes rows to a map.
pub(crate) struct MapSink {
    pub(crate) map: Map,
    pub(crate) catalog: Catalog,
    pub(crate) layout: Arc<Layout>,
    pub(super) existing: Existing,
    /// All rows come before the first is written: they are read from the map itself.
    pub(super) reads_first: bool,
}

/// What is done with an entry whose key a new row has.
pub(super) enum Existing {
    Refused,
    Replaced,
    Kept,
    Changed(PlannedChange),
}

/// Operations that are under way at a time.
const WINDOW: usize = 256;

/// How often an entry that others change all the time is looked at.
const MAX_ROUNDS: usize = 1_000;

/// The entries of one batch, and the rows that they were made of.
struct New {
    entries: Vec<(Data, Data)>,
    rows: RecordBatch,
}

impl MapSink {
    /// Writes entries, and adds those that were written to `written`, as they are now.
    async fn insert(&self, new: New, written: &mut Vec<(Data, Data)>) -> Result<()> {
        let failed = |error| failed(&self.layout.map, &error);
        if let Existing::Replaced = self.existing {
            self.map.put_all(new.entries.clone()).await.map_err(failed)?;
            written.extend(new.entries);
            return Ok(());
        }
        for (number, window) in new.entries.chunks(WINDOW).enumerate() {
            let puts = window
                .iter()
                .cloned()
                .map(|(key, value)| self.map.put_if_absent(key, value, Lifetime::DEFAULT));
            let puts: Vec<_> = puts.collect();
            // All answers are awaited, one that failed or not: each entry that was written is counted.
            let (mut taken, mut failure) = (Vec::new(), None);
            for (at, (put, entry)) in puts.into_iter().zip(window).enumerate() {
                match (put.await, &self.existing) {
                    (Err(error), _) => failure = failure.or(Some(failed(error))),
                    (Ok(None), _) => written.push(entry.clone()),
                    (Ok(Some(_)), Existing::Kept) => {}
                    (Ok(Some(_)), Existing::Changed(_)) => taken.push(number * WINDOW + at),
                    (Ok(Some(_)), _) => failure = failure.or_else(|| Some(self.taken(&entry.0))),
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            if let Existing::Changed(change) = &self.existing {
                self.change(change, &new, taken, written).await?;
            }
        }
        Ok(())
    }

    fn taken(&self, key: &Data) -> DataFusionError {
        let (map, key) = (&self.layout.map, shown(key, &self.catalog));
        SqlError::Taken(format!(
            "map {map:?} has the key {key} already; SINK INTO replaces values, and rows of this statement that came before may be in the map"
        ))
        .into_plan()
    }

    /// Changes the entries whose keys these rows have, each as it is when it is written.
    async fn change(
        &self,
        change: &PlannedChange,
        new: &New,
        mut left: Vec<usize>,
        written: &mut Vec<(Data, Data)>,
    ) -> Result<()> {
        let failed = |error| failed(&self.layout.map, &error);
        for _ in 0..MAX_ROUNDS {
            if left.is_empty() {
                return Ok(());
            }
            let keys: Vec<Data> = left.iter().map(|row| new.entries[*row].0.clone()).collect();
            let found: HashMap<Data, Data> =
                self.map.get_all(keys).await.map_err(failed)?.into_iter().collect();
            let (mut again, mut rows, mut old) = (Vec::new(), Vec::new(), Vec::new());
            let mut seen = HashSet::new();
            for row in left {
                let (key, value) = &new.entries[row];
                match found.get(key) {
                    // Two rows with one key change it one after the other.
                    _ if !seen.insert(key) => again.push(row),
                    Some(there) => {
                        rows.push(row);
                        old.push((key.clone(), there.clone()));
                    }
                    None => {
                        let put = self.map.put_if_absent(key.clone(), value.clone(), Lifetime::DEFAULT);
                        match put.await.map_err(failed)? {
                            None => written.push((key.clone(), value.clone())),
                            Some(_) => again.push(row),
                        }
                    }
                }
            }
            let changed = self.changed(change, &old, new, &rows)?;
            for ((row, (key, old)), value) in rows.into_iter().zip(old).zip(changed) {
                let Some(value) = value else { continue };
                let replaced = self.map.replace_if_same(key.clone(), old, value.clone());
                match replaced.await.map_err(failed)? {
                    true => written.push((key, value)),
                    false => again.push(row),
                }
            }
            left = again;
            checkpoint().await;
        }
        let text = format!(
            "map {:?}: {} keys are changed all the time by others; try again",
            self.layout.map,
            left.len()
        );
        Err(SqlError::Refused(text).into_plan())
    }

    /// The new values of entries; nothing for one that stays.
    fn changed(
        &self,
        change: &PlannedChange,
        old: &[(Data, Data)],
        new: &New,
        rows: &[usize],
    ) -> Result<Vec<Option<Data>>> {
        let there = self.decoded(old)?;
        let rows: UInt64Array = rows.iter().map(|row| Some(*row as u64)).collect();
        let excluded = take_record_batch(&new.rows, &rows)?;
        let columns = there.columns().iter().chain(excluded.columns()).cloned().collect();
        let both = RecordBatch::try_new(Arc::clone(&change.schema), columns)?;
        let takes: BooleanArray = match &change.condition {
            None => (0..old.len()).map(|_| Some(true)).collect(),
            Some(condition) => {
                let found = condition.evaluate(&both)?.into_array(old.len())?;
                // A condition that is always NULL has no type.
                match found.as_boolean_opt() {
                    Some(found) => found.iter().map(|takes| Some(takes == Some(true))).collect(),
                    None => (0..old.len()).map(|_| Some(false)).collect(),
                }
            }
        };
        // Only for these: a value that cannot be computed elsewhere is none of this statement's mistakes.
        let chosen = filter_record_batch(&both, &takes)?;
        let assigned = change
            .assigned
            .iter()
            .map(|(place, expr)| Ok((*place, expr.evaluate(&chosen)?.into_array(chosen.num_rows())?)));
        let assigned: Vec<(usize, ArrayRef)> = assigned.collect::<Result<_>>()?;
        let encoder = Encoder::new(&self.layout, &self.catalog);
        let mut at = 0;
        old.iter()
            .zip(takes.values())
            .map(|(entry, takes)| {
                if !takes {
                    return Ok(None);
                }
                let values = assigned.iter().map(|(place, array)| {
                    let value = value_at(array, at).map_err(|problem| {
                        let (map, column) = (&self.layout.map, &self.layout.columns[*place].name);
                        SqlError::Refused(format!("map {map:?}, column {column:?}: {problem}")).into_plan()
                    });
                    Ok((*place, value?))
                });
                let values = values.collect::<Result<Vec<_>>>()?;
                at += 1;
                encoder.changed(entry, &values).map(Some)
            })
            .collect()
    }

    /// Entries as rows with all columns.
    fn decoded(&self, entries: &[(Data, Data)]) -> Result<RecordBatch> {
        decoded(&self.layout, &self.catalog, entries)
    }
}

/// Entries as rows with all columns of a map.
pub(super) fn decoded(
    layout: &Arc<Layout>,
    catalog: &Catalog,
    entries: &[(Data, Data)],
) -> Result<RecordBatch> {
    let mut decoder = Decoder::new(layout, (0..layout.columns.len()).collect(), catalog)?;
    decoder.decode(entries)?;
    decoder.finish()
}

#[async_trait]
impl DataSink for MapSink {
    fn schema(&self) -> &SchemaRef {
        &self.layout.schema
    }

    async fn write_all(
        &self,
        mut rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let figures = StreamFigures::of(context);
        let returned = Returned::of(context);
        let encoder = Encoder::new(&self.layout, &self.catalog);
        let mut written = 0;
        if self.reads_first {
            let memory = MemoryConsumer::new("rows of the map that they are written to");
            rows = read_whole(rows, &memory.register(context.memory_pool())).await?;
        }
        while let Some(batch) = rows.next().await {
            let rows = batch.map_err(|error| after(error, written))?;
            let entries = encoder.entries(&rows).map_err(|error| after(error, written))?;
            checkpoint().await;
            let mut done = Vec::with_capacity(entries.len());
            let inserted = self.insert(New { entries, rows }, &mut done).await;
            inserted.map_err(|error| after(error, written + done.len() as u64))?;
            if let Some(returned) = &returned {
                returned.add(self.decoded(&done)?)?;
            }
            let more = done.len() as u64;
            written += more;
            figures.add_written(more);
            checkpoint().await;
        }
        Ok(written)
    }
}

/// Reads all rows before it gives the first.
async fn read_whole(
    mut rows: SendableRecordBatchStream,
    memory: &MemoryReservation,
) -> Result<SendableRecordBatchStream> {
    let (schema, mut all) = (rows.schema(), Vec::new());
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        // Given back with the batch, not when all of them are written.
        let held = memory.new_empty();
        held.try_grow(batch.get_array_memory_size())?;
        all.push((batch, held));
        checkpoint().await;
    }
    let all = stream::iter(all).map(|(batch, _held)| Ok(batch));
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, all)))
}

impl fmt::Debug for MapSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapSink({:?})", self.layout.map)
    }
}

impl DisplayAs for MapSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, rest) = match &self.existing {
            Existing::Refused => ("insert into", ""),
            Existing::Replaced => ("sink into", ""),
            Existing::Kept => ("insert into", ", on conflict do nothing"),
            Existing::Changed(_) => ("insert into", ", on conflict do update"),
        };
        write!(f, "MapSink: {verb} map={}{rest}", self.layout.map)
    }
}
