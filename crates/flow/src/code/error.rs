//! Why a DAG can not be sent, or what came can not be run.

use crate::dag::DagError;

/// Why a DAG can not be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// A vertex is a closure.
    #[error(
        "vertex {vertex:?} is made of closures, which can not be sent; register its code and add it with `registered`"
    )]
    Closure {
        /// The vertex.
        vertex: String,
    },
    /// An edge has a closure as its key, partitioner or codec.
    #[error("the edge {edge} has a closure as its {what}, which can not be sent; {remedy}")]
    ClosureOnEdge {
        /// The edge.
        edge: String,
        /// What of it.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A name is not registered here.
    #[error("{whose} needs the {what} {name:?}, which is not registered here")]
    Unknown {
        /// Which vertex or edge.
        whose: String,
        /// What is missing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The parameters of a vertex are not what its code takes.
    #[error("vertex {vertex:?} can not be made by the code {code:?} with its parameters: {problem}")]
    Parameters {
        /// The vertex.
        vertex: String,
        /// Its code.
        code: String,
        /// What the code said.
        problem: String,
    },
    /// An edge connects ports of different types, or ports that do not exist.
    #[error("the edge {edge} connects an output of {from} with an input of {to}")]
    Mismatch {
        /// The edge.
        edge: String,
        /// What comes out.
        from: String,
        /// What goes in.
        to: String,
    },
    /// The text is not an encoded DAG.
    #[error("this is not an encoded DAG: {problem}")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The graph makes no sense.
    #[error(transparent)]
    Dag(#[from] DagError),
}
