//! From a plan of DataFusion to fragments: where it is cut, and where an operator must let others have a turn.

mod clauses;
mod costly;
mod cut;
mod dates;
mod expressions;
mod first_rows;
mod lists;
mod operators;
mod ordinality;
mod pacing;
mod passing;
mod plannable;
mod pushdown;
mod rewritten;
mod sample;
mod size;
mod splitting;
mod unordered;
mod wrong;
mod yielding;
mod zone;

pub(crate) use cut::CutFragments;
pub(crate) use dates::WholeDates;
pub(crate) use expressions::changed_expressions;
pub(crate) use first_rows::wants_first_rows;
pub(crate) use operators::RightOperators;
pub(crate) use ordinality::NumberFunctions;
pub(crate) use plannable::make_plannable;
pub(crate) use pushdown::{Rule, guarded};
pub(crate) use rewritten::shown_name;
pub(crate) use sample::SampleTables;
pub(crate) use size::check_nodes;
pub(crate) use unordered::UnorderedSets;
pub(crate) use yielding::YieldExec;
pub(crate) use zone::{SessionZone, TimeZone, ZONE_SETTING, check_zone};
