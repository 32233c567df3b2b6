//! The graph: vertices with typed ports, edges between them, checked when it is built.
//!
//! | File | What |
//! |---|---|
//! | `builder` | [`DagBuilder`] and what it checks |
//! | `port` | [`Vertex`], [`In`], [`Out`]: what edges are made of |
//! | `maker` | a vertex without its types: makes the tasklets of its processors |
//! | `export` | drawings |
//! | `error` | [`DagError`] |

mod builder;
mod error;
mod export;
pub(crate) mod maker;
mod port;

pub use builder::{DagBuilder, VertexOf};
pub use error::DagError;
pub use port::{In, Out, Vertex};

use crate::code::VertexOrigin;
use crate::edge::EdgeParts;
use crate::edge::wiring::Wire;
use crate::job::{Job, JobError, JobSettings};
use filbert_pool::Stages;
use maker::Maker;
use std::sync::Arc;

/// A graph that can be run, as often as one likes; cheap to clone.
#[derive(Clone)]
pub struct Dag {
    pub(crate) inner: Arc<Graph>,
}

pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) vertices: Vec<VertexParts>,
    pub(crate) edges: Vec<EdgeOfDag>,
}

/// A vertex without its types.
pub(crate) struct VertexParts {
    pub(crate) name: Arc<str>,
    pub(crate) parallelism: Option<usize>,
    pub(crate) maker: Box<dyn Maker>,
    /// How it could be made elsewhere; nothing for closures.
    pub(crate) origin: Option<VertexOrigin>,
}

/// An edge without its type.
pub(crate) struct EdgeOfDag {
    pub(crate) parts: EdgeParts,
    pub(crate) wire: Arc<dyn Wire>,
}

impl Dag {
    /// The name that it was built with.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The names of its vertices, in the order in which they were added.
    pub fn vertices(&self) -> impl Iterator<Item = &str> {
        self.inner.vertices.iter().map(|vertex| &*vertex.name)
    }

    /// Runs it; returns at once. Processors are made and run on the stages.
    ///
    /// # Errors
    /// When the stages do not take work any more.
    pub fn submit(&self, stages: &Stages) -> Result<Job, JobError> {
        self.submit_with(stages, JobSettings::default())
    }

    /// As [`Dag::submit`], with settings.
    ///
    /// # Errors
    /// As [`Dag::submit`].
    pub fn submit_with(&self, stages: &Stages, settings: JobSettings) -> Result<Job, JobError> {
        Job::submit(self, stages, settings)
    }
}

impl std::fmt::Debug for Dag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dag")
            .field("name", &self.inner.name)
            .field("vertices", &self.vertices().collect::<Vec<_>>())
            .field("edges", &self.inner.edges.len())
            .finish()
    }
}
