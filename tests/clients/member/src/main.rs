//! A member for the tests of clients: `filbert start` with the code of `fixtures.rs`. It is a program of its own, built with the library
//! as any program that embeds Filbert would be, so that no member of a user knows that code.
#![forbid(unsafe_code)]

mod fixtures;
mod order_entries;

use clap::Parser;
use filbert::gate::hazelcast::Door;
use filbert::{Member, MemberConfig, Shutdown};
use filbert_sql::{Sql, SqlSettings};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A Filbert member with the code that the tests of clients call.
#[derive(Debug, Parser)]
enum Arguments {
    /// Serves Hazelcast clients until SIGTERM or SIGINT.
    Start {
        /// A TOML file with settings.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// The port for Hazelcast clients; 0 lets the system choose.
        #[arg(long)]
        port: Option<u16>,
        /// What clients must call the cluster.
        #[arg(long, value_name = "NAME")]
        cluster_name: Option<String>,
    },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("test member: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Arguments::Start { config, port, cluster_name } = Arguments::parse();
    let mut config = config.map(MemberConfig::from_file).transpose()?.unwrap_or_default();
    if let Some(port) = port {
        config.hazelcast.address.set_port(port);
    }
    if let Some(name) = cluster_name {
        config.hazelcast.cluster_name = name;
    }
    let MemberConfig { stages, grid, hazelcast, .. } = config;
    let member =
        Member::builder().stage_settings(stages).grid(grid).registry(fixtures::registry()).start()?;
    fixtures::add_comparators(member.grid().catalog());
    let sql = Sql::start(member.stages(), SqlSettings::default())?;
    sql.attach(member.grid())?;
    let door = Door::new(member.grid(), hazelcast).sql(&sql).open()?;
    let end = member.end_signal()?;
    println!("test member: Hazelcast clients on {}", door.local_addr());
    println!("test member: {}, draining", end.wait()?);
    door.drain(Duration::from_secs(10))?.wait()?;
    drop(door);
    member.shutdown(Shutdown::Drain)?;
    Ok(())
}
