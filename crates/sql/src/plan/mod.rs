//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod cut;
mod lists;
mod pacing;
mod plannable;
mod pushdown;
mod size;
mod wrong;
mod yielding;

pub(crate) use cut::CutFragments;
pub use pacing::{PaceExec, TallyExec};
pub(crate) use plannable::make_plannable;
pub(crate) use pushdown::{Rule, guarded};
pub use yielding::YieldExec;
