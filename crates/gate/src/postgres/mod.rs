//! The door for PostgreSQL clients: version 3 of their protocol, simple and extended, over the tables of [`Sql`](filbert_sql::Sql).
//!
//! ```text
//! bytes -> Line (whole messages) -> startup (TLS, SCRAM) -> session: Query | Parse, Bind, Execute
//!                                                              |
//!      rows as they are taken <- RowEncoder <- batches <-------+ Query of the engine, planned and run on `fragment`
//! ```
//!
//! A connection is one future on an io loop: it reads a message, awaits what the engine has to say, writes, and waits until the client took
//! it. It neither plans nor runs anything, and encodes rows a buffer at a time.
//!
//! ```
//! use filbert_gate::postgres::{Door, PostgresSettings};
//! use filbert_pool::Stages;
//! use filbert_sql::Sql;
//! use std::time::Duration;
//!
//! let stages = Stages::start()?;
//! let sql = Sql::start(&stages, Default::default())?;
//! let settings = PostgresSettings { address: "127.0.0.1:0".parse()?, ..PostgresSettings::default() };
//! let door = Door::new(&stages, &sql, settings).open()?;
//! println!("psql -h 127.0.0.1 -p {}", door.local_addr().port());
//! door.drain(Duration::from_secs(5))?.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod catalog;
mod copy;
mod counters;
mod cursor;
mod dialect;
mod door;
mod failure;
mod host;
mod line;
mod local;
mod named;
mod own;
mod prepared;
mod read_only;
mod request;
mod run;
mod scram;
mod script;
mod session;
mod settings;
mod startup;
mod values;
mod variables;

pub use counters::DoorCounts;
pub use door::{Door, DoorError, OpenDoor};
pub use settings::PostgresSettings;
