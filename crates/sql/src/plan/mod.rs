//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod cut;
mod size;
mod wrong;
mod yielding;

pub(crate) use cut::CutFragments;
pub(crate) use size::check_size;
pub(crate) use wrong::check_wrong;
pub use yielding::YieldExec;
