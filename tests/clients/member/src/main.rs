//! A member for the tests of clients: `filbert start` with the code of `fixtures.rs`. It is a program of its own, built with the library
//! as any program that embeds Filbert would be, so that no member of a user knows that code.
#![forbid(unsafe_code)]

mod fixtures;
mod order_entries;

use clap::Parser;
use filbert::{HttpSettings, Member, MemberConfig, PostgresSettings, Shutdown};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

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
    // Several run at a time; whoever wants the door for PostgreSQL or HTTP says where.
    if config.postgres.address == PostgresSettings::default().address {
        config.postgres.address.set_port(0);
    }
    if config.http.address == HttpSettings::default().address {
        config.http.address.set_port(0);
    }
    let member = Member::builder().config(config).registry(fixtures::registry()).start()?;
    fixtures::add_comparators(member.grid().catalog());
    let end = member.end_signal()?;
    for (whom, address) in member.listening() {
        println!("test member: {whom} on {address}");
    }
    println!("test member: {}, draining", end.wait()?);
    member.shutdown(Shutdown::Drain)?;
    Ok(())
}
