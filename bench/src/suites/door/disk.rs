//! Maps on disk under load, beside redis-server with an append-only file that is flushed as often.
//!
//! Question: how many sets of 32 bytes does one member take when they are kept on disk? Expected bottleneck: the flush when each answer
//! waits for one, the server's threads otherwise. Ceiling: with `always`, writers that wait at a time, divided by the time of a flush.

use super::server::{Flush, Server};
use super::{Dialect, Load, Shape, Side, Verb, compare, load};
use crate::harness::Effort;
use crate::report::Report;
use std::path::Path;
use std::time::Duration;

/// Runs the suite.
pub(crate) fn run(effort: Effort, only: &str, report: &mut Report) {
    // Beside the program, and not in a folder for passing files, which may be in memory.
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    let folder = beside.unwrap_or_default().join(format!("bench-store-{}", std::process::id()));
    let outcome = try_run(&folder, effort, only, report);
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(error) = outcome {
        eprintln!("store: {error}");
        std::process::exit(1);
    }
}

fn try_run(folder: &Path, effort: Effort, only: &str, report: &mut Report) -> std::io::Result<()> {
    let keys = effort.pick(1_000, 100_000, 1_000_000);
    for (flush, name) in [(Flush::Always, "always"), (Flush::Second, "every second"), (Flush::Never, "never")]
    {
        if !name.contains(only) {
            continue;
        }
        let folder = folder.join(name.replace(' ', "-"));
        std::fs::create_dir_all(&folder)?;
        let server = Server::filbert_on_disk(&folder, flush)?;
        let mut sides = vec![Side { server, dialect: Dialect::hazelcast(keys) }];
        match Server::redis_on_disk(&folder, flush) {
            Ok(server) => sides.push(Side { server, dialect: Dialect::redis(keys) }),
            Err(error) => {
                eprintln!("store: {error}; without it (Debian package redis-server) there is no peer")
            }
        }
        for side in &sides {
            load::fill(&side.dialect, side.server.address)?;
        }
        let (rounds, time) = (effort.pick(1, 3, 7), Duration::from_millis(effort.pick(50, 300, 1_000)));
        for (connections, in_flight) in [(1, 1), (50, 1), (200, 16)] {
            let case = format!("set {connections} x {in_flight}, flushed {name}");
            let load = Load { shape: Shape { connections, in_flight }, verb: Verb::Set, rounds, time };
            compare("store", &sides, &case, load, report)?;
        }
    }
    Ok(())
}
