//! Act 6: strands. The same operation by a hop to a partition thread and on the caller's own; and a slow neighbour.

use super::super::table::Table;
use super::super::text::write_wrapped;
use super::{snippet, timing};
use filbert::{Called, Member};
use std::io::{self, Write};
use std::time::{Duration, Instant};

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> io::Result<()> {
    let partition = member.stages().partition();
    let rounds: u32 = if quick { 400 } else { 4_000 };
    let add = |count: &mut u64| {
        *count += 1;
        *count
    };

    let hop = partition.strand(1, 0_u64);
    let ((), by_hop) = timing::best(|| {
        (0..rounds).try_for_each(|_| {
            hop.submit("add", add).map_err(io::Error::other)?.wait().map_err(io::Error::other).map(drop)
        })
    })?;

    let here = partition.strand(2, 0_u64);
    let (ran_here, by_caller) = timing::best(|| {
        let mut ran_here = 0;
        for _ in 0..rounds {
            match here.call("add", add).map_err(io::Error::other)? {
                Called::Here(_) => ran_here += 1,
                Called::Queued(later) => drop(later.wait().map_err(io::Error::other)?),
            }
        }
        Ok::<_, io::Error>(ran_here)
    })?;
    let (by_hop, by_caller) = (by_hop / rounds, by_caller / rounds);

    writeln!(out, "Strands: {rounds} operations in turn on one partition ({})", timing::how())?;
    let mut table = Table::new(&["", "ns per operation"]);
    table.row(["by a hop to its partition thread".to_owned(), by_hop.as_nanos().to_string()]);
    table.row([format!("on the caller's thread ({ran_here} of {rounds})"), by_caller.as_nanos().to_string()]);
    table.write(out, "  ")?;
    slow_neighbour(member, out)?;
    snippet::write(out, include_str!("snippets/strands.txt"))
}

/// A task of 50 ms on partition 1, and operations on 64 other partitions, a share of them at home on the same thread.
fn slow_neighbour(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let partition = member.stages().partition();
    let slow = partition.strand(1, ());
    let nap = |(): &mut ()| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
    };
    let slow = slow.submit("slow neighbour", nap).map_err(io::Error::other)?;
    let start = Instant::now();
    let others: Result<Vec<_>, _> =
        (0..64).map(|key| partition.strand(key, ()).submit("quick", |()| ())).collect();
    for other in others.map_err(io::Error::other)? {
        other.wait().map_err(io::Error::other)?;
    }
    let others = start.elapsed();
    let held_up = slow.is_done();
    slow.wait().map_err(io::Error::other)?;
    let verdict = if held_up { "after it" } else { "while it still ran: idle threads took them over" };
    let took = others.as_secs_f64() * 1e3;
    let text =
        format!("A task of 50 ms on one partition; 64 others answered within {took:.1} ms, {verdict}.");
    write_wrapped(out, "  ", &text)
}
