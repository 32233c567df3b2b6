//! Maps of the grid in process, called by application threads, beside concurrent hash maps that do nothing but hold entries.
//!
//! Question: what does a map cost that has partitions, locks, lifetimes, listeners and remote callers, when a program in the same process
//! uses it? Expected bottleneck: cache misses in a table of a million entries, the same for all. Ceiling: DashMap, which has none
//! of those features; half of it is the bar. Both sides encode and decode keys and values the same way, and hold the same bytes.

mod bulk;
mod disturbed;
mod entries;
mod memory;
#[cfg(feature = "peers")]
mod peers;
mod queries;
mod single;

pub(crate) use memory::measure_and_print;

use crate::harness::Effort;
use crate::report::Report;

/// Runs the suite.
pub(crate) fn run(effort: Effort, report: &mut Report) {
    single::run(effort, report);
    bulk::run(effort, report);
    queries::run(effort, report);
    disturbed::run(effort, report);
    memory::run(effort, report);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, &mut Report::new(true));
    }
}
