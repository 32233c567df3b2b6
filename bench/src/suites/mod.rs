//! One file per question.

pub(crate) mod chunked;
pub(crate) mod door;
pub(crate) mod flow;
pub(crate) mod forkjoin;
pub(crate) mod grid;
pub(crate) mod spsc;
pub(crate) mod sql;
pub(crate) mod striped;
