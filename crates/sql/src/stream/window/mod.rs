//! Windows of time: `TUMBLE` and `HOP`.
//!
//! ```text
//! mark functions --PlanWindows--> TimeWindow (logical) --PlanWindow--> TimeWindowExec
//! AggregateExec above it, over a stream --PlanStreams--> WindowAggregateExec
//! ```
//!
//! Over a table with an end a window is two more columns and nothing else: groups are DataFusion's. Over a stream, the
//! `TimeWindowExec` tells how far the time is (`watermark.rs`), and the `WindowAggregateExec` gives the groups of a window when its
//! time has passed.

mod aggregate;
mod exec;
mod function;
mod groups;
mod node;
mod planner;
mod shape;
mod watermark;

pub(crate) use aggregate::windowed;
pub(crate) use function::{WINDOW_END, WINDOW_START, window_functions};
pub(crate) use node::PlanWindows;
pub(crate) use planner::StreamPlanner;
