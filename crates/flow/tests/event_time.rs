//! Event time against plain Rust: windows, sessions, late items, sources that never end.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::aggregate::{count, sum};
use filbert_flow::event_time::{InWindow, LateItems, session, sliding, tumbling};
use filbert_flow::processors::{Collected, collect, for_each, iterate, with_parallelism};
use filbert_flow::{
    Failure, Inbox, JobStatus, Many, Outbox, Pipeline, Processor, ProcessorContext, Share, Step,
};
use filbert_pool::Stages;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
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
            let numbers = (time - size).div_euclid(slide)..=time.div_euclid(slide);
            let starts = numbers.map(|n| n * slide).filter(|start| (*start..start + size).contains(&time));
            for start in starts {
                let (count, sum) = expected.entry((start, key)).or_default();
                *count += 1;
                *sum += time;
            }
        }
        let expected = expected.into_iter().map(|((start, key), result)| {
            InWindow { start, end: start + size, key, result }
        });
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
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

/// Emits what it has, and then waits for the end of the test.
struct ThenSilent {
    items: std::vec::IntoIter<i64>,
    waker: Option<Waker>,
    /// Emits these when a second has passed.
    later: Vec<i64>,
    woken: Arc<AtomicBool>,
    is_timed: bool,
}

impl ThenSilent {
    fn new(items: Vec<i64>, later: Vec<i64>) -> Self {
        Self { items: items.into_iter(), waker: None, later, woken: Arc::default(), is_timed: false }
    }
}

impl Processor for ThenSilent {
    type In = ();
    type Out = Many<i64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker().clone());
        let (waker, woken) = (context.waker().clone(), Arc::clone(&self.woken));
        let wake = move || {
            woken.store(true, Ordering::Relaxed);
            waker.wake();
        };
        context.stages().upgrade().unwrap().clock().after(Duration::from_secs(60), wake);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<i64>>) -> Result<Step, Failure> {
        if self.woken.load(Ordering::Relaxed) && !std::mem::replace(&mut self.is_timed, true) {
            self.items = std::mem::take(&mut self.later).into_iter();
        }
        Ok(if outbox.emit_from(&mut self.items) { Step::Wait } else { Step::Again })
    }
}

/// Windows of 100 of two processors, of which the second has only these items; in virtual seconds.
fn closed_windows(
    idle: Option<u64>,
    second: Vec<i64>,
    later: Vec<i64>,
    seconds: u64,
) -> (Vec<(i64, u64)>, u64) {
    let stages = Stages::simulated(3);
    let windows: Arc<Mutex<Vec<(i64, u64)>>> = Arc::default();
    let source = move |share: Share| match share.index {
        0 => ThenSilent::new((0..1_000).collect(), Vec::new()),
        _ => ThenSilent::new(second.clone(), later.clone()),
    };
    let timed = Pipeline::read(source).parallelism(2).event_time(|time| *time, 0);
    let timed = match idle {
        Some(seconds) => timed.idle_after(Duration::from_secs(seconds)),
        None => timed,
    };
    let found = Arc::clone(&windows);
    let pipeline = timed.group_by(|_| ()).window(tumbling(100)).aggregate(count()).named("windows").write(
        for_each(move |window: InWindow<(), u64>| found.lock().unwrap().push((window.start, window.result))),
    );
    let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(seconds));
    let late = job.metrics().vertices.iter().map(|vertex| vertex.late_items).sum();
    job.cancel();
    assert!(job.wait().is_err());
    let mut windows = std::mem::take(&mut *windows.lock().unwrap());
    windows.sort_unstable();
    (windows, late)
}

#[test]
fn a_silent_producer_holds_up_the_windows_unless_it_says_that_it_is_idle() {
    let all = |last: i64| (0..last).map(|n| (n * 100, 100)).collect::<Vec<_>>();
    assert_eq!(closed_windows(None, Vec::new(), Vec::new(), 1_000), (Vec::new(), 0));
    // Before and after the time in which it is noticed; then the last item is the watermark.
    assert_eq!(closed_windows(Some(10), Vec::new(), Vec::new(), 5), (Vec::new(), 0));
    assert_eq!(closed_windows(Some(10), Vec::new(), Vec::new(), 50), (all(9), 0));
    // One that had something promised no more than that.
    assert_eq!(closed_windows(None, vec![250], Vec::new(), 1_000), (all(2), 0));
    let (found, late) = closed_windows(Some(10), vec![250], Vec::new(), 50);
    assert_eq!((found.len(), found[2], late), (9, (200, 101), 0));
}

#[test]
fn a_producer_that_has_items_again_counts_again_and_what_came_too_late_is_in_the_metrics() {
    // After a minute the second has an item of long ago, and one that is in a window which is still open.
    let (found, late) = closed_windows(Some(10), vec![250], vec![300, 950], 100);
    assert_eq!((found.len(), late), (9, 1));
}

