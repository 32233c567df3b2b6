//! Filbert is to be an in-memory data platform in one Rust library and one Rust binary. **What works today** is the ground of it:
//! the *stages*, in which every kind of work runs on the threads made for it, with a fork-join pool, single-writer partitions,
//! cooperative tasks, and a simulator. **Planned**: network, data grid, dataflow, SQL, OLAP cubes, clusters.
//!
//! A program begins with a [`Member`]; its [stages](Member::stages) are where work goes. The page of [`pool`] says which stage is
//! for what, and which verbs it has.
//!
//! ```
//! use filbert::Member;
//!
//! let member = Member::start()?;
//! // Pure computation, on all cores; small inputs stay on this thread.
//! let sum: u64 = member.stages().cpu().range(0..1_000_000).map(|i| i as u64).sum();
//! // State that only one thread at a time touches, in order, without a lock.
//! let counter = member.stages().partition().strand(42, 0_u64);
//! let seen = counter.submit("add", move |count| { *count += sum; *count })?;
//! assert_eq!(seen.wait()?, 499_999_500_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod member;

/// The examples of the README, so that they stay true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use member::{Member, MemberBuilder};

/// The stages, as a crate of their own.
pub use filbert_pool as pool;

// Starting and ending.
pub use filbert_pool::{
    ExecutorSettings, Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport, Stages,
    StagesBuilder, UnknownExecutor, settings_table,
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
