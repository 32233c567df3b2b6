//! `filbert start`: a member with its doors open, until it is told to end.

mod fixtures;
mod settings;

use super::Outcome;
use filbert::{Member, Shutdown};
use filbert_gate::hazelcast::Door;
use filbert_grid::{Grid, Registry};
use settings::StartSettings;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long answers that are under way may take when the member ends.
const DRAIN: Duration = Duration::from_secs(10);

/// The options of `filbert start`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port for Hazelcast clients; 0 lets the system choose.
    #[arg(long)]
    port: Option<u16>,
    /// What clients must call the cluster.
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let settings = StartSettings::read(arguments)?;
    let member = Member::start()?;
    let grid = Grid::with(member.stages(), settings.grid, Registry::new());
    if settings.test_fixtures {
        fixtures::register(&grid);
    }
    let door = Door::new(&grid, settings.door).open()?;
    // The handlers are in place before anyone can know that the member is there.
    let told = member.stages().mixed().spawn("signals", told_to_end())?;
    let mut out = std::io::stdout();
    writeln!(out, "filbert: Hazelcast clients on {}", door.local_addr())?;
    out.flush()?;
    let word = told.wait()??;
    writeln!(out, "filbert: {word}, draining")?;
    let report = door.drain(DRAIN)?.wait()?;
    if report.cut_short > 0 {
        writeln!(out, "filbert: {} of {} connections were cut short", report.cut_short, report.connections)?;
    }
    drop(door);
    member.shutdown(Shutdown::Drain)?;
    Ok(())
}

/// Waits until the system or a person says so.
async fn told_to_end() -> std::io::Result<&'static str> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut word = None;
    std::future::poll_fn(|context| {
        for (signal, name) in [(&mut terminate, "SIGTERM"), (&mut interrupt, "SIGINT")] {
            if signal.poll_recv(context).is_ready() {
                word = Some(name);
            }
        }
        if word.is_some() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    Ok(word.unwrap_or_default())
}
