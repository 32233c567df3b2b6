//! Filbert's dataflow engine: jobs as graphs of typed vertices, run by cooperative tasklets that are woken by data.
//!
//! ```
//! use filbert_flow::{DagBuilder, processors};
//! use filbert_pool::Stages;
//!
//! let mut dag = DagBuilder::new("squares");
//! let numbers = dag.vertex("numbers", processors::iterate(|share| share.part_of(0..1_000)));
//! let squares = dag.vertex("squares", processors::map(|n: u64| n * n));
//! let sum = processors::Collected::new();
//! let sink = dag.vertex("sink", processors::collect(&sum));
//! dag.edge(numbers.output().to(squares.input()));
//! dag.edge(squares.output().to(sink.input()).partitioned());
//! let dag = dag.build()?;
//!
//! let stages = Stages::start()?;
//! let job = dag.submit(&stages)?;
//! job.wait()?;
//! assert_eq!(sum.take().into_iter().sum::<u64>(), 332_833_500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A *vertex* stands for a number of *processors*, the code; *edges* carry items between them. A *job* is one run of a DAG: every processor
//! becomes a *tasklet* on the stage `flow`, or a thread of its own if it blocks. The page `docs/design/008-flow.md` says
//! how tasklets sleep and wake, and why a job always ends.
#![forbid(unsafe_code)]

pub mod aggregate;
mod code;
mod counters;
mod dag;
mod edge;
pub mod event_time;
mod inbox;
mod job;
mod outbox;
pub mod pipeline;
mod plan;
mod processor;
pub mod processors;
mod signature;
mod tasklet;
mod test_support;
pub mod transform;

pub use code::{CodeError, FlowRegistry, KeyCode, VertexCode};
pub use dag::{Dag, DagBuilder, DagError, In, Out, Vertex, VertexOf};
pub use edge::{BUFFER_ITEMS, DataCodec, Edge, Forwarding, ItemCodec};
pub use inbox::{Inbox, Items};
pub use job::{
    EdgeMetrics, FlowMemory, Job, JobError, JobFailure, JobFuture, JobMetrics, JobSettings, JobStatus,
    StateTooLarge, VertexMetrics,
};
pub use outbox::{Bucket, HIGH_WATER_MARK, Outbox};
pub use pipeline::Pipeline;
pub use plan::Rejoin;
pub use processor::{
    Failure, FlatMapper, MetaSupplier, OneByOne, OneByOne2, OneItem, OneItem2, Processor, ProcessorContext,
    Share, Step, Supplier, Traverser, TraverserExt, Tried,
};
pub use signature::{Arity, InputPort, Inputs, Many, OutputPort, Outputs, Port};
pub use test_support::{Emitted, MANNERS, Manner, TestSupport};
