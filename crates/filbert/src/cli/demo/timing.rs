//! How the demo measures: every figure is the best of several runs, since other programs share the machine.

use std::time::{Duration, Instant};

/// Runs of everything that is timed.
pub(super) const RUNS: usize = 5;

/// Returns the number of cores that work for the demo.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Says how a figure was made: `2 cores, best of 5`.
pub(super) fn how() -> String {
    let cores = cores();
    format!("{cores} {}, best of {RUNS}", if cores == 1 { "core" } else { "cores" })
}

/// Runs `body` several times and returns its last result with its shortest time.
pub(super) fn best<T, E>(mut body: impl FnMut() -> Result<T, E>) -> Result<(T, Duration), E> {
    let mut run = || {
        let start = Instant::now();
        body().map(|result| (result, start.elapsed()))
    };
    let mut best = run()?;
    for _ in 1..RUNS {
        let (result, took) = run()?;
        best = (result, best.1.min(took));
    }
    Ok(best)
}

/// Compares the best times of one thread and of all cores, in words. A ratio that cannot be is not told as a figure:
/// it only says that other programs were busy.
pub(super) fn compared(one: Duration, all: Duration, cores: usize) -> String {
    let ratio = one.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
    let most = cores as f64;
    if cores == 1 {
        "this machine has one core, so both do the same work in turn".to_owned()
    } else if ratio > most {
        "other programs held up the plain loop, so no speed-up is told".to_owned()
    } else if ratio < 1.05 {
        let build = if cfg!(debug_assertions) { ", or because this is a debug build" } else { "" };
        format!("no speed-up this time, because other programs had the cores{build}")
    } else {
        format!("{ratio:.1} times as fast as the plain loop; {cores} times would be all cores")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio of 6.68 was once printed on two cores, and one of 0.26.
    #[test]
    fn no_speed_up_makes_one_doubt() {
        let compared =
            |one, all, cores| super::compared(Duration::from_micros(one), Duration::from_micros(all), cores);
        assert_eq!(
            compared(1_900, 1_000, 2),
            "1.9 times as fast as the plain loop; 2 times would be all cores"
        );
        for (one, all, cores) in [(6_680, 1_000, 2), (260, 1_000, 2), (1_000, 0, 2), (1_040, 1_000, 4)] {
            let said = compared(one, all, cores);
            assert!(said.contains("no speed-up") && !said.contains(" times"), "{said}");
        }
        assert!(compared(1_900, 1_000, 1).contains("one core"));
    }

    #[test]
    fn the_shortest_run_counts() {
        let mut runs = 0;
        let (last, _) = best(|| {
            runs += 1;
            Ok::<_, ()>(runs)
        })
        .unwrap();
        assert_eq!(last, RUNS);
        assert_eq!(best(|| Err::<(), _>("failed")), Err("failed"));
    }
}
