//! Filbert's stages: every kind of work on the threads made for it.
//!
//! A *stage* is a named set of threads for one kind of work, with its own queues, bounds, policy when full, and metrics.
//! A *mechanism* is the code that makes a stage. There are few mechanisms and many stages; this crate holds all
//! of the former and declares all of the latter, and it alone creates threads.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")
)]

mod context;
mod engine;
mod env;
mod error;
#[cfg(test)]
mod eventually;
mod future;
mod metrics;
mod panics;
mod rules;
mod settings;
mod sim;
pub mod simulate;
mod thread;
mod timers;

mod blocking;
mod chunked_list;
mod event;
mod polled;
mod shard;
mod shared;
mod stages;
mod steal;
mod striped;

pub use blocking::{Dedicated, Io, Maintenance, Mixed, Periodic, Refreshed, StopSignal};
pub use chunked_list::{ChunkedList, Chunks, DEFAULT_HEAD, Doubling, Fixed, Growth, Iter as ChunkedListIter};
pub use context::{StageId, current};
pub use error::{SubmitError, TaskError};
pub use event::{EventSettings, EventStage, Offer, Offered, Topic, TopicSnapshot};
pub use future::{TaskFuture, TaskResult};
pub use metrics::{RunningNow, SlowTask, StageSnapshot};
pub use polled::{
    Checkpoint, Group, TURN_BUDGET, TaskHandle, TaskWaker, Tasklet, Turn, TurnContext, checkpoint,
    turn_is_over,
};
pub use rules::{Level, Permission, StageKind, table as stage_table};
pub use settings::{Settings, SettingsError, table as settings_table};
pub use shard::{
    DEFAULT_BATCH, DEFAULT_QUEUE, Outbox, Parallel, Sharding, Spawn, StableHasher, Task, resharding_for_each,
    shard_of, shard_of_hash, sharded_for_each, sharding_for_each, stable_hash,
};
pub use shared::{Shared, WhenFull};
pub use stages::{
    ExecutorSettings, Shutdown, ShutdownRefused, ShutdownReport, Simulation, Stages, StagesBuilder,
    UnknownExecutor,
};
pub use steal::{Completer, Forks, Scope, WorkStealing, join, shape};
pub use striped::{Called, StandaloneStriped, Strand, Striped, StripedSettings};
