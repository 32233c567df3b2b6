//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod cut;
mod yielding;

pub(crate) use cut::CutFragments;
pub use yielding::YieldExec;
