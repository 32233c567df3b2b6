//! `filbert demo`: a tour of what works, embedded, in a few seconds. Each act is a file and grows with the product.
#![expect(clippy::disallowed_methods, reason = "the demo shows how long things take on the real clock")]

mod cube;
mod events;
mod flow;
mod grid;
mod kernel;
mod rules;
mod simulation;
mod snippet;
mod sql;
mod strands;
mod timing;

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
    show(&mut std::io::stdout().lock(), arguments.quick)
}

/// Shows all acts, one below the other.
fn show(out: &mut impl Write, quick: bool) -> Outcome {
    writeln!(out, "Filbert {}: a tour of what works\n", env!("CARGO_PKG_VERSION"))?;

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

    writeln!(out, "What the stages did meanwhile")?;
    write_counters(out, &member.stages().snapshot(), "  ")?;

    let start = Instant::now();
    let report = member.shutdown(Shutdown::Drain)?;
    let ended = start.elapsed().as_secs_f64() * 1e3;
    writeln!(out, "\nShut down in {ended:.1} ms; {} threads left behind.", report.left_behind.len())?;
    writeln!(out, "Next: `filbert start`, and docs/README.md for all that there is.")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn every_act_fits_a_terminal_and_ends_with_what_to_type() {
        let mut out = Vec::new();
        show(&mut out, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        for line in text.lines() {
            assert!(line.width() <= 80, "{line:?} is wider than a terminal");
        }
        let acts = [
            "Grid",
            "Dataflow",
            "SQL",
            "Cube",
            "Fork-join",
            "Strands",
            "Events",
            "Rules",
            "Simulation",
            "What the stages",
        ];
        let begins =
            acts.map(|act| text.find(&format!("\n\n{act}")).unwrap_or_else(|| panic!("no {act}: {text}")));
        for act in begins.windows(2) {
            let act = &text[act[0]..act[1]];
            let (_, typed) =
                act.split_once("\n  You would type:\n").or(act.split_once("\n  In Rust:\n")).unwrap();
            assert!(
                typed.lines().count() >= 1 && typed.lines().all(|line| line.starts_with("    ")),
                "{act}"
            );
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.matches(", best of 5)").count() >= 6, "{text}");
    }
}
