//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod cut;
mod dates;
mod lists;
mod pacing;
mod passing;
mod plannable;
mod pushdown;
mod size;
mod wrong;
mod yielding;
mod zone;

pub(crate) use cut::CutFragments;
pub(crate) use dates::WholeDates;
pub(crate) use plannable::make_plannable;
pub(crate) use pushdown::{Rule, guarded};
pub(crate) use yielding::YieldExec;
pub(crate) use zone::{SessionZone, TimeZone, ZONE_SETTING, check_zone};
