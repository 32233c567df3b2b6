//! Filbert's chores, one file each: `cargo xtask <chore>`. Little but the standard library, and nothing of the
//! product: so the chores build in seconds and work even while the product does not compile.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "a chore says how long it took, and is never simulated")]

mod busy;
mod clients;
mod demo;
mod duckdb;
mod fix;
mod invocation;
mod long;
mod options;
mod package;
mod readme;
mod retest;
mod screens;
mod step;
mod tidy;
mod verify;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
Filbert's chores.

Usage: cargo xtask <chore> [options]

  verify   everything a change must pass; what CI runs; never writes a source file
  fix      format, apply clippy's suggestions, write the generated parts of docs/ anew
  tidy     the rules of this code base that no other tool checks (part of verify)
  long     the runs that take too long for every change: a million seeds, deep loom models, full benches
  screens  runs the commands that the pages for users show, and writes their output and pictures
  package  what a stranger installs: an archive, a Debian package, a Dockerfile

Each chore explains itself: cargo xtask <chore> --help

Examples:
  cargo xtask verify
  cargo xtask verify --only clippy
  cargo xtask verify --skip loom --skip demo
  cargo xtask fix
  cargo xtask long --only simulation --seeds 50000
  cargo xtask package
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let chore = arguments.next();
    let rest: Vec<String> = arguments.collect();
    let outcome = match chore.as_deref() {
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some("verify") => verify::run(&rest),
        Some("fix") => fix::run(&rest),
        Some("tidy") => tidy::run(&rest),
        Some("long") => long::run(&rest),
        Some("screens") => screens::run(&rest),
        Some("package") => package::run(&rest),
        Some(other) => Err(format!(
            "there is no chore {other:?}; `cargo xtask` lists them: verify, fix, tidy, long, screens, package"
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
