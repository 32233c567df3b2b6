//! SQL: the same plans on our stages and on tokio, and what only our stages do.
//!
//! Question: what does it cost to run DataFusion's operators in turns of a millisecond that can be steered, and what does it give?
//! Expected bottleneck: decoding Parquet and hash tables, the same code on both sides. Ceiling: stock DataFusion on as many tokio
//! threads; on par is the bar for speed, and control (short queries beside long ones, cancel) is where ours must win.
//!
//! | part | asks |
//! |---|---|
//! | `tpch` | the 22 queries of TPC-H on Parquet, ours and stock in turn, same answers |
//! | `duckdb` | the same with our settings against DuckDB; runs only when named, because it installs DuckDB's Python package |
//! | `control` | a short query beside four cross joins, and beside long queries of other clients |
//! | `scan` | a map of ten million entries, read by SQL and by gets at the same time |
//! | `cancel` | ten thousand cancels while every fragment worker is busy |

#[cfg(feature = "sql-peers")]
mod answer;
mod cancel;
mod control;
#[cfg(feature = "sql-peers")]
mod duckdb;
mod engine;
mod entries;
#[cfg(feature = "sql-peers")]
mod files;
#[cfg(feature = "sql-peers")]
mod queries;
mod scan;
#[cfg(feature = "sql-peers")]
mod tpch;

pub(crate) use control::{Load, measure_and_print};

use crate::harness::Effort;
use crate::report::Report;

const SUITE: &str = "sql";

/// How many threads compute, on every side.
const THREADS: usize = 2;

/// Runs the parts of the suite whose name contains `only`.
pub(crate) fn run(effort: Effort, only: &str, report: &mut Report) {
    type Part = fn(Effort, &mut Report);
    let parts: &[(&str, Part)] = &[
        #[cfg(feature = "sql-peers")]
        ("tpch", tpch::run),
        #[cfg(feature = "sql-peers")]
        ("duckdb", duckdb::run),
        ("control", control::run),
        ("scan", scan::run),
        ("cancel", cancel::run),
    ];
    for (name, part) in parts {
        let is_asked_for = *name != "duckdb" || !only.is_empty();
        if name.contains(only) && is_asked_for {
            part(effort, report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, "", &mut Report::new(true));
    }
}
