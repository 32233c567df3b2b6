//! Act 7: events. A slow listener of one topic neither blocks nor starves another.

use super::snippet;
use filbert::Member;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(super) fn show(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let event = member.stages().event();
    let (slow, quick) = (event.topic("slow"), event.topic("quick"));
    let delivered = Arc::new(AtomicU64::new(0));
    for _ in 0..20 {
        let nap = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
        };
        slow.submit("slow listener", nap).map_err(io::Error::other)?.detach();
    }
    let start = Instant::now();
    let mut last = None;
    for _ in 0..1_000 {
        let delivered = Arc::clone(&delivered);
        let count = move || {
            delivered.fetch_add(1, Ordering::Relaxed);
        };
        last = Some(quick.submit("listener", count).map_err(io::Error::other)?);
    }
    if let Some(last) = last {
        last.wait().map_err(io::Error::other)?;
    }
    let (delivered, took) = (delivered.load(Ordering::Relaxed), start.elapsed().as_secs_f64() * 1e3);
    writeln!(out, "Events: a listener that takes 2 ms for each event, and a quick one beside it")?;
    writeln!(out, "  {delivered} of 1000 events of topic quick were delivered in {took:.1} ms")?;
    snippet::write(out, include_str!("snippets/events.txt"))
}
