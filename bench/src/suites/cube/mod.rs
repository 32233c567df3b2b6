//! Cubes: the aggregation kernel against the engines that people would use for the same, and whole queries.
//!
//! | part | asks |
//! |---|---|
//! | `group` | a sum by key over rows in memory, for few and for many keys |
//! | `files` | a sum by text keys over a Parquet file, beside `filbert sql` and DuckDB |
//! | `workloads` | queries of a cube: time, memory, what the second worker brings, and Adhoc with the same; or one of them by its name |

mod adhoc;
mod ceiling;
#[cfg(feature = "sql-peers")]
mod datafusion;
#[cfg(feature = "sql")]
mod files;
mod group;
mod ours;
mod packages;
mod rows;
mod workloads;

use crate::harness::Effort;
use crate::report::Report;

const SUITE: &str = "cube";

/// How many threads compute, on every side.
const THREADS: usize = 2;

/// Runs the parts of the suite, and the workloads, whose name contains `only`; `python` adds the peers that are Python packages, the class path of its jars
/// Adhoc.
pub(crate) fn run(
    effort: Effort,
    only: &str,
    python: bool,
    adhoc_classpath: Option<&str>,
    report: &mut Report,
) {
    if "group".contains(only) {
        group::run(effort, python, report);
    }
    #[cfg(feature = "sql")]
    if "files".contains(only) {
        files::run(effort, python, report);
    }
    #[cfg(not(feature = "sql"))]
    if "files".contains(only) {
        eprintln!("cube: without files, which need the feature `sql`");
    }
    #[cfg(not(feature = "sql-peers"))]
    if "group".contains(only) {
        eprintln!("cube: group without DataFusion, which needs the feature `sql-peers`");
    }
    workloads::run(effort, only, adhoc_classpath, report);
}

/// What one workload takes, in this process: what the suite starts itself for.
pub(crate) fn measure_and_print(workload: &str, quick: bool) {
    let effort = if quick { Effort::Quick } else { Effort::Full };
    println!("{}", workloads::memory_of(workload, effort));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, "", false, None, &mut Report::new(true));
    }
}
