//! What is wrong with a graph.

use crate::signature::Arity;

/// Why a DAG can not be built. Names are those of vertices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DagError {
    /// There is nothing to run.
    #[error("the DAG {dag:?} has no vertex; add one with `vertex`")]
    Empty {
        /// The DAG.
        dag: String,
    },
    /// Two vertices have the same name.
    #[error("there are two vertices {vertex:?}; give each its own name")]
    DuplicateName {
        /// The name.
        vertex: String,
    },
    /// A vertex has fewer or more edges on one side than its processors have ports.
    #[error("vertex {vertex:?} has {found} {side} edge(s) and needs {needed}; connect each port once")]
    WrongArity {
        /// The vertex.
        vertex: String,
        /// `inbound` or `outbound`.
        side: &'static str,
        /// How many edges there are.
        found: usize,
        /// How many there should be.
        needed: Arity,
    },
    /// An ordinal is missing between others.
    #[error(
        "vertex {vertex:?} has {side} edges, but none at ordinal {missing}; ordinals go from 0 without gaps"
    )]
    Gap {
        /// The vertex.
        vertex: String,
        /// `inbound` or `outbound`.
        side: &'static str,
        /// The ordinal without an edge.
        missing: usize,
    },
    /// Two edges at the same port.
    #[error("vertex {vertex:?} has two {side} edges at ordinal {ordinal}; give the second another ordinal")]
    PortTaken {
        /// The vertex.
        vertex: String,
        /// `inbound` or `outbound`.
        side: &'static str,
        /// The ordinal.
        ordinal: usize,
    },
    /// Two edges between the same vertices.
    #[error("there are two edges from {from:?} to {to:?}; at most one is allowed")]
    DuplicateEdge {
        /// Where they begin.
        from: String,
        /// Where they end.
        to: String,
    },
    /// Items would go round in circles.
    #[error("the DAG has a cycle: {}; remove one of its edges", .vertices.join(" -> "))]
    Cycle {
        /// The vertices on the way, the first again at the end.
        vertices: Vec<String>,
    },
    /// A port belongs to a vertex of another DAG.
    #[error("an edge of the DAG {dag:?} uses the port of a vertex of another DAG")]
    ForeignPort {
        /// The DAG that was being built.
        dag: String,
    },
    /// The parallelism of a vertex of another DAG was set.
    #[error("`local_parallelism` of the DAG {dag:?} was called with a vertex of another DAG")]
    ForeignVertex {
        /// The DAG that was being built.
        dag: String,
    },
    /// A job could hang, and buffers are not wanted.
    #[error(
        "a job could hang: {}; buffer the edge {edge} (`buffered`), give it the priority of the others, or let planning \
         buffer it (`Rejoin::Buffer`)",
        waiting_text(.waiting)
    )]
    Rejoin {
        /// The edge that should be buffered.
        edge: String,
        /// The edges that wait for each other, each for the next and the last for the first.
        waiting: Vec<String>,
    },
    /// A number that makes no sense.
    #[error("{what} of {whose} is 0; it must be at least 1")]
    Zero {
        /// Which number.
        what: &'static str,
        /// Of which vertex or edge.
        whose: String,
    },
}

fn waiting_text(waiting: &[String]) -> String {
    match waiting {
        [only] => format!("the edge {only} is held up until what it holds up itself has ended"),
        many => format!("the edges {} hold each other up", many.join(", ")),
    }
}
