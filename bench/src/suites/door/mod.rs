//! The door under load, beside redis-server and, when its jar is given, a Hazelcast member.
//!
//! Question: how many gets and sets of 32 bytes does one member answer, and how soon? Expected bottleneck: system calls with one
//! request in flight, the server's one busy thread with sixteen. Ceiling: the load generator shares the machine's cores. All
//! servers run at the same time and are loaded in turn, so the machine's drift hits all alike.

mod dialect;
mod disk;
mod load;
mod server;

use crate::harness::{Effort, Times};
use crate::report::Report;
use dialect::Dialect;
pub(crate) use disk::run as run_store;
use load::{Outcome, Shape, Verb};
use server::Server;
pub(crate) use server::{Flush, serve};
use std::path::Path;
use std::time::{Duration, Instant};

/// One figure of an outcome.
type Figure = fn(&Outcome) -> f64;

/// A server, and how it is spoken to.
struct Side {
    server: Server,
    dialect: Dialect,
}

/// Runs the suite.
pub(crate) fn run(effort: Effort, hazelcast_jar: Option<&Path>, only: &str, report: &mut Report) {
    if let Err(error) = try_run(effort, hazelcast_jar, only, report) {
        eprintln!("door: {error}");
        std::process::exit(1);
    }
}

fn try_run(effort: Effort, jar: Option<&Path>, only: &str, report: &mut Report) -> std::io::Result<()> {
    let keys = effort.pick(1_000, 100_000, 1_000_000);
    let mut sides = vec![Side { server: Server::filbert()?, dialect: Dialect::hazelcast(keys) }];
    match Server::redis() {
        Ok(server) => sides.push(Side { server, dialect: Dialect::redis(keys) }),
        Err(error) => eprintln!("door: {error}; without it (Debian package redis-server) there is no peer"),
    }
    if let Some(jar) = jar {
        sides.push(Side { server: Server::hazelcast(jar)?, dialect: Dialect::hazelcast(keys) });
    }
    for side in &sides {
        load::fill(&side.dialect, side.server.address)?;
    }
    let rounds = effort.pick(1, 3, 7);
    let time = Duration::from_millis(effort.pick(50, 150, 1_000));
    for connections in effort.pick(vec![2], vec![1, 50, 200], vec![1, 50, 200]) {
        for in_flight in [1, 16] {
            for verb in [Verb::Get, Verb::Set] {
                let case = format!("{verb:?} {connections} x {in_flight}").to_lowercase();
                if case.contains(only) {
                    let load = Load { shape: Shape { connections, in_flight }, verb, rounds, time };
                    compare("door", &sides, &case, load, report)?;
                }
            }
        }
    }
    for side in &sides {
        let (mb, cpu) = (side.server.resident_mb(), side.server.cpu_seconds());
        report.alone("door", &format!("{}: memory with {keys} keys", side.server.name), "MB", mb);
        report.alone("door", &format!("{}: CPU time in all", side.server.name), "s", cpu);
    }
    Ok(())
}

/// What every side has to bear.
struct Load {
    shape: Shape,
    verb: Verb,
    rounds: usize,
    time: Duration,
}

fn compare(suite: &str, sides: &[Side], case: &str, load: Load, report: &mut Report) -> std::io::Result<()> {
    let Load { shape, verb, rounds, time } = load;
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); sides.len()];
    let mut cpu = vec![0.0; sides.len()];
    for round in 0..=rounds {
        for turn in 0..sides.len() {
            let index = (round + turn) % sides.len();
            let side = &sides[index];
            let (before, begin) = (side.server.cpu_seconds(), Instant::now());
            let outcome = load::run(&side.dialect, side.server.address, verb, shape, time)?;
            if round > 0 {
                // Round 0 warms up.
                let took = begin.elapsed().as_secs_f64();
                cpu[index] += (side.server.cpu_seconds() - before) / rounds as f64 / took;
                outcomes[index].push(outcome);
            }
        }
    }
    let times = |index: usize| {
        let nanos = outcomes[index].iter().map(|outcome| 1e9 / outcome.per_second).collect();
        Times::from_nanos(sides[index].server.name, nanos)
    };
    let median = |index: usize, figure: Figure| {
        let mut figures: Vec<f64> = outcomes[index].iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let latencies: [(&str, Figure); 2] =
        [("p50", |outcome| outcome.p50_us), ("p99", |outcome| outcome.p99_us)];
    if sides.len() == 1 {
        report.alone(suite, case, "k/s", 1e6 / times(0).median());
    }
    for peer in 1..sides.len() {
        let name = sides[peer].server.name;
        let (ours, theirs) = (times(0), times(peer));
        let (spread, figures) =
            (ours.spread() + theirs.spread(), (1e6 / ours.median(), 1e6 / theirs.median()));
        report.row(
            suite,
            &format!("{case}, throughput"),
            "k/s",
            figures.0,
            Some((name, figures.1)),
            false,
            spread,
        );
        for (label, figure) in latencies {
            let (ours, theirs) = (median(0, figure), median(peer, figure));
            report.row(suite, &format!("{case}, {label}"), "us", ours, Some((name, theirs)), true, 0.0);
        }
        report.row(
            suite,
            &format!("{case}, cores used"),
            "cores",
            cpu[0],
            Some((name, cpu[peer])),
            true,
            0.0,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

    #[test]
    fn the_load_runs_at_a_tiny_size() {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // It ends with the process.
        std::thread::spawn(move || serve(port, None));
        while TcpStream::connect(address).is_err() {
            std::thread::yield_now();
        }
        let dialect = Dialect::hazelcast(500);
        load::fill(&dialect, address).unwrap();
        for verb in [Verb::Get, Verb::Set] {
            let shape = Shape { connections: 3, in_flight: 16 };
            let outcome = load::run(&dialect, address, verb, shape, Duration::from_millis(50)).unwrap();
            assert!(outcome.per_second > 0.0 && outcome.p50_us <= outcome.p99_us);
        }
    }
}
