//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod cut;
mod multiset;
mod size;
mod yielding;

pub(crate) use cut::CutFragments;
pub(crate) use multiset::check_multisets;
pub(crate) use size::check_size;
pub use yielding::YieldExec;
