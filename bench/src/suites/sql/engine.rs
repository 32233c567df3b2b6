//! The contestants: something that is asked a statement and answers with batches.

use super::THREADS;
use arrow::array::RecordBatch;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::executor::block_on;

/// Any number of threads may ask at the same time; each waits for its answer.
pub(super) trait Engine: Send + Sync {
    fn ask(&self, text: &str) -> Vec<RecordBatch>;
}

/// Filbert: fragments on stages.
pub(super) struct Ours {
    pub(super) stages: Stages,
    pub(super) sql: Sql,
    pub(super) session: Session,
}

impl Ours {
    pub(super) fn new(settings: SqlSettings) -> Self {
        let settings = SqlSettings { files: vec!["/".into()], ..settings };
        let stages =
            Stages::builder().set("fragment.threads", THREADS as u64).start().expect("the settings fit");
        let sql = Sql::start(&stages, settings).expect("the stages run");
        let session = sql.session();
        Self { stages, sql, session }
    }
}

impl Engine for Ours {
    fn ask(&self, text: &str) -> Vec<RecordBatch> {
        let query = self.session.query(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        block_on(query.collect()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

/// DataFusion as it comes, on tokio. Everything runs on the runtime's threads, also the root of a plan: the thread that asks only waits.
#[cfg(feature = "sql-peers")]
pub(super) struct Stock {
    runtime: tokio::runtime::Runtime,
    context: datafusion::prelude::SessionContext,
}

#[cfg(feature = "sql-peers")]
impl Stock {
    /// With the settings that ours gives to DataFusion.
    pub(super) fn new(batch_rows: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .expect("the runtime starts");
        let config = datafusion::prelude::SessionConfig::new()
            .with_target_partitions(THREADS)
            .with_batch_size(batch_rows)
            .with_collect_statistics(true);
        Self { runtime, context: datafusion::prelude::SessionContext::new_with_config(config) }
    }
}

#[cfg(feature = "sql-peers")]
impl Engine for Stock {
    fn ask(&self, text: &str) -> Vec<RecordBatch> {
        let (context, statement) = (self.context.clone(), text.to_owned());
        let answer = self.runtime.spawn(async move { context.sql(&statement).await?.collect().await });
        let answer = self.runtime.block_on(answer).expect("the task ends");
        answer.unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}
