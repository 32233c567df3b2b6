//! Streams: tables without an end, windows over them, and statements that run until they are dropped.
//!
//! ```text
//! text --> rewrite: journal(...), TUMBLE(...), HOP(...) become what the planner knows
//!      --> JournalScanExec --> TimeWindowExec --> WindowAggregateExec --> rows, or a map (a job)
//!          changes in the      window_start,      a table of groups for
//!          order of time       window_end         each open window
//! ```
//!
//! The operators in between are DataFusion's, as far as they give a row as soon as they have it; [`plan`] replaces or refuses
//! those that would wait for an end. Everything runs on stage `fragment`, woken by data; a stream on which nothing happens costs nothing.

mod figures;
mod jobs;
mod journal;
mod plan;
mod rewrite;
mod window;

pub(crate) use figures::StreamFigures;
pub(crate) use jobs::Jobs;
pub(crate) use journal::{JOURNALS, JournalSchema, journal_of};
pub(crate) use plan::{check_definition, optimizer_rules};
pub(crate) use rewrite::{rewritten, without_table_words};
pub(crate) use window::{PlanWindows, StreamPlanner, window_functions};
