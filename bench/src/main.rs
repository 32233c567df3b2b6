//! Comparisons of Filbert with its peers: ours and theirs alternate in one process, and both must give the same answer.
//!
//! `cargo run --release -p filbert-bench --no-default-features --features peers -- <suite> [--quick] [--json]`; suites `cube`, `door`,
//! `store` and `sql` with `--features sql-peers` instead (`cube` also with `--no-default-features --features peers,cube`, then without DataFusion).

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench measures real time, and its peers make threads of their own"
)]

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod harness;
#[cfg(any(feature = "cube", feature = "sql-peers"))]
mod python;
mod report;
mod suites;

use clap::{Parser, Subcommand};
use report::Report;
#[cfg(feature = "door")]
use std::path::PathBuf;
#[cfg(feature = "sql")]
use std::time::Duration;

/// Compares Filbert with its peers. A ratio above 1 means that Filbert is better.
#[derive(Debug, Parser)]
#[command(name = "filbert-bench")]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
    /// Fewer rounds and smaller sizes: under 20 seconds a suite.
    #[arg(long, global = true)]
    quick: bool,
    /// One JSON object per row instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Clone, Subcommand)]
enum Suite {
    /// The fork-join kernel of the stages against rayon, chili and a plain loop.
    Forkjoin,
    /// The conveyor against rtrb.
    Spsc,
    /// Strands against threads with one channel each.
    Striped,
    /// `ChunkedList` against `Vec`.
    Chunked,
    /// Maps in process against DashMap and moka.
    Grid,
    #[cfg(feature = "cube")]
    /// Cubes: rows to groups against DataFusion, DuckDB and Polars; queries on one worker and on two.
    Cube {
        /// Only the parts whose name contains this: `group`, `files`, `workloads`, or one of these: `product`, `tower`, `chain`, `shift`,
        /// `dispatch`, `induction`.
        #[arg(long)]
        only: Option<String>,
        /// DuckDB and Polars too: installs their Python packages; needs python3.
        #[arg(long)]
        python: bool,
        /// The jars of Adhoc (`eu.solven.adhoc:adhoc-recipes` and what it needs) as a class path, to compare with it too; needs a JDK.
        #[arg(long)]
        adhoc_classpath: Option<String>,
    },
    #[cfg(feature = "door")]
    /// The door for Hazelcast clients under load, against redis-server and a Hazelcast member.
    Door {
        /// The jar of a Hazelcast 5.x member (from Maven Central), to compare with it too; needs Java.
        #[arg(long)]
        hazelcast_jar: Option<PathBuf>,
        /// Only the cases whose name contains this: `"50 x 16"`.
        #[arg(long)]
        only: Option<String>,
    },
    #[cfg(feature = "door")]
    /// Maps on disk under load, against redis-server with an append-only file.
    Store {
        /// Only one way to flush: `always`, `second`, `never`.
        #[arg(long)]
        only: Option<String>,
    },
    /// Dataflow jobs against timely, renoir, rayon and chains of tokio tasks.
    Flow {
        /// Only the parts whose name contains this: `words`, `keyed exchange`, `keyed two-stage`, `exchange`, `join`, `idle`, `latency`,
        /// `memory`, `cancel`.
        #[arg(long)]
        only: Option<String>,
    },
    #[cfg(feature = "sql")]
    /// SQL: TPC-H against DataFusion on tokio, short queries beside long ones, a scan of a map, cancels.
    Sql {
        /// Only the parts whose name contains this: `tpch`, `control`, `scan`, `cancel`, or `duckdb`, which runs only when named (it
        /// installs DuckDB's Python package; needs python3).
        #[arg(long)]
        only: Option<String>,
    },
    #[cfg(feature = "sql")]
    /// What short queries wait for beside a load, for the suite `sql`.
    #[command(hide = true)]
    SqlClients {
        /// What runs beside them.
        #[arg(long)]
        load: suites::sql::Load,
        /// Of the peer instead.
        #[arg(long)]
        stock: bool,
        /// For how long.
        #[arg(long)]
        ms: u64,
    },
    /// The most memory that a job with a slow sink takes, for the suite `flow`.
    #[command(hide = true)]
    FlowMemory {
        /// How many items of a kilobyte.
        #[arg(long)]
        items: u64,
    },
    /// The memory of one workload, for the suite `cube`.
    #[cfg(feature = "cube")]
    #[command(hide = true)]
    CubeMemory {
        /// Its name.
        #[arg(long)]
        workload: String,
    },
    /// The memory of one size of map, for the suite `grid`.
    #[command(hide = true)]
    Memory {
        /// How many entries.
        #[arg(long)]
        entries: usize,
        /// Of the peer instead.
        #[arg(long)]
        peer: bool,
    },
    #[cfg(feature = "door")]
    /// A member with its door open, for the suite `door`.
    #[command(hide = true)]
    Serve {
        /// Where.
        #[arg(long)]
        port: u16,
        /// The folder of its maps, when they are on disk.
        #[arg(long)]
        data: Option<PathBuf>,
        /// When they are flushed.
        #[arg(long, default_value = "always")]
        flush: suites::door::Flush,
    },
}

fn main() {
    let arguments = Arguments::parse();
    let mut report = Report::new(arguments.json);
    let effort = if arguments.quick { harness::Effort::Quick } else { harness::Effort::Full };
    match arguments.suite {
        Suite::Forkjoin => suites::forkjoin::run(effort, &mut report),
        Suite::Spsc => suites::spsc::run(effort, &mut report),
        Suite::Striped => suites::striped::run(effort, &mut report),
        Suite::Chunked => suites::chunked::run(effort, &mut report),
        Suite::Grid => suites::grid::run(effort, &mut report),
        Suite::Memory { entries, peer } => return suites::grid::measure_and_print(entries, peer),
        #[cfg(feature = "cube")]
        Suite::Cube { only, python, adhoc_classpath } => {
            suites::cube::run(
                effort,
                only.as_deref().unwrap_or_default(),
                python,
                adhoc_classpath.as_deref(),
                &mut report,
            );
        }
        #[cfg(feature = "cube")]
        Suite::CubeMemory { workload } => {
            return suites::cube::measure_and_print(&workload, arguments.quick);
        }
        #[cfg(feature = "door")]
        Suite::Door { hazelcast_jar, only } => {
            suites::door::run(
                effort,
                hazelcast_jar.as_deref(),
                only.as_deref().unwrap_or_default(),
                &mut report,
            );
        }
        #[cfg(feature = "door")]
        Suite::Store { only } => {
            suites::door::run_store(effort, only.as_deref().unwrap_or_default(), &mut report)
        }
        Suite::Flow { only } => suites::flow::run(effort, only.as_deref().unwrap_or_default(), &mut report),
        #[cfg(feature = "sql")]
        Suite::Sql { only } => suites::sql::run(effort, only.as_deref().unwrap_or_default(), &mut report),
        #[cfg(feature = "sql")]
        Suite::SqlClients { load, stock, ms } => {
            suites::sql::measure_and_print(load, stock, Duration::from_millis(ms));
        }
        Suite::FlowMemory { items } => return suites::flow::measure_and_print(items),
        #[cfg(feature = "door")]
        Suite::Serve { port, data, flush } => {
            return suites::door::serve(port, data.as_deref().map(|data| (data, flush)));
        }
    }
    report.finish();
}
