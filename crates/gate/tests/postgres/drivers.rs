//! The quick suites of drivers that we did not write, where they are installed: `tests/clients/setup.sh` installs them. In CI they are.
//!
//! `tests/clients/run.sh --postgres`, the step `clients` of `cargo xtask verify`, runs all suites, these among them. Left to it alone are
//! those that take long to start or to run: pandas, polars, connectorx, ADBC, SQLAlchemy, JDBC, pgx, tokio-postgres.

use crate::client::Member;
use std::path::{Path, PathBuf};
use std::process::Command;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients")
}

/// Where the drivers are installed.
fn installed() -> PathBuf {
    let found = Command::new("bash").arg(clients().join("setup.sh")).arg("--where").output().unwrap();
    String::from_utf8_lossy(&found.stdout).trim().into()
}

/// True when a command says that a driver is there; fails where nothing may be left out.
fn is_there(driver: &str, command: &mut Command) -> bool {
    let found = command.output().is_ok_and(|output| output.status.success());
    if !found {
        crate::client::skipped(&format!("{driver} is not installed (tests/clients/setup.sh installs it)"));
    }
    found
}

fn run(member: &Member, command: &mut Command) {
    let output = command.env("FILBERT_POSTGRES", member.address().to_string()).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
}

/// The suites of Python that take a moment.
const QUICK: [&str; 4] = ["test_psycopg.py", "test_psycopg2.py", "test_asyncpg.py", "test_pg8000.py"];

#[test]
fn python_drivers() {
    let python = installed().join("venv/bin/python");
    let modules = "import psycopg, psycopg2, asyncpg, pg8000, pytest, pytest_timeout";
    if !is_there("a PostgreSQL driver of Python", Command::new(&python).args(["-c", modules])) {
        return;
    }
    let suite = clients().join("postgres");
    let member = Member::start();
    member.add_cities();
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=120"];
    run(
        &member,
        Command::new(python)
            .args(words)
            .arg("--rootdir")
            .arg(&suite)
            .args(QUICK.map(|file| suite.join(file)))
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    );
}

#[test]
fn node_postgres() {
    let modules = installed().join("node/node_modules");
    let node = || {
        let mut node = Command::new("node");
        node.env("NODE_PATH", &modules);
        node
    };
    if !is_there("node-postgres", node().args(["-e", "require('pg')"])) {
        return;
    }
    let member = Member::start();
    run(
        &member,
        node()
            .args(["--test", "--test-timeout=120000"])
            .arg(clients().join("postgres/node_postgres.test.js")),
    );
}
