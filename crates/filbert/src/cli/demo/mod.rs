//! `filbert demo`: a tour of what works, embedded, in a few seconds. Each act is a file and grows with the product.
#![expect(clippy::disallowed_methods, reason = "the demo shows how long things take on the real clock")]

mod cube;
mod events;
mod flow;
mod grid;
mod kernel;
mod rules;
mod simulation;
mod sql;
mod strands;

use super::Outcome;
use super::stages::write_counters;
use filbert::{Member, Shutdown};
use std::io::Write;
use std::time::Instant;

/// The options of `filbert demo`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Smaller sizes: about a second.
    #[arg(long)]
    quick: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    let quick = arguments.quick;
    writeln!(out, "Filbert {}: every kind of work on the threads made for it\n", env!("CARGO_PKG_VERSION"))?;

    let start = Instant::now();
    let member =
        Member::builder().executor("reports").entry_processor("add", grid::Add::from_argument).start()?;
    let stages = member.stages().snapshot();
    let took = start.elapsed();
    writeln!(out, "A member with {} stages started in {:.1} ms.\n", stages.len(), took.as_secs_f64() * 1e3)?;

    grid::show(&member, out, quick)?;
    flow::show(&member, out, quick)?;
    sql::show(&member, out, quick)?;
    cube::show(&member, out, quick)?;
    kernel::show(&member, out, quick)?;
    strands::show(&member, out, quick)?;
    events::show(&member, out)?;
    rules::show(&member, out)?;
    simulation::show(out, quick)?;

    writeln!(out, "\nWhat the stages did meanwhile")?;
    write_counters(out, &member.stages().snapshot(), "  ")?;

    let start = Instant::now();
    let report = member.shutdown(Shutdown::Drain)?;
    let ended = start.elapsed().as_secs_f64() * 1e3;
    writeln!(out, "\nShut down in {ended:.1} ms; {} threads left behind.", report.left_behind.len())?;
    writeln!(
        out,
        "Next: `filbert start` and a Python client, `filbert map --help`, `filbert job --help`, `filbert sql`, `filbert cube --help`, `filbert stages`, README.md."
    )?;
    Ok(())
}
