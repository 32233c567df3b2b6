//! `filbert start`: a member with its doors open, until it is told to end.

use super::Outcome;
use super::settings_file;
use filbert::{Member, MemberConfig, Shutdown};
use std::io::Write;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

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
    let config = config(arguments)?;
    let member = Member::builder()
        .stage_settings(config.stages)
        .grid(config.grid)
        .hazelcast(config.hazelcast)
        .start()?;
    // The handlers are in place before anyone can know that the member is there.
    let told = member.stages().mixed().spawn("signals", told_to_end())?;
    let mut out = std::io::stdout();
    if let Some(address) = member.hazelcast_address() {
        writeln!(out, "filbert: Hazelcast clients on {address}")?;
    }
    out.flush()?;
    let word = told.wait()??;
    writeln!(out, "filbert: {word}, draining")?;
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

fn config(arguments: &Arguments) -> Result<MemberConfig, Box<dyn std::error::Error>> {
    let mut config = settings_file::read(arguments.config.as_deref())?;
    if let Some(port) = arguments.port {
        config.hazelcast.address.set_port(port);
    }
    if let Some(name) = &arguments.cluster_name {
        config.hazelcast.cluster_name.clone_from(name);
    }
    Ok(config)
}
