//! Filbert is an in-memory data platform in one Rust binary and one Rust library: a partitioned data grid, a dataflow
//! engine, SQL, OLAP cubes and a fork-join pool, in which every kind of work runs on the threads made for it.
//!
//! Today it is the ground of all that: the [stages](filbert_pool). A [`Member`] starts them.
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

pub use filbert_pool as pool;
pub use filbert_pool::{
    Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport, Stages, SubmitError, TaskError,
    TaskFuture,
};
pub use member::{Member, MemberBuilder};
