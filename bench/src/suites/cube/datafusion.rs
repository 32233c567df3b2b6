//! DataFusion as it comes, on tokio, over the same batches in memory.

use super::THREADS;
use super::rows::schema;
use arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

pub(super) struct DataFusion {
    runtime: tokio::runtime::Runtime,
    context: SessionContext,
}

impl DataFusion {
    /// One partition of the table for each thread, as its own sources make them.
    pub(super) fn new(batches: &[RecordBatch]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .expect("the runtime starts");
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(THREADS));
        let parts = batches.chunks(batches.len().div_ceil(THREADS).max(1)).map(<[RecordBatch]>::to_vec);
        let table = MemTable::try_new(schema(), parts.collect()).expect("the batches fit");
        context.register_table("rows", Arc::new(table)).expect("the name is free");
        Self { runtime, context }
    }

    pub(super) fn group(&self) -> Vec<RecordBatch> {
        let context = self.context.clone();
        let answer = self.runtime.spawn(async move {
            context.sql("SELECT k, SUM(v) AS s FROM rows GROUP BY k").await?.collect().await
        });
        self.runtime.block_on(answer).expect("the task ends").expect("the statement is right")
    }
}
