//! Act 5: the fork-join kernel. Sums `fnv(i) % 5` over those of many numbers that are below 150, on one core and on all.

use super::super::table::Table;
use super::super::text::{grouped, write_wrapped};
use super::{snippet, timing};
use filbert::Member;
use std::convert::Infallible;
use std::hint::black_box;
use std::io::{self, Write};

/// The Fowler-Noll-Vo hash (1a, 32 bits) of an integer's four bytes.
fn fnv(value: u32) -> u32 {
    value
        .to_le_bytes()
        .iter()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> io::Result<()> {
    let count: u32 = if quick { 1_000_000 } else { 10_000_000 };
    let mut state = 1_u32;
    let numbers: Vec<u32> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % 300
        })
        .collect();
    let cpu = member.stages().cpu();
    let one =
        || black_box(&numbers).iter().filter(|i| **i < 150).map(|i| u64::from(fnv(*i) % 5)).sum::<u64>();
    let all = || cpu.slice(black_box(&numbers)).filter(|i| **i < 150).map(|i| u64::from(fnv(*i) % 5)).sum();

    // The answer is put into a black box each time, or the compiler may leave a loop out whose answer it knows already.
    let Ok((answer, alone)) = timing::best(|| Ok::<_, Infallible>(black_box(one())));
    let Ok((same, together)) = timing::best(|| Ok::<u64, Infallible>(black_box(all())));
    assert_eq!(answer, same, "both ways give the same sum");
    let sizes = grouped(u64::from(count));
    writeln!(out, "Fork-join: a sum over those of {sizes} numbers that are below 150")?;
    let mut table = Table::new(&["", "ms", "ns per number", "sum"]);
    for (name, took) in [("plain loop, one thread", alone), ("stage cpu, all cores", together)] {
        table.row([
            name.to_owned(),
            format!("{:.1}", took.as_secs_f64() * 1e3),
            format!("{:.2}", took.as_nanos() as f64 / f64::from(count)),
            answer.to_string(),
        ]);
    }
    table.write(out, "  ")?;
    let compared = timing::compared(alone, together, timing::cores());
    write_wrapped(out, "  ", &format!("{compared} ({})", timing::how()))?;
    snippet::write(out, include_str!("snippets/kernel.txt"))
}
