//! The simulation harness as a user meets it: a test that fails names its seed, and the printed command replays it.
//!
//! The test binary starts itself, with a body that fails at seed 7; started by anyone else that body does nothing.

use filbert_pool::simulate;
use std::process::Command;

const ON_PURPOSE: &str = "FILBERT_FAIL_ON_PURPOSE";

#[test]
fn fails_at_seed_seven() {
    if std::env::var_os(ON_PURPOSE).is_none() {
        return;
    }
    simulate::seeds("fails_at_seed_seven", 0..20, |seed| assert_ne!(seed, 7, "on purpose"));
}

/// Runs [`fails_at_seed_seven`] in a process of its own; whether it passed, and what it printed.
fn run(variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["fails_at_seed_seven", "--exact", "--nocapture"]);
    command.env_remove("FILBERT_SEED").env_remove("FILBERT_SEEDS").env("CARGO_PKG_NAME", "filbert-pool");
    command.env(ON_PURPOSE, "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), text.concat())
}

#[test]
fn a_failure_names_its_seed_and_the_command_that_replays_it() {
    let (passed, output) = run(&[]);
    assert!(!passed);
    assert!(output.contains("simulation fails_at_seed_seven fails with seed 7: "), "{output}");
    assert!(output.contains("on purpose"), "{output}");
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    let command = format!(
        "replay: FILBERT_SEED=7 cargo test -p filbert-pool{release} --test simulate fails_at_seed_seven"
    );
    assert!(output.contains(&command), "{output}");
}

#[test]
fn one_seed_is_replayed_alone() {
    assert!(!run(&[("FILBERT_SEED", "7")]).0);
    assert!(run(&[("FILBERT_SEED", "8")]).0);
}

#[test]
fn the_count_of_seeds_is_the_environments() {
    assert!(run(&[("FILBERT_SEEDS", "7")]).0, "seeds 0 to 6");
    assert!(!run(&[("FILBERT_SEEDS", "8")]).0);
}

#[test]
fn a_variable_that_is_no_number_is_refused() {
    let (passed, output) = run(&[("FILBERT_SEED", "lucky")]);
    assert!(!passed);
    assert!(output.contains("FILBERT_SEED must be a whole number, not \"lucky\""), "{output}");
}
