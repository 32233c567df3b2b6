//! Runs a simulated test for many seeds, and says how to run the one that fails again.
//!
//! A simulation is a function of its seed alone, so a failure is worth its seed and nothing else. [`seeds`] runs the body for
//! each seed in turn, stops at the first that panics, and panics itself with that seed and the command that replays it:
//!
//! ```text
//! simulation no_wake_is_lost fails with seed 7: task 3 has tokens that it never took
//!   replay: FILBERT_SEED=7 cargo test -p filbert-pool --lib polled::tests::no_wake_is_lost -- --exact
//! ```
//!
//! | Variable | Effect |
//! |---|---|
//! | `FILBERT_SEED=<seed>` | only this seed |
//! | `FILBERT_SEEDS=<count>` | this many seeds from the test's first one on; `cargo xtask long` asks for a million |
//!
//! Package, target and the test's full name come from what cargo and the test runner tell the process, so that
//! a test that moves or is renamed still prints the right command.
//!
//! What simulated stages do not have: sockets and timers of tokio (there is no tokio runtime behind `io` and `mixed`; a
//! future that asks for one panics), and waits that end in any order (a wait inside a wait ends first; where the
//! outer one would have to go on first, the simulation says so and fails).
//!
//! Rejected: collecting all failing seeds. The first one is enough to work on, and a broken invariant fails most of them.

use crate::panics::caught;
use std::ops::Range;
use std::path::Path;

const ONE_SEED: &str = "FILBERT_SEED";
const SEED_COUNT: &str = "FILBERT_SEEDS";

/// Runs `body` for every seed of the range, or for those that the environment asks for.
///
/// `test` is the name of the test function; it is printed, and used to replay where the test runner does not tell it. Outside
/// a test the program itself is named, with its arguments.
///
/// ```
/// use filbert_pool::{Stages, simulate};
///
/// simulate::seeds("a_strand_keeps_its_order", 0..20, |seed| {
///     let stages = Stages::simulated(seed);
///     let list = stages.partition().strand(seed, Vec::new());
///     for i in 0..10 {
///         list.post("append", move |list| list.push(i)).unwrap();
///     }
///     let list = list.submit("read", |list| list.clone()).unwrap();
///     assert_eq!(list.wait().unwrap(), (0..10).collect::<Vec<_>>());
/// });
/// ```
///
/// # Panics
/// When the body panics for a seed, with that seed and the command that replays it; when a variable is not a number.
#[track_caller]
pub fn seeds(test: &str, default: Range<u64>, body: impl FnMut(u64)) {
    let variable = |name: &str| std::env::var(name).ok();
    let range = match choose(default, variable(ONE_SEED).as_deref(), variable(SEED_COUNT).as_deref()) {
        Ok(range) => range,
        Err(message) => panic!("{message}"),
    };
    if let Err(failure) = run(range, body) {
        let Failure { seed, message } = failure;
        panic!(
            "simulation {test} fails with seed {seed}: {message}\n  replay: {}",
            Place::here(test).replay(seed)
        );
    }
}

/// Which seeds to run.
fn choose(default: Range<u64>, one: Option<&str>, count: Option<&str>) -> Result<Range<u64>, String> {
    let number = |name: &str, text: &str| {
        text.trim().replace('_', "").parse::<u64>().map_err(|error| {
            format!("the environment variable {name} must be a whole number, not {text:?} ({error}); correct or unset it")
        })
    };
    if let Some(one) = one {
        let seed = number(ONE_SEED, one)?;
        // The last seed of all cannot be the start of a range; no simulation needs it.
        return Ok(seed..seed.saturating_add(1));
    }
    match count {
        Some(count) => Ok(default.start..default.start.saturating_add(number(SEED_COUNT, count)?)),
        None => Ok(default),
    }
}

/// The first seed that failed, and what its panic said.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    seed: u64,
    message: String,
}

fn run(range: Range<u64>, mut body: impl FnMut(u64)) -> Result<(), Failure> {
    for seed in range {
        if let Err(message) = caught(|| body(seed)) {
            return Err(Failure { seed, message });
        }
    }
    Ok(())
}

/// Where a test runs: enough to run it again.
#[derive(Debug, Clone)]
struct Place {
    /// From cargo; not there when the test binary was started by hand.
    package: Option<String>,
    executable: String,
    arguments: Vec<String>,
    test: String,
    /// The test runner told the full name.
    exact: bool,
    /// The test runner runs it; else it is a program of its own, with arguments of its own.
    harness: bool,
    release: bool,
}

impl Place {
    fn here(test: &str) -> Self {
        // The test runner names each test's thread after the test, unless it runs them all on the main thread.
        let thread = std::thread::current().name().filter(|name| name.ends_with(test)).map(str::to_owned);
        let mut arguments = std::env::args();
        let executable = arguments.next().unwrap_or_default();
        Self {
            package: std::env::var("CARGO_PKG_NAME").ok(),
            harness: thread.is_some() || is_test_binary(&executable),
            executable,
            arguments: arguments.collect(),
            exact: thread.is_some(),
            test: thread.unwrap_or_else(|| test.to_owned()),
            release: !cfg!(debug_assertions),
        }
    }

