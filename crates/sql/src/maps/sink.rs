//! `INSERT INTO` and `SINK INTO` a map.
//!
//! Rows come in batches; the operations of a batch are all under way before the first answer is awaited, so they run side by side on
//! their partitions. There is no transaction over keys: what was written before an error stays.

use super::decoder::shown;
use super::encoder::Encoder;
use super::layout::Layout;
use super::pages::failed;
use crate::error::SqlError;
use crate::stream::StreamFigures;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, SendableRecordBatchStream};
use filbert_grid::query::Catalog;
use filbert_grid::{Lifetime, Map};
use filbert_pool::checkpoint;
use filbert_wire::Data;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Writes rows to a map.
pub(crate) struct MapSink {
    pub(crate) map: Map,
    pub(crate) catalog: Catalog,
    pub(crate) layout: Arc<Layout>,
    /// A key that is there gets the new value; otherwise it is an error.
    pub(crate) replaces: bool,
}

/// Operations that are under way at a time.
const WINDOW: usize = 256;

impl MapSink {
    async fn insert(&self, entries: Vec<(Data, Data)>) -> Result<()> {
        let failed = |error| failed(&self.layout.map, &error);
        if self.replaces {
            return self.map.put_all(entries).await.map_err(failed);
        }
        for window in entries.chunks(WINDOW) {
            let puts = window
                .iter()
                .cloned()
                .map(|(key, value)| self.map.put_if_absent(key, value, Lifetime::DEFAULT));
            let puts: Vec<_> = puts.collect();
            for (put, (key, _)) in puts.into_iter().zip(window) {
                if put.await.map_err(failed)?.is_some() {
                    let (map, key) = (&self.layout.map, shown(key, &self.catalog));
                    return Err(SqlError::Refused(format!(
                        "map {map:?} has the key {key} already; SINK INTO replaces values, and rows of this statement that came \
                         before may be in the map"
                    ))
                    .into_plan());
                }
            }
        }
        Ok(())
    }
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
        let encoder = Encoder::new(&self.layout, &self.catalog);
        let mut written = 0;
        while let Some(batch) = rows.next().await {
            let entries = encoder.entries(&batch?)?;
            let more = entries.len() as u64;
            checkpoint().await;
            self.insert(entries).await?;
            written += more;
            figures.add_written(more);
            checkpoint().await;
        }
        Ok(written)
    }
}

impl fmt::Debug for MapSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapSink({:?})", self.layout.map)
    }
}

impl DisplayAs for MapSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.replaces { "sink into" } else { "insert into" };
        write!(f, "MapSink: {verb} map={}", self.layout.map)
    }
}
