//! Sources and sinks for dataflow: what brings items into a job and what takes them out of it.
//!
//! Every function here returns what [`DagBuilder::vertex`](filbert_flow::DagBuilder::vertex) takes, and pipelines read from and write to the same.
//!
//! | Module | Sources | Sinks |
//! |---|---|---|
//! | [`memory`] | vectors, ranges | ([`processors::collect`](filbert_flow::processors::collect) is in `flow`) |
//! | [`channel`] | items that the program sends while the job runs | items that the program receives |
//! | [`mod@file`] | lines, blocks of lines, CSV, NDJSON; each file read by all processors at once | lines, CSV, NDJSON |
//! | `columnar` | Parquet and Arrow files, as batches; with the cargo feature `columnar` | the same |
//! | [`stdio`] | lines of the standard input | lines to the standard output |
//! | [`tcp`] | lines of connections | lines to a connection |
//! | [`grid`] | maps, lists, topics, queues | the same |
//!
//! All of them are cooperative: a processor here never blocks its worker. What blocks (files, standard streams) runs on the stage
//! `mixed`, one block ahead of the processor; sockets live on `io`, in crate `net`; structures answer through the waker.
//!
//! ```
//! use filbert_connect::{file, memory};
//! use filbert_flow::DagBuilder;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("colours.txt");
//! let mut dag = DagBuilder::new("colours");
//! let words = dag.vertex("words", memory::items(vec!["red", "green", "blue"]));
//! let lines = dag.vertex("lines", file::write_lines(&path));
//! dag.edge(words.output().to(lines.input()));
//! let stages = filbert_pool::Stages::start()?;
//! dag.build()?.submit(&stages)?.wait()?;
//! assert_eq!(std::fs::read_to_string(&path)?.lines().count(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod channel;
#[cfg(feature = "columnar")]
pub mod columnar;
pub mod file;
pub mod grid;
pub mod memory;
pub mod stdio;
pub mod tcp;

mod offload;