    fn replay(&self, seed: u64) -> String {
        if !self.harness {
            let words: Vec<&str> =
                [&self.executable].into_iter().chain(&self.arguments).map(String::as_str).collect();
            return format!("{ONE_SEED}={seed} {}", words.join(" "));
        }
        let Some(package) = &self.package else {
            let exact = if self.exact { " --exact" } else { "" };
            return format!("{ONE_SEED}={seed} {} {}{exact}", self.executable, self.test);
        };
        let exact = if self.exact { " -- --exact" } else { "" };
        let target = target_name(&self.executable);
        let target =
            if target == package.replace('-', "_") { "--lib".to_owned() } else { format!("--test {target}") };
        let release = if self.release { " --release" } else { "" };
        format!("{ONE_SEED}={seed} cargo test -p {package}{release} {target} {}{exact}", self.test)
    }
}

/// `target/debug/deps/striped-0123456789abcdef` is the target `striped`.
fn target_name(executable: &str) -> String {
    let stem = Path::new(executable).file_stem().unwrap_or_default().to_string_lossy();
    match without_hash(&stem) {
        Some(name) => name.to_owned(),
        None => stem.into_owned(),
    }
}

/// Cargo puts test binaries into `deps`, with a hash in their names; programs stand beside that folder.
fn is_test_binary(executable: &str) -> bool {
    let path = Path::new(executable);
    let in_deps = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "deps");
    in_deps && without_hash(&path.file_stem().unwrap_or_default().to_string_lossy()).is_some()
}

fn without_hash(stem: &str) -> Option<&str> {
    let (name, hash) = stem.rsplit_once('-')?;
    (hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            package: Some("filbert-pool".to_owned()),
            executable: "/src/target/debug/deps/filbert_pool-0123456789abcdef".to_owned(),
            arguments: Vec::new(),
            harness: true,
            test: "polled::tests::a_test".to_owned(),
            exact: true,
            release: false,
        }
    }

    #[test]
    fn the_first_failing_seed_is_reported_and_ends_the_run() {
        let mut tried = Vec::new();
        let failure = run(3..20, |seed| {
            tried.push(seed);
            assert!(seed < 7, "seed {seed} is not below 7");
        });
        assert_eq!(failure, Err(Failure { seed: 7, message: "seed 7 is not below 7".to_owned() }));
        assert_eq!(tried, [3, 4, 5, 6, 7]);
        assert_eq!(run(0..7, |seed| assert!(seed < 7)), Ok(()));
    }

    #[test]
    fn the_environment_chooses_the_seeds() {
        assert_eq!(choose(10..20, None, None), Ok(10..20));
        assert_eq!(choose(10..20, Some("7"), Some("5")), Ok(7..8));
        assert_eq!(choose(10..20, None, Some("1_000_000")), Ok(10..1_000_010));
        let refused = choose(0..1, Some("seven"), None).unwrap_err();
        assert!(refused.contains("FILBERT_SEED must be a whole number, not \"seven\""), "{refused}");
        assert!(choose(0..1, None, Some("-1")).unwrap_err().contains("FILBERT_SEEDS"));
    }

    #[test]
    fn the_command_replays_unit_tests_and_integration_tests() {
        let unit = "FILBERT_SEED=7 cargo test -p filbert-pool --lib polled::tests::a_test -- --exact";
        assert_eq!(place().replay(7), unit);
        let other = Place {
            executable: r"target/release/deps/take-over-0123456789abcdef.exe".to_owned(),
            test: "strands".to_owned(),
            exact: false,
            release: true,
            ..place()
        };
        let integration = "FILBERT_SEED=8 cargo test -p filbert-pool --release --test take-over strands";
        assert_eq!(other.replay(8), integration);
    }

    #[test]
    fn without_cargo_the_binary_itself_is_named() {
        let by_hand = Place { package: None, executable: "./striped".to_owned(), ..place() };
        assert_eq!(by_hand.replay(9), "FILBERT_SEED=9 ./striped polled::tests::a_test --exact");
    }

    #[test]
    fn a_program_is_replayed_with_its_own_arguments_and_no_others() {
        let program = Place {
            executable: "target/debug/explore".to_owned(),
            arguments: vec!["--deep".to_owned()],
            harness: false,
            exact: false,
            ..place()
        };
        assert_eq!(program.replay(9), "FILBERT_SEED=9 target/debug/explore --deep");
        assert!(!is_test_binary(&program.executable));
        assert!(is_test_binary(&place().executable));
    }

    #[test]
    fn this_test_knows_its_own_name() {
        let place = Place::here("this_test_knows_its_own_name");
        assert!(place.test.ends_with("this_test_knows_its_own_name"));
        assert_eq!(target_name(&place.executable), "filbert_pool");
    }
}
