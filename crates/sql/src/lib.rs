//! SQL: DataFusion plans, cut into fragments that run on stages of their own.
//!
//! Planning and operators are [DataFusion](https://datafusion.apache.org)'s; where and when they run is ours. A physical plan is cut at the
//! nodes that would drive their inputs eagerly; between the cuts are *fragments*, polled tasks on stage `fragment` that share turns fairly
//! with other queries, are stolen by idle workers, and never run on two threads at once. *Exchanges* carry batches between them, bounded by
//! credits. Start and cancel go over stage `query`, so a cancel is handled while every fragment worker is busy.
//!
//! ```
//! let stages = filbert_pool::Stages::start()?;
//! let sql = filbert_sql::Sql::start(&stages, Default::default())?;
//! let query = sql.session().query("SELECT count(*) AS n FROM generate_series(1, 1000)")?;
//! let batches = futures::executor::block_on(query.collect())?;
//! assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")
)]

mod bounded;
mod column_form;
mod column_names;
mod database;
mod description;
mod dialect;
mod engine;
mod engine_words;
mod error;
mod exchange;
mod files;
mod fragment;
mod functions;
mod generate_stream;
mod interval;
mod layered_schema;
mod maps;
mod memory;
mod names;
mod parameter;
mod plainly;
mod plan;
mod pools;
mod query;
mod returning;
mod rights;
mod session;
mod session_settings;
mod settings;
mod sort;
mod stream;
mod summary;
mod table_functions;
mod tables;
mod text;
mod type_names;
mod type_planner;
pub mod walk;

pub use column_form::ColumnForm;
pub use column_names::{ColumnNaming, has_made_names, postgres_name, shown_columns};
pub use database::{Database, DatabaseError};
pub use datafusion::scalar::ScalarValue;
pub use description::{Description, StatementKind};
pub use engine::{Sql, SqlSnapshot};
pub use error::SqlError;
pub use exchange::ExchangeExec;
pub use files::{CacheSnapshot, FileEncoder, FileProgress, file_endings};
pub use interval::Interval;
pub use maps::{MapScanExec, has_own_scales, visible_columns, without_zeros};
pub use parameter::{numbered_parameters, scalar_of};
pub use query::{Describing, Query, QueryCanceller, QueryId};
pub use rights::{Access, Object, SessionRights, TableRights};
pub use session::Session;
pub use settings::{PoolSettings, SqlSettings};
pub use sort::SortRunsExec;
pub use text::{check_depth, statements};
pub use type_names::type_name;
