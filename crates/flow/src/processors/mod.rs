//! Ready-made processors: each is a function that returns what [`DagBuilder::vertex`](crate::DagBuilder::vertex) takes.

mod collect;
mod iterate;
mod transform;

pub use collect::{Collect, Collected, ForEach, collect, for_each};
pub use iterate::{Iterate, iterate};
pub use transform::{Filter, FlatMap, Map, filter, flat_map, map};
