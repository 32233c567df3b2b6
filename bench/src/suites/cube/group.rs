//! SUM by key over rows in memory: 100, 10 thousand and 10 million keys.
//!
//! Question: is one kernel the fastest for few keys and for many, when it has to find out by itself which it has? Expected bottleneck: with
//! few keys the loop over rows, some nanoseconds each; with many the misses of the cache. Ceiling: reading the rows, 16 bytes each. All
//! compute on two threads over the same rows, in turn, and must find the same sums. Bars against DataFusion, the fastest of the peers: 1.2
//! times for few keys, 2 times for many.

use super::ours::{answer_of, answer_of_maps, kernel, maps};
use super::packages::{ENGINES, PythonPeers};
use super::rows::{Answer, batches};
use super::{SUITE, THREADS};
use crate::harness::{Effort, Times};
use crate::report::Report;
use filbert_pool::WorkStealing;
use std::cell::RefCell;
use std::time::Instant;

/// A contestant and how it groups: the nanoseconds, without those of the check, and the answer.
type Contestant<'a> = (&'static str, Box<dyn FnMut() -> (f64, Answer) + 'a>);

/// Measures `group`, and then, unmeasured, makes an answer of its groups.
fn timed<'a, G: 'a>(
    name: &'static str,
    mut group: impl FnMut() -> G + 'a,
    answer: impl Fn(&G) -> Answer + 'a,
) -> Contestant<'a> {
    let body = move || {
        let begin = Instant::now();
        let groups = group();
        (begin.elapsed().as_nanos() as f64, answer(&groups))
    };
    (name, Box::new(body))
}

pub(super) fn run(effort: Effort, python: bool, report: &mut Report) {
    let rows = effort.pick(50_000, 5_000_000, 50_000_000);
    let rounds = effort.pick(1, 3, 7);
    let cpu = WorkStealing::standalone(THREADS);
    let peers = if python { PythonPeers::start() } else { Err(String::new()) };
    if let Err(reason) = &peers
        && python
    {
        eprintln!(
            "cube: without DuckDB and Polars, because {reason}; they need python3 with venv, and the network once"
        );
    }
    let peers = peers.ok().map(RefCell::new);
    for (keys, bar) in [(100, 1.2), (10_000, 1.2), (10_000_000, 2.0)] {
        // A short run has fewer rows, and then fewer keys: each is met some times.
        let keys = keys.min(rows / 5);
        let label = match keys {
            10_000_000 => "10 million".to_owned(),
            10_000 => "10 thousand".to_owned(),
            other => other.to_string(),
        };
        let batches = batches(rows, keys);
        #[cfg(feature = "sql-peers")]
        let stock = super::datafusion::DataFusion::new(&batches);
        let mut contestants = vec![
            timed("ours", || kernel(&cpu, &batches), answer_of),
            timed("hashbrown per thread", || maps(&batches), answer_of_maps),
        ];
        #[cfg(feature = "sql-peers")]
        contestants.push(timed(DATAFUSION, || stock.group(), |groups| Answer::of(groups)));
        if let Some(peers) = &peers {
            peers.borrow_mut().load(&batches);
            for engine in ENGINES {
                contestants.push((engine, Box::new(move || peers.borrow_mut().group(engine))));
            }
        }
        let times = in_turn(rounds, contestants);
        let case = format!("{label} keys");
        for peer in &times[1..] {
            report.rate(SUITE, &case, rows as f64, &times[0], peer);
            if peer.name == DATAFUSION {
                let ratio = peer.median() / times[0].median();
                report.bar(SUITE, &case, ratio, bar, times[0].spread() + peer.spread());
            }
        }
    }
}

const DATAFUSION: &str = "DataFusion";

/// One round of each in turn, beginning with another one every time.
fn in_turn(rounds: usize, mut contestants: Vec<Contestant<'_>>) -> Vec<Times> {
    let count = contestants.len();
    let mut nanos = vec![Vec::with_capacity(rounds); count];
    let mut expected: Option<Answer> = None;
    for round in 0..=rounds {
        for turn in 0..count {
            let index = (round + turn) % count;
            let (name, group) = &mut contestants[index];
            let (took, answer) = group();
            assert_eq!(*expected.get_or_insert(answer), answer, "{name} answers differently");
            // Round 0 warms up.
            if round > 0 {
                nanos[index].push(took);
            }
        }
    }
    contestants.iter().zip(nanos).map(|((name, _), nanos)| Times::from_nanos(name, nanos)).collect()
}
