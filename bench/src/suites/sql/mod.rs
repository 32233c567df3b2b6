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
    let mut any = false;
    for (name, part) in parts {
        let is_asked_for = *name != "duckdb" || !only.is_empty();
        if name.contains(only) && is_asked_for {
            any = true;
            part(effort, report);
        }
    }
    if let Some(why) = left_out(only, any) {
        eprintln!("{why}");
    }
}

/// Says which parts that were asked for are not built, and how to have them; or that there is none of that name.
fn left_out(only: &str, any: bool) -> Option<String> {
    let missing: Vec<&str> = if cfg!(feature = "sql-peers") { Vec::new() } else { PEERS.to_vec() };
    let missing: Vec<&str> = missing.into_iter().filter(|name| name.contains(only)).collect();
    if !missing.is_empty() {
        let names = missing.join(", ");
        return Some(format!("sql: without {names}: not built; add --features sql-peers to the command"));
    }
    (!any).then(|| format!("sql: no part has {only:?} in its name"))
}

/// The parts that need the peers.
const PEERS: [&str; 2] = ["tpch", "duckdb"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_or_not_there_is_said() {
        let built = cfg!(feature = "sql-peers");
        assert_eq!(left_out("duckdb", built).is_none(), built);
        assert_eq!(left_out("control", true), None);
        assert!(left_out("nothing", false).unwrap().contains("no part has \"nothing\""));
    }

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, "", &mut Report::new(true));
    }
}
