//! `cargo xtask long`: the runs that find rare bugs and the figures to quote. Each is bounded by a number, not by patience.

use crate::busy;
use crate::invocation::Invocation;
use crate::options::Options;
use crate::readme;
use crate::step::{self, Step};
use crate::verify;
use crate::workspace::Workspace;

/// How many seeds the simulation tests try.
const SEEDS: u64 = 1_000_000;

/// How many random dataflow graphs are run.
const DAGS: u64 = 100_000;

/// How many times loom may interrupt a thread at will in one run of a model.
const PREEMPTIONS: u64 = 4;

/// How long loom may look at one model, in seconds.
const MODEL_SECONDS: u64 = 600;

/// How many mutated frames a member gets.
const FRAMES: u64 = 5_000_000;

/// How many histories of connections are checked for linearizability.
const HISTORIES: u64 = 200;

/// How many random queries are compared with SQLite.
const QUERIES: u64 = 20_000;

/// How many queries are cancelled while all workers are busy.
const CANCELS: u64 = 10_000;

/// How many times a member is killed while clients write.
const KILLS: u64 = 200;

/// How many bits flip on disk.
const FLIPS: u64 = 10_000;
/// Files of a data directory that are deleted, swapped, cut, zeroed or flipped.
const TRIALS: u64 = 1_000;

/// How many operations each of two hundred connections does.
const OPERATIONS: u64 = 50_000;

/// How many hostile inputs the decoders get.
const INPUTS: u64 = 100_000_000;

/// The options that take a number.
const NUMBERS: [&str; 15] = [
    "--seeds",
    "--dags",
    "--preemptions",
    "--model-seconds",
    "--frames",
    "--histories",
    "--queries",
    "--cancels",
    "--kills",
    "--flips",
    "--trials",
    "--operations",
    "--inputs",
    "--runs",
    "--neighbours",
];

/// The step for which somebody must have the scripts of others, and the option that says where.
const SCRIPTS: (&str, &str) = ("sqllogic", "--checkout");

/// The benches with their peers and without DataFusion, below which the peers turn on features.
const PEERS: &str = "-p filbert-bench --no-default-features --features peers";

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let standard = steps(&workspace, &Options::default());
    let names: Vec<&str> = standard.iter().map(Step::name).collect();
    let mut options = Options::parse("long", words, &names, &NUMBERS, &[SCRIPTS.1])?;
    if options.help {
        print!("{}", help(&standard));
        return Ok(());
    }
    leave_out_scripts(&mut options)?;
    step::run_all("long", &workspace, &steps(&workspace, &options), &options, true)
}

/// Without a checkout there are no scripts of others: the step is left out, or refused where it was asked for.
fn leave_out_scripts(options: &mut Options) -> Result<(), String> {
    let (step, option) = SCRIPTS;
    if !options.paths(option).is_empty() || !options.wants(step) {
        return Ok(());
    }
    if options.only.iter().any(|only| only == step) {
        return Err(format!("long: the step {step} needs {option} <path>; see `cargo xtask long --help`"));
    }
    println!("long: the step {step} is left out, since no {option} <path> is given");
    options.skip.push(step.to_owned());
    Ok(())
}

