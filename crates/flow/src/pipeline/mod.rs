//! The pipeline: a job as a chain of steps, from which a DAG is planned.
//!
//! ```
//! use filbert_flow::aggregate::count;
//! use filbert_flow::processors::{Collected, collect, iterate};
//! use filbert_flow::Pipeline;
//!
//! let lines = ["a rose is a rose", "is a rose"];
//! let counts = Collected::new();
//! let pipeline = Pipeline::read(iterate(move |share| lines.into_iter().skip(share.index).step_by(share.count)))
//!     .flat_map(|line| line.split(' '))
//!     .group_by_item()
//!     .aggregate(count())
//!     .write(collect(&counts));
//! pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
//! let mut counts = counts.take();
//! counts.sort_unstable();
//! assert_eq!(counts, [("a", 3), ("is", 2), ("rose", 3)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the planner does:
//! - steps that follow each other are one vertex and one loop ([`crate::transform`]), and so is the source before them, unless it
//!   blocks or wants to be the only one;
//! - an aggregation is two vertices: producers accumulate, in the loop of the steps before, and only accumulators cross the partitioned
//!   edge; unless the aggregate does not reduce its items ([`Fold::REDUCES`](crate::aggregate::Fold::REDUCES)), which then cross it one by one;
//! - the small side of a join becomes one table that all processors read; the join itself is a step of the large side, in its loop, and a
//!   source there is asked for items when the table is complete. A large side with a name, or with another number of processors than the
//!   join is given, stays a vertex of its own.
//!
//! A stream knows the vertices before it, and nothing else: there is no object that collects vertices while a pipeline is written. The DAG is
//! made by walking back from the sinks.

mod grouped;
mod head;
mod plan;
mod stream;
mod timed;

pub use grouped::Grouped;
pub use head::{FromGroups, FromNodes, FromPair, FromSided, FromSource, Head};
pub use stream::{ByOrd, HashJoined, ItemOf, Sorted, Stream};
pub use timed::{Timed, TimedGroups, Windows};

use crate::dag::{Dag, DagError};
use crate::processor::{MetaSupplier, Processor};
use crate::processors::fused::SharedMeta;
use crate::signature::Many;
use plan::{Node, Plan, unicast};
use std::sync::Arc;

/// Adds a sink, and what is before it, to a plan.
type Sink = Arc<dyn Fn(&mut Plan) + Send + Sync>;

/// Streams from sources to sinks; see the [module](self). It begins with [`Pipeline::read`] and is there when a stream is written.
#[derive(Clone)]
pub struct Pipeline {
    name: String,
    sinks: Vec<Sink>,
}

impl Pipeline {
    /// A stream of what `source` emits: any meta-supplier whose processors take nothing and emit `Many<T>`.
    pub fn read<M, T>(source: M) -> Stream<FromSource<M, T>>
    where
        M: MetaSupplier,
        M::Processor: Processor<In = (), Out = Many<T>>,
        T: Send + 'static,
    {
        Stream::new(FromSource::new(source))
    }

    fn of_sink<M, T>(name: String, nodes: Vec<Node<T>>, sink: M) -> Self
    where
        M: MetaSupplier,
        M::Processor: Processor<In = Many<T>, Out = ()>,
        T: Send + 'static,
    {
        let sink = Arc::new(sink);
        let build = move |plan: &mut Plan| {
            let vertex = plan.vertex(name.clone(), None, SharedMeta(Arc::clone(&sink)));
            plan.connect_all(&nodes, &vertex, &unicast());
        };
        Self { name: "pipeline".to_owned(), sinks: vec![Arc::new(build)] }
    }

    /// The name of the DAG and its jobs.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Both, as one job. What they have in common, a [fork](Stream::fork), runs once.
    pub fn and(mut self, other: Pipeline) -> Self {
        self.sinks.extend(other.sinks);
        self
    }

    /// The DAG that does it.
    ///
    /// # Errors
    /// When a parallelism of 0 was asked for.
    pub fn to_dag(&self) -> Result<Dag, DagError> {
        let mut plan = Plan::new(&self.name);
        for sink in &self.sinks {
            sink(&mut plan);
        }
        plan.into_dag().build()
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("name", &self.name).field("sinks", &self.sinks.len()).finish()
    }
}