/// The stamps are given by a vertex of their own, which gets no items any more: its timer must get it a call.
#[test]
fn a_vertex_behind_an_edge_notices_that_it_is_idle() {
    let stages = Stages::simulated(5);
    let (windows, seen) = mpsc::channel();
    let pipeline = Pipeline::read(|_: Share| ThenSilent::new(vec![500, 700], Vec::new()))
        .parallelism(1)
        .rebalance()
        .event_time(|time| *time, 0)
        .idle_after(Duration::from_secs(10))
        .group_by(|_| ())
        .window(tumbling(100))
        .aggregate(count())
        .write(for_each(move |window: InWindow<(), u64>| _ = windows.send(window.start)));
    let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    assert_eq!(seen.try_recv().ok(), None);
    stages.simulation().unwrap().advance(Duration::from_secs(45));
    assert_eq!(seen.try_recv().ok(), Some(500));
    job.cancel();
    assert!(job.wait().is_err());
}

/// What a long call kept back stayed until the next item came.
#[test]
fn a_long_flat_map_gives_its_last_results_without_another_item() {
    let stages = Stages::simulated(5);
    let (results, seen) = mpsc::channel();
    let pipeline = Pipeline::read(|_: Share| ThenSilent::new(vec![1], Vec::new()))
        .parallelism(1)
        .rebalance()
        .flat_map(|_| 0..100_000)
        .filter(|n| *n == 99_999)
        .write(for_each(move |n: i32| _ = results.send(n)));
    let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    assert_eq!(seen.try_recv().ok(), Some(99_999));
    job.cancel();
    assert!(job.wait().is_err());
}

/// Items wait until there are enough of them to look into a large table; when no more come they must not.
#[test]
fn a_large_join_gives_its_last_results_without_another_item() {
    let stages = Stages::simulated(5);
    let (results, seen) = mpsc::channel();
    // No multiple of how many wait together.
    let numbers = || (0..75).collect::<Vec<i64>>();
    let pipeline = Pipeline::read(move |_: Share| ThenSilent::new(numbers(), Vec::new()))
        .parallelism(1)
        .hash_join(Pipeline::read(iterate(|_| 0..1_000_i64)).parallelism(1), |n| *n, |s| *s, |n, _| n)
        .parallelism(1)
        .write(for_each(move |n: i64| _ = results.send(n)));
    let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    let mut found: Vec<i64> = seen.try_iter().collect();
    found.sort_unstable();
    assert_eq!(found, numbers());
    job.cancel();
    assert!(job.wait().is_err());
}

/// Takes some items, and none for a while.
struct Held {
    count: Arc<AtomicU64>,
    may_take: Arc<AtomicBool>,
    wake: Box<dyn FnMut() + Send>,
}

impl Held {
    fn new(count: &Arc<AtomicU64>) -> Self {
        Self { count: Arc::clone(count), may_take: Arc::default(), wake: Box::new(|| ()) }
    }
}

impl Processor for Held {
    type In = Many<InWindow<(), u64>>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        let (stages, waker) = (context.stages().clone(), context.waker().clone());
        let may_take = Arc::clone(&self.may_take);
        self.wake = Box::new(move || {
            let (may_take, waker) = (Arc::clone(&may_take), waker.clone());
            let wake = move || {
                may_take.store(true, Ordering::Relaxed);
                waker.wake();
            };
            stages.upgrade().unwrap().clock().after(Duration::from_secs(25), wake);
        });
        (self.wake)();
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Self::In>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        if self.may_take.swap(false, Ordering::Relaxed) {
            let windows = inbox.take(inbox.len().min(700));
            self.count.fetch_add(windows.map(|window| window.result).sum(), Ordering::Relaxed);
            (self.wake)();
        }
        Ok(Step::Wait)
    }
}

/// One that is left out while it is held up finds its windows closed by the other, which is far ahead.
#[test]
fn producers_that_are_held_up_are_not_idle() {
    const ITEMS: i64 = 15_000;
    for seed in 0..4 {
        let (stages, late, taken) = (Stages::simulated(seed), LateItems::new(), Arc::default());
        let items = |share: Share| (0..ITEMS).map(move |n| n + share.index as i64 * 1_000_000);
        let held = Arc::clone(&taken);
        let pipeline = Pipeline::read(iterate(items))
            .parallelism(2)
            .event_time(|time| *time, 0)
            .idle_after(Duration::from_secs(10))
            .group_by(|_| ())
            .window(tumbling(1))
            .count_late(&late)
            .aggregate(count())
            .write(with_parallelism(1, move |_: Share| Held::new(&held)));
        let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
        stages.simulation().unwrap().advance(Duration::from_secs(2_000));
        job.wait().unwrap();
        assert_eq!((taken.load(Ordering::Relaxed), late.count()), (2 * ITEMS as u64, 0), "seed {seed}");
    }
}