fn steps(workspace: &Workspace, options: &Options) -> Vec<Step> {
    let bench = |suite: &str| [Invocation::cargo(&format!("run --release {PEERS} -- {suite}"))];
    let simulation = Invocation::cargo("test -p filbert-pool --release -- --nocapture")
        .env("FILBERT_SEEDS", options.number("--seeds", SEEDS).to_string());
    let dags = Invocation::cargo("test -p filbert-flow --release --test random_dags")
        .env("FILBERT_SEEDS", options.number("--dags", DAGS).to_string());
    let loom = verify::loom(workspace)
        .env("LOOM_MAX_PREEMPTIONS", options.number("--preemptions", PREEMPTIONS).to_string())
        .env("LOOM_MAX_DURATION", options.number("--model-seconds", MODEL_SECONDS).to_string());
    // What is above DataFusion is built as for the test command, which has built it.
    let frames = Invocation::cargo("test --workspace --test hostile -- --nocapture --test-threads=1")
        .env("FILBERT_FRAMES", options.number("--frames", FRAMES).to_string());
    let histories = Invocation::cargo("test --workspace --test door -- --nocapture linearizability")
        .env("FILBERT_HISTORIES", options.number("--histories", HISTORIES).to_string());
    let queries = Invocation::cargo("test --workspace --test random_queries -- --nocapture")
        .env("FILBERT_SQL_QUERIES", options.number("--queries", QUERIES).to_string());
    // The test takes a list of paths, as PATH is one; a path that cannot be in a list is told by the test.
    let checkouts = std::env::join_paths(options.paths(SCRIPTS.1)).unwrap_or_default();
    let scripts = Invocation::cargo("test --workspace --test slt -- --nocapture --ignored scripts_of_others")
        .env("FILBERT_SQLLOGIC", checkouts.to_string_lossy());
    let cancels = Invocation::cargo("test --workspace --test cancel_storm -- --nocapture")
        .env("FILBERT_SQL_CANCELS", options.number("--cancels", CANCELS).to_string());
    let kills = Invocation::cargo("test --workspace --test durable -- --nocapture")
        .env("FILBERT_KILLS", options.number("--kills", KILLS).to_string());
    let flips = Invocation::cargo("test -p filbert-store --lib -- --nocapture flips")
        .env("FILBERT_BIT_FLIPS", options.number("--flips", FLIPS).to_string());
    let trials = Invocation::cargo("test -p filbert-store --lib -- --nocapture trials")
        .env("FILBERT_DISK_TRIALS", options.number("--trials", TRIALS).to_string());
    let storm = Invocation::cargo("test --workspace --test storm -- --nocapture")
        .env("FILBERT_STORM", options.number("--operations", OPERATIONS).to_string());
    // Optimized, but with the checks that tests have.
    let decoders = Invocation::cargo("test -p filbert-wire --release --test decoders -- --nocapture")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true")
        .env("FILBERT_DECODER_INPUTS", options.number("--inputs", INPUTS).to_string());
    let release = Invocation::cargo("build --release -p filbert");
    let memory = Invocation::script("tests/memory/run.py");
    let package = Invocation::cargo("run --quiet --package xtask -- package");
    let installed = Invocation::script("tests/package/run.sh");
    let control = Invocation::script("tests/load/run.py");
    let demo = Invocation::cargo(readme::DEMO.trim_start_matches("cargo "));
    let peers = Invocation::cargo(&format!("clippy {PEERS} --all-targets -- -D warnings"));
    let duckdb = Invocation::cargo("clippy -p filbert --features duckdb --all-targets -- -D warnings");
    let runs = options.number("--runs", busy::RUNS);
    let neighbours = options.number("--neighbours", busy::NEIGHBOURS);
    vec![
        Step::bounded(
            "busy",
            "the README's test command ten times in a row beside four processes that spin: every test passes the first time",
            move |workspace| busy::check(workspace, runs, neighbours),
        ),
        Step::run("duckdb", "no warning in the command line with the feature duckdb", [duckdb]),
        Step::run("peers", "no warning in the benches with their peers", [peers]),
        Step::run("demo", "the README's demo as it stands there, built for release", [demo]),
        Step::run(
            "frames",
            "five million mutated frames against a member, and clients that never read",
            [frames],
        ),
        Step::run(
            "storm",
            "two hundred connections, fifty thousand operations each on all structures: no answer is wrong",
            [storm],
        ),
        Step::run(
            "decoders",
            "a hundred million hostile inputs: no decoder panics, hangs or grows",
            [decoders],
        ),
        Step::run("histories", "what connections see of a key, checked for linearizability", [histories]),
        Step::run("sql-random", "twenty thousand random queries, the same answers as SQLite's", [queries]),
        Step::run(
            SCRIPTS.0,
            "the sqllogictest scripts of DataFusion and SQLite: the same answers, or a reason in a list",
            [scripts],
        ),
        Step::run("sql-cancel", "ten thousand queries cancelled while all workers are busy", [cancels]),
        Step::run(
            "kills",
            "two hundred kills of a member that writes: nothing acknowledged is lost",
            [kills],
        ),
        Step::run("flips", "ten thousand flipped bits on disk: nothing corrupt is loaded", [flips]),
        Step::run(
            "trials",
            "a thousand files on disk deleted, swapped, cut, zeroed or flipped: nothing is missing without a word",
            [trials],
        ),
        Step::run(
            "memory",
            "4 GB for each structure, statements without bounds, a cube and deaf readers in 512 MB: nothing is killed (Linux, root)",
            [release.clone(), memory],
        ),
        Step::run(
            "control",
            "SELECT 1 and cancels beside each load of the audits, and the CPU of an idle member (Linux)",
            [release, control],
        ),
        Step::run(
            "package",
            "the Debian package installed in a clean Debian, its service used, upgraded and removed (Linux, root, debootstrap)",
            [package, installed],
        ),
        Step::run("simulation", "the simulated stages under a million seeds", [simulation]),
        Step::run("dags", "a hundred thousand random dataflow graphs, simulated: none hangs", [dags]),
        Step::run("loom", "the loom models with more interruptions than verify allows", [loom]),
        Step::run("forkjoin", "the full bench: fork-join against rayon, chili and a loop", bench("forkjoin")),
        Step::run("spsc", "the full bench: the conveyor against rtrb", bench("spsc")),
        Step::run("striped", "the full bench: strands against threads with channels", bench("striped")),
        Step::run("chunked", "the full bench: ChunkedList against Vec", bench("chunked")),
    ]
}

