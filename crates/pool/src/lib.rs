//! Filbert's stages: every kind of work on the threads made for it.
//!
//! A *stage* is a named set of threads for one kind of work, with its own queues, bounds, policy when full, and metrics.
//! A *mechanism* is the code that makes a stage. There are few mechanisms and many stages; this crate holds all
//! of the former and declares all of the latter, and it alone creates threads.

mod context;
mod engine;
mod env;
mod error;
mod future;
mod metrics;
mod rules;
mod sim;
mod thread;
mod timers;

mod blocking;
mod chunked_list;
mod event;
mod polled;
mod shard;
mod shared;
mod steal;
mod striped;

pub use context::{StageId, current};
pub use error::{SubmitError, TaskError};
pub use event::{EventSettings, EventStage, Offer, Offered, Topic, TopicSnapshot};
pub use future::{TaskFuture, TaskResult};
pub use metrics::{RunningNow, SlowTask, StageSnapshot};
pub use rules::{Level, Permission, StageKind, table as stage_table};
pub use striped::{Called, StandaloneStriped, Strand, Striped, StripedSettings};
