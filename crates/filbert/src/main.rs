//! The `filbert` binary.
#![forbid(unsafe_code)]
// `cli::tell` says what is to be said there.
#![deny(clippy::print_stderr)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