fn help(steps: &[Step]) -> String {
    format!(
        "\
The runs that take too long for every change: run them before a release, or after a change to a protocol.
Says every minute that a step goes on. Run nothing else beside the benches.

Usage: cargo xtask long [--only <step>]... [--skip <step>]... [--seeds <n>] [--dags <n>] [--preemptions <n>]
                        [--model-seconds <n>] [--frames <n>] [--histories <n>] [--queries <n>] [--cancels <n>]
                        [--kills <n>] [--flips <n>] [--trials <n>] [--operations <n>] [--inputs <n>]
                        [--runs <n>] [--neighbours <n>] [--checkout <path>]...

Steps, in this order; the first failure stops:
{}
Bounds:
  --seeds           seeds per simulated test (default {SEEDS}; FILBERT_SEEDS for the tests of filbert-pool)
  --dags            random dataflow graphs (default {DAGS}; FILBERT_SEEDS for the test random_dags of filbert-flow)
  --preemptions     interruptions per run of a model (default {PREEMPTIONS}; LOOM_MAX_PREEMPTIONS)
  --model-seconds   time per model, after which loom stops looking (default {MODEL_SECONDS}; LOOM_MAX_DURATION)
  --frames          mutated frames (default {FRAMES}; FILBERT_FRAMES for the test hostile of filbert)
  --histories       histories of connections (default {HISTORIES}; FILBERT_HISTORIES for the test door of filbert-gate)
  --queries         random queries (default {QUERIES}; FILBERT_SQL_QUERIES for the test random_queries of filbert-sql)
  --cancels         cancelled queries (default {CANCELS}; FILBERT_SQL_CANCELS for the test cancel_storm of filbert-sql)
  --kills           kills of a member that writes (default {KILLS}; FILBERT_KILLS for the test durable of filbert)
  --flips           flipped bits on disk (default {FLIPS}; FILBERT_BIT_FLIPS for the tests of filbert-store)
  --trials          damaged data directories (default {TRIALS}; FILBERT_DISK_TRIALS for the tests of filbert-store)
  --operations      operations of each connection (default {OPERATIONS}; FILBERT_STORM for the test storm of filbert)
  --inputs          hostile inputs (default {INPUTS}; FILBERT_DECODER_INPUTS for the test decoders of filbert-wire)
  --runs            runs of the test command (default {}, each of the length of a whole test run)
  --neighbours      processes that spin beside it (default {})

Scripts of others, without which the step sqllogic is left out:
  --checkout        a checkout of DataFusion, with its submodules testing and parquet-testing, or a folder with SQLite's sqllogictest files
                    test/select1.test to test/select5.test; may be given for each (FILBERT_SQLLOGIC for the test slt of filbert-sql)

A simulated test that fails prints its seed and the command that replays it.

Examples:
  cargo xtask long
  cargo xtask long --only simulation --seeds 50000
  cargo xtask long --only loom --preemptions 5
  cargo xtask long --only frames --frames 1000000
  cargo xtask long --only busy --runs 2
  cargo xtask long --only sqllogic --checkout ../datafusion --checkout ../sqllogictest
",
        step::list(steps),
        busy::RUNS,
        busy::NEIGHBOURS,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_states_every_bound_and_step() {
        let workspace = Workspace::find().unwrap();
        let steps = steps(&workspace, &Options::default());
        let help = help(&steps);
        for word in ["FILBERT_SEEDS", "1000000", "LOOM_MAX_PREEMPTIONS", "simulation", "forkjoin", "chunked"]
            .into_iter()
            .chain(NUMBERS)
            .chain([SCRIPTS.0, SCRIPTS.1])
        {
            assert!(help.contains(word), "{word}");
        }
    }

    #[test]
    fn scripts_of_others_are_run_where_there_are_some() {
        let parse = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let mut options =
                Options::parse("long", &words, &["loom", SCRIPTS.0], &NUMBERS, &[SCRIPTS.1]).unwrap();
            leave_out_scripts(&mut options).map(|()| options.wants(SCRIPTS.0))
        };
        assert_eq!(parse(""), Ok(false));
        assert_eq!(parse("--only loom"), Ok(false));
        assert_eq!(parse("--checkout ."), Ok(true));
        assert_eq!(parse("--only sqllogic --checkout ."), Ok(true));
        assert!(parse("--only sqllogic").unwrap_err().contains("--checkout"));
    }
}
