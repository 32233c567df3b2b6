//! Ready-made processors: each is a function that returns what [`DagBuilder::vertex`](crate::DagBuilder::vertex) takes.

mod co_group;
mod collect;
pub(crate) mod fused;
mod hash_join;
mod iterate;
mod keyed;
pub(crate) mod sided;
mod transform;

pub use co_group::{CoGroup, co_group};
pub use collect::{Collect, Collected, ForEach, collect, for_each};
pub use fused::{Fused, Transforming, transform, with_parallelism};
pub use hash_join::{HashJoin, hash_join, hash_join_left};
pub use iterate::{Iterate, iterate};
pub use keyed::{
    accumulate, accumulate_first, aggregate, collect_by, combine, distinct, distinct_by, map_stateful, merge,
    peek, sort, union,
};
pub use sided::{Sided, SidedSource};
pub use transform::{Filter, FlatMap, Map, filter, flat_map, map};
