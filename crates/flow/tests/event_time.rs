//! Event time against plain Rust: windows, sessions, late items, sources that never end.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::aggregate::{count, sum};
use filbert_flow::event_time::{InWindow, LateItems, session, sliding, tumbling};
use filbert_flow::processors::{Collected, collect, for_each, iterate};
use filbert_flow::{JobStatus, Pipeline, Share};
use filbert_pool::Stages;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

type Item = (i64, u8);

fn part(items: &[Item], share: Share) -> Vec<Item> {
    items.iter().skip(share.index).step_by(share.count).copied().collect()
}

/// A stream of these items.
macro_rules! read {
    ($items:expr) => {{
        let items = $items.clone();
        Pipeline::read(iterate(move |share| part(&items, share)))
    }};
}

fn run<T: Ord + Send + 'static>(seed: u64, pipeline: impl FnOnce(&Collected<T>) -> Pipeline) -> Vec<T> {
    let list = Collected::new();
    let stages = Stages::simulated(seed);
    pipeline(&list).to_dag().unwrap().submit(&stages).unwrap().wait().unwrap();
    let mut items = list.take();
    items.sort();
    items
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() }
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    prop::collection::vec((-200_i64..2_000, 0_u8..5), 0..600)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn windows_have_their_items(items in items(), size in 1_i64..300, slide in 1_i64..300, seed: u64) {
        let slide = slide.min(size).max(size / 20);
        // A lag longer than all disorder: nothing is late.
        let found = run(seed, |list| {
            read!(items)
                .event_time(|item| item.0, 5_000)
                .group_by(|item| item.1)
                .window(sliding(size, slide))
                .aggregate((count(), sum(|item: &Item| item.0)))
                .write(collect(list))
        });
        let mut expected: BTreeMap<(i64, u8), (u64, i64)> = BTreeMap::new();
        for &(time, key) in &items {
            let starts = (-100..3_000).map(|n| n * slide).filter(|start| (*start..start + size).contains(&time));
            for start in starts {
                let (count, sum) = expected.entry((start, key)).or_default();
                *count += 1;
                *sum += time;
            }
        }
        let expected = expected.into_iter().map(|((start, key), result)| {
            InWindow { start, end: start + size, key, result }
        });
        prop_assert_eq!(found, expected.filter(|window| window.start >= -100 * slide).collect::<Vec<_>>());
    }

    #[test]
    fn an_item_is_counted_once_or_late(items in items(), size in 1_i64..100, lag in 0_i64..50, seed: u64) {
        let late = LateItems::new();
        let found = run(seed, |list| {
            read!(items)
                .event_time(|item| item.0, lag)
                .group_by(|item| item.1)
                .window(tumbling(size))
                .count_late(&late)
                .aggregate(count())
                .write(collect(list))
        });
        let counted: u64 = found.iter().map(|window| window.result).sum();
        prop_assert_eq!(counted + late.count(), items.len() as u64);
        let mut windows: Vec<_> = found.iter().map(|window| (window.start, window.key)).collect();
        windows.dedup();
        prop_assert_eq!(windows.len(), found.len(), "a window is put once");
    }

    #[test]
    fn sessions_end_with_a_gap(items in items(), gap in 1_i64..60, seed: u64) {
        let found = run(seed, |list| {
            read!(items)
                .event_time(|item| item.0, 5_000)
                .group_by(|item| item.1)
                .window(session(gap))
                .aggregate(count())
                .write(collect(list))
        });
        let mut by_key: BTreeMap<u8, Vec<i64>> = BTreeMap::new();
        for &(time, key) in &items {
            by_key.entry(key).or_default().push(time);
        }
        let mut expected = Vec::new();
        for (key, mut times) in by_key {
            times.sort_unstable();
            for run in times.chunk_by(|a, b| b - a < gap) {
                let (start, end) = (run[0], run[run.len() - 1] + gap);
                expected.push(InWindow { start, end, key, result: run.len() as u64 });
            }
        }
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn sessions_lose_nothing_but_late_items(items in items(), gap in 1_i64..60, lag in 0_i64..50, seed: u64) {
        let late = LateItems::new();
        let found = run(seed, |list| {
            read!(items)
                .event_time(|item| item.0, lag)
                .group_by(|item| item.1)
                .window(session(gap))
                .count_late(&late)
                .aggregate(count())
                .write(collect(list))
        });
        let counted: u64 = found.iter().map(|window| window.result).sum();
        prop_assert_eq!(counted + late.count(), items.len() as u64);
    }
}

#[test]
fn extreme_times_do_no_harm() {
    let times = [i64::MIN, i64::MAX, 0, -1, i64::MIN + 1, i64::MAX - 1];
    let found = run(3, |list| {
        Pipeline::read(iterate(move |_| times))
            .parallelism(1)
            .event_time(|time| *time, i64::MAX)
            .group_by(|_| ())
            .window(sliding(1_000, 300))
            .aggregate(count())
            .write(collect(list))
    });
    assert!(found.iter().any(|window| window.start == 0 && window.result == 1));
}

#[test]
fn a_source_that_never_ends_gives_its_windows_until_it_is_cancelled() {
    let stages = Stages::start().unwrap();
    let (windows, seen) = mpsc::channel();
    let pipeline = Pipeline::read(iterate(|share| (share.index as i64..).step_by(share.count)))
        .event_time(|time| *time, 10)
        .group_by(|time| time % 3)
        .window(tumbling(3_000))
        .aggregate(count())
        // The receiver is gone when the test has seen enough.
        .write(for_each(move |window| drop(windows.send(window))));
    let job = pipeline.named("forever").to_dag().unwrap().submit(&stages).unwrap();
    for _ in 0..100 {
        let window: InWindow<i64, u64> = seen.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(window.result, 1_000, "{window:?}");
    }
    job.cancel();
    assert!(job.wait().is_err());
    assert_eq!(job.status(), JobStatus::Cancelled);
}
