//! Act 9: the same stages on one thread, with virtual time, every choice from a seed.

use super::snippet;
use filbert::Stages;
use std::io::{self, Write};
use std::time::Instant;

pub(super) fn show(out: &mut impl Write, quick: bool) -> io::Result<()> {
    let seeds = if quick { 50 } else { 500 };
    let start = Instant::now();
    for seed in 0..seeds {
        let stages = Stages::simulated(seed);
        let strand = stages.partition().strand(seed, Vec::new());
        let all: Result<Vec<_>, _> =
            (0..10).map(|i| strand.submit("append", move |list| list.push(i))).collect();
        for future in all.map_err(io::Error::other)? {
            future.wait().map_err(io::Error::other)?;
        }
        let list = strand.submit("read", |list| list.clone()).map_err(io::Error::other)?;
        let list = list.wait().map_err(io::Error::other)?;
        assert_eq!(list, (0..10).collect::<Vec<_>>(), "seed {seed}: order within a strand");
    }
    let took = start.elapsed().as_secs_f64() * 1e3;
    writeln!(out, "Simulation: all stages on one thread, in virtual time, every choice from a seed")?;
    writeln!(out, "  order within a strand held for {seeds} seeds, checked in {took:.0} ms")?;
    snippet::write(out, include_str!("snippets/simulation.txt"))
}
