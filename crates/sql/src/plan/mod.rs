//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod costly;
mod cut;
mod dates;
mod lists;
mod pacing;
mod passing;
mod plannable;
mod pushdown;
mod size;
mod splitting;
mod wrong;
mod yielding;

pub(crate) use cut::CutFragments;
pub(crate) use dates::WholeDates;
pub(crate) use plannable::make_plannable;
pub(crate) use pushdown::{Rule, guarded};
pub(crate) use size::check_nodes;
pub(crate) use yielding::YieldExec;
