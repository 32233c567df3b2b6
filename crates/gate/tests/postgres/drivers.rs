//! Drivers that we did not write, where they are installed: `tests/clients/setup.sh` installs psycopg.

use crate::client::Member;
use std::path::{Path, PathBuf};
use std::process::Command;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients")
}

fn run(member: &Member, command: &mut Command) {
    member.add_cities();
    let output = command.env("FILBERT_POSTGRES", member.address().to_string()).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
}

#[test]
fn psycopg() {
    let found = Command::new("bash").arg(clients().join("setup.sh")).arg("--where").output().ok();
    let folder =
        found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let python = Path::new(&folder).join("venv/bin/python");
    let has = Command::new(&python).args(["-c", "import psycopg, pytest, pytest_timeout"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: psycopg is not installed (tests/clients/setup.sh installs it)");
        return;
    }
    let suite = clients().join("postgres");
    let member = Member::start();
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=120"];
    run(&member, Command::new(python).args(words).arg(suite));
}

#[test]
fn tokio_postgres() {
    let Some(program) = std::env::var_os("FILBERT_TOKIO_POSTGRES") else {
        eprintln!(
            "SKIPPED: FILBERT_TOKIO_POSTGRES does not name the program of tests/clients/tokio_postgres"
        );
        return;
    };
    run(&Member::start(), &mut Command::new(program));
}
