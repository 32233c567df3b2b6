//! Filbert's stages: every kind of work on the threads made for it.
//!
//! A *stage* is a named set of threads for one kind of work, with its own queues, bounds, policy when full, and metrics.
//! A *mechanism* is the code that makes a stage. There are few mechanisms and many stages; this crate holds all
//! of the former and declares all of the latter, and it alone creates threads.
//!
//! ```
//! use filbert_pool::{Shutdown, Stages};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stages = Stages::builder().executor("reports").set("executor.reports.threads", 2).start()?;
//! // Computation, forked over the cores; returns when it is done.
//! let sum: u64 = stages.cpu().range(0..1_000_000).map(|i| i as u64).sum();
//! // State that one thread at a time touches, in order, without a lock.
//! let total = stages.partition().strand(42, 0_u64);
//! let total = total.submit("add", move |total| { *total += sum; *total })?.wait()?;
//! // A user's task on threads that it shares with nobody else.
//! let report = stages.executor("reports")?.submit("report", move || format!("total {total}"))?;
//! assert_eq!(report.wait()?, "total 499999500000");
//! stages.shutdown(Shutdown::Drain)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Which stage
//!
//! | Stage | Accessor | Type | Verbs |
//! |---|---|---|---|
//! | `cpu` | [`Stages::cpu`] | [`WorkStealing`] | `join`, `run`, `scope`, `range`, `slice`, `submit`, `complete` |
//! | `fragment`, `flow` | [`Stages::fragment`], [`Stages::flow`] | [`WorkStealing`] | `spawn`, `spawn_tasklet`, `group`, and those of `cpu` |
//! | `partition`, `query` | [`Stages::partition`], [`Stages::query`] | [`Striped`] | `strand`, then [`Strand`]: `submit`, `post`, `call`; `submit_keyed`, `submit_any` |
//! | `event` | [`Stages::event`] | [`EventStage`] | `topic`, then [`Topic`]: `offer`, `submit` |
//! | `generic` | [`Stages::generic`] | [`Executor`] | `submit`, `submit_priority` |
//! | `executor/<name>` | [`Stages::executor`] | [`Executor`] | `submit`, `submit_priority` |
//! | `mixed` | [`Stages::mixed`] | [`Mixed`] | `spawn`, `submit` |
//! | `mixed/<name>` | [`Stages::mixed_pool`] | [`MixedPool`] | `submit` |
//! | `maintenance` | [`Stages::maintenance`] | [`Maintenance`] | `submit`, `every`, `refreshed` |
//! | `dedicated` | [`Stages::dedicated`] | [`Dedicated`] | `submit` |
//! | `io` | [`Stages::io`] | [`Io`] | `spawn`, `spawn_on` |
//!
//! **`submit` takes a closure, `spawn` a future or a tasklet**; both return at once, with a future of the result.
//! **`run`, `join`, `scope` and the ranges return when they are done.** The first argument of most is the task's name, which
//! metrics, slow-task reports and errors show.
//!
//! # The main types
//!
//! ## Starting and ending
//! [`Stages`], [`StagesBuilder`], [`Settings`] ([the table of all settings](settings_table)), [`Shutdown`], [`ShutdownReport`].
//!
//! ## Results and errors
//! [`TaskFuture`] (await it, wait for it where the [rules](StageKind::permission) allow, leave a callback, cancel it), [`SubmitError`]
//! (nothing was queued), [`TaskError`] (there is no result), [`Promise`] (the other end of a future).
//!
//! ## Computation
//! [`WorkStealing`], [`join()`], [`Scope`], [`Completer`] with [`Forks`], and [`shape`] for reductions over ranges and slices.
//!
//! ## Tasks that take turns
//! [`Tasklet`], [`Turn`], [`TurnContext`], [`TaskHandle`], [`TaskWaker`], [`Group`], and [`checkpoint`] for futures that compute.
//!
//! ## Work in order
//! [`Striped`], [`Strand`], [`Called`]; [`EventStage`], [`Topic`], [`Offer`].
//!
//! ## Work that may block
//! [`Executor`], [`Mixed`], [`MixedPool`], [`Maintenance`] with [`Periodic`] and [`Refreshed`], [`Dedicated`] with [`StopSignal`] and [`Reactor`], [`Io`].
//!
//! ## Data on the move
//! [`ChunkedList`] (more in [`chunked_list`]); [`Sharding`], [`sharded_for_each`], [`sharding_for_each`], [`resharding_for_each`]
//! (more in [`shard`]).
//!
//! ## Looking and testing
//! [`Stages::snapshot`] with [`StageSnapshot`]; [`StageKind`] and [`stage_table`] for the rules; [`Stages::simulated`] with
//! [`Simulation`] and [`simulate::seeds`]; [`Clock`] for time that simulation can move.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")
)]

mod clock;
mod context;
mod engine;
mod env;
mod error;
#[cfg(test)]
mod eventually;
mod future;
mod metrics;
mod origin;
mod panics;
mod promise;
mod rules;
mod settings;
mod sim;
pub mod simulate;
mod thread;
mod timers;

mod blocking;
pub mod chunked_list;
mod event;
mod polled;
pub mod shard;
mod shared;
mod stages;
mod steal;
mod striped;

pub use blocking::{
    Dedicated, Io, Maintenance, Mixed, MixedPool, Periodic, Reactor, Refreshed, StopSignal, WokenByStop,
};
#[doc(inline)]
pub use chunked_list::ChunkedList;
pub use clock::{Clock, Timer};
pub use context::{StageId, current};
pub use error::{SubmitError, TaskError};
pub use event::{EventSettings, EventSource, EventStage, Offer, Offered, Topic, TopicSnapshot};
pub use filbert_sync::process_memory;
pub use future::{Canceller, TaskFuture, TaskResult};
pub use metrics::{RunningNow, SlowTask, StageSnapshot};
pub use origin::{EnteredOrigin, Origin, OriginName, OriginNames};
pub use panics::caught;
pub use polled::{
    Checkpoint, Group, TURN_BUDGET, TaskHandle, TaskWaker, Tasklet, Turn, TurnContext, checkpoint,
    turn_is_over,
};
pub use promise::Promise;
pub use rules::{Level, Permission, StageKind, table as stage_table};
pub use settings::{
    SettingValue, Settings, SettingsError, fields as settings_fields, table as settings_table,
};
#[doc(inline)]
pub use shard::{Sharding, resharding_for_each, shard_of, sharded_for_each, sharding_for_each};
pub use shared::{Executor, WhenFull};
pub use stages::{
    Engagement, ExecutorSettings, Shutdown, ShutdownRefused, ShutdownReport, Simulation, Stages,
    StagesBuilder, UnknownExecutor, WeakStages,
};
pub use steal::{Completer, Forks, Scope, Vigil, WorkStealing, join, shape};
pub use striped::{Called, StandaloneStriped, Strand, Striped, StripedSettings};
pub use thread::{ThreadsRefused, try_threads};
