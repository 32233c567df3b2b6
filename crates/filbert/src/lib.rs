//! Filbert is an in-memory data platform: a data grid for Rust programs and the official Hazelcast
//! clients, SQL over maps and files, streaming dataflow, and cubes. Everything runs on *stages*,
//! thread pools with bounded queues and metrics. There are no clusters yet.
//!
//! A program begins with a [`Member`]: its [maps](Member::map) hold data, its [stages](Member::stages) are where work goes, and
//! [`Member::sql`] and [`Member::cube`] ask questions. The page of [`grid`] says what can be done with structures, the page of [`pool`] which stage is for
//! what, the page of [`sql`] how queries run.
//!
//! ```
//! use filbert::Member;
//!
//! let member = Member::start()?;
//! // Data: written here, read by Python, Node.js and Java alike when the door is open.
//! let cities = member.map::<String, i64>("cities");
//! cities.set("Oslo", &709_000).wait()?;
//! assert_eq!(cities.get("Oslo").wait()?, Some(709_000));
//! // Pure computation, on all cores; small inputs stay on this thread.
//! let sum: u64 = member.stages().cpu().range(0..1_000_000).map(|i| i as u64).sum();
//! assert_eq!(sum, 499_999_500_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A dataflow job is a [pipeline](flow::pipeline): here words are split and counted on all cores, each word by one processor.
//!
//! ```
//! use filbert::flow::aggregate::count;
//! use filbert::flow::processors::{Collected, collect, iterate};
//! use filbert::{Member, Pipeline};
//!
//! let member = Member::start()?;
//! let text = "a rose is a rose\nis a rose";
//! let counts = Collected::new();
//! let job = Pipeline::read(iterate(move |share| text.lines().skip(share.index).step_by(share.count)))
//!     .flat_map(|line| line.split(' '))
//!     .group_by_item()
//!     .aggregate(count())
//!     .write(collect(&counts));
//! member.submit(&job.to_dag()?)?.wait()?;
//! let mut counts = counts.take();
//! counts.sort();
//! assert_eq!(counts, [("a", 3), ("is", 2), ("rose", 3)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
mod doors;
mod end_signal;
mod member;
mod memory;
mod monitor;
mod reload;
mod settings_page;

/// The examples of the README, so that they stay true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the page about SQL.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sql.md")]
struct SqlPage;

/// The examples of the quick start for Rust.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start-rust.md")]
struct StartRustPage;

/// The examples of the how-tos for Rust.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

/// The examples of the page about dataflow.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dataflow.md")]
struct DataflowPage;

/// The examples of the page about stages.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stages.md")]
struct StagesPage;

pub use config::{ClusterSettings, LogSettings, MemberConfig, SettingsSection};
pub use end_signal::{EndSignal, HangUp};
pub use member::{Member, MemberBuilder, StartError};
pub use memory::MemorySettings;
pub use reload::Reloaded;

/// Sources and sinks for dataflow, as a crate of their own.
pub use filbert_connect as connect;
/// Cubes, as a crate of their own.
pub use filbert_cube as cube;
/// The dataflow engine, as a crate of its own.
pub use filbert_flow as flow;
/// Front doors, as a crate of their own.
pub use filbert_gate as gate;
/// The data grid, as a crate of its own.
pub use filbert_grid as grid;
/// SQL, as a crate of its own.
pub use filbert_sql as sql;
/// Maps on disk: logs, snapshots, backups; as a crate of its own.
pub use filbert_store as store;
/// Values as bytes: Hazelcast's `Data`, Compact, and the client protocol.
pub use filbert_wire as wire;

// Dataflow.
pub use filbert_flow::{
    Dag, DagBuilder, DagError, FlowMemory, Job, JobError, JobFailure, JobMetrics, JobSettings, JobStatus,
    Pipeline, StateTooLarge,
};
// The grid.
pub use filbert_gate::hazelcast::HazelcastSettings;
pub use filbert_gate::http::HttpSettings;
pub use filbert_gate::postgres::PostgresSettings;
pub use filbert_grid::{
    Damage, Entry, EntryProcessor, Fsync, Grid, GridError, GridResult, GridSettings, Interceptor, Invocation,
    MachineMemory, Map, MapEvent, MapEventKind, MapSettings, PersistenceSettings, Reading, RecoveredMap,
    RecoveryProgress, Registry, StoreError, TypedMap, TypedMapEvent,
};
pub use filbert_wire::{Data, FromData, Json, ToData};
// SQL.
/// Arrow, in which the rows of queries come, in the version that they come in.
pub use arrow;
pub use filbert_sql::{
    Describing, Description, Query, QueryCanceller, QueryId, Session, Sql, SqlError, SqlSettings,
    SqlSnapshot, StatementKind,
};

/// The stages, as a crate of their own.
pub use filbert_pool as pool;

// Starting and ending.
pub use filbert_pool::{
    ExecutorSettings, SettingValue, Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport,
    Stages, StagesBuilder, UnknownExecutor, settings_table,
};
// Results and errors.
pub use filbert_pool::{SubmitError, TaskError, TaskFuture, TaskResult};
// Computation.
pub use filbert_pool::{Completer, Forks, Scope, WorkStealing, join, shape};
// Tasks that take turns.
pub use filbert_pool::{
    Checkpoint, Group, TURN_BUDGET, TaskHandle, TaskWaker, Tasklet, Turn, TurnContext, checkpoint,
    turn_is_over,
};
// Work in order.
pub use filbert_pool::{
    Called, EventStage, Offer, Offered, StandaloneStriped, Strand, Striped, StripedSettings, Topic,
    TopicSnapshot,
};
// Work that may block.
pub use filbert_pool::{
    Dedicated, Executor, Io, Maintenance, Mixed, Periodic, Refreshed, StopSignal, WhenFull,
};
// Data on the move.
pub use filbert_pool::{
    ChunkedList, Sharding, chunked_list, resharding_for_each, shard, shard_of, sharded_for_each,
    sharding_for_each,
};
// Looking and testing.
pub use filbert_pool::{
    Level, Permission, RunningNow, Simulation, SlowTask, StageId, StageKind, StageSnapshot, current,
    simulate, stage_table,
};
