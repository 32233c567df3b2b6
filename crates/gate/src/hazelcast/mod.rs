//! The door for Hazelcast clients: the Open Binary Client Protocol, version 2.
//!
//! ```text
//! bytes -> Session (preamble, login, ready) -> dispatch -> handler: decode, permission, operation
//!                                                              |
//!    connection's output <- answer at once, on the io loop  <--+--> later: Reply, on the thread where the result arises
//! ```
//!
//! A [`Door`] is built with [`HazelcastSettings`] and opened; it serves until it is drained or dropped. A connection is one
//! *session*: who it is, what it may do, the structures it used, its listeners and the operations it waits for all live and end with
//! it. Which messages are served stands in one table, from which dispatch, permissions and the page of compatibility are made.
//!
//! ```
//! use filbert_gate::hazelcast::{Door, HazelcastSettings};
//! use filbert_grid::Grid;
//! use filbert_pool::Stages;
//! use std::time::Duration;
//!
//! let stages = Stages::start()?;
//! let settings = HazelcastSettings { address: "127.0.0.1:0".parse()?, ..HazelcastSettings::default() };
//! let door = Door::new(&Grid::new(&stages), settings).open()?;
//! println!("Hazelcast clients on {}", door.local_addr());
//! door.drain(Duration::from_secs(5))?.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answering;
mod answers;
mod call;
mod clients;
mod connect;
mod counters;
mod cp;
mod dispatch;
mod door;
mod durable_executor;
mod executor;
mod failure;
mod handles;
mod host;
mod items;
mod list;
mod login;
mod map;
mod multi_map;
mod numbers;
mod queue;
mod registrations;
mod replicated_map;
mod rights;
mod ringbuffer;
mod scheduled_executor;
mod schemas;
mod secret;
mod session;
mod set;
mod settings;
mod skip;
mod sql;
mod structures;
mod topic;
mod waiters;

pub use counters::DoorCounts;
pub use dispatch::{Need, SERVED, Served};
pub use door::{Door, DoorError, OpenDoor};
pub(crate) use login::{Credentials, whose};
pub(crate) use rights::word;
pub use rights::{Rights, RightsError};
pub use secret::Secret;
pub use settings::{HazelcastSettings, User};
