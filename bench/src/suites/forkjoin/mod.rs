//! Fork-join: does the pool beat a plain loop when it can, and cost nothing when it cannot?
//!
//! Expected bottleneck: the leaf (5 to 6 ns an element, mispredicted branches), so at large sizes the ceiling is the number of
//! cores and every good pool ties; small sizes and calls from outside show what a pool costs.

mod joins;
mod kernel;
mod memory;

use crate::harness::Effort;
use crate::report::Report;
use filbert_pool::WorkStealing;

const SUITE: &str = "forkjoin";

pub(crate) fn run(effort: Effort, report: &mut Report) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let pool = WorkStealing::standalone(threads);
    kernel::sizes(effort, report, &pool);
    kernel::after_a_gap(effort, report, &pool);
    kernel::irregular(effort, report, &pool);
    joins::fib(effort, report, &pool);
    joins::tree(effort, report, &pool);
    joins::coarse(effort, report, &pool);
    memory::limits(effort, report, &pool);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_suite_runs() {
        super::run(crate::harness::Effort::Tiny, &mut crate::report::Report::new(true));
    }
}
