//! A stream cut into windows: clicks are sent while the job runs, and counted per page and second. `cargo run --example windowed`
//!
//! Time is what the clicks say, not what the clock says: the same clicks make the same windows, however fast they come.

use filbert::connect::channel::{self, ChannelSource, Sender};
use filbert::flow::aggregate::count;
use filbert::flow::event_time::{InWindow, tumbling};
use filbert::flow::processors::{Collected, collect};
use filbert::{Member, Pipeline};
use std::error::Error;

/// When, in milliseconds, and on which page.
type Click = (i64, &'static str);

const PAGES: [&str; 3] = ["home", "shop", "cart"];

/// Counts clicks per page in windows of a second.
pub(crate) fn windowed(
    clicks: ChannelSource<Click>,
    counts: &Collected<InWindow<&'static str, u64>>,
) -> Pipeline {
    Pipeline::read(clicks)
        .named("clicks")
        .event_time(|click| click.0, 0)
        .group_by(|click| click.1)
        .window(tumbling(1_000))
        .aggregate(count())
        .named("windows")
        .write(collect(counts))
        .named("windowed")
}

/// Sends so many clicks, a millisecond apart; waits when the job does not keep up, and stops when it is over.
pub(crate) fn send_clicks(sender: &Sender<Click>, clicks: i64) {
    for (time, page) in (0..clicks).zip(PAGES.into_iter().cycle()) {
        if sender.send((time, page)).is_err() {
            return;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sender, clicks) = channel::source(1024);
    let counts = Collected::new();
    let job = Member::start()?.submit(&windowed(clicks, &counts).to_dag()?)?;
    send_clicks(&sender, 5_000);
    drop(sender);
    job.wait()?;
    let mut counts = counts.take();
    counts.sort();
    for InWindow { start, end, key, result } in counts {
        println!("{start:>6} to {end:>6} ms  {key:<5} {result:>5}");
    }
    Ok(())
}
