//! One file per question.

pub(crate) mod chunked;
#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "door")]
pub(crate) mod door;
pub(crate) mod flow;
pub(crate) mod forkjoin;
pub(crate) mod grid;
pub(crate) mod spsc;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod striped;
