//! Processors that wait, and what becomes of their items and counters meanwhile.

use filbert_flow::processors::{for_each, hash_join, iterate};
use filbert_flow::{
    DagBuilder, Failure, FlatMapper, Inbox, Job, Many, OneByOne, OneItem, Outbox, Processor,
    ProcessorContext, Share, Step, Tried,
};
use filbert_pool::{Clock, StageKind, Stages};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

type Wakers = Arc<Mutex<Vec<Waker>>>;

/// Emits some items in its first call, and waits in all of them.
struct EmitsAndWaits {
    items: u64,
    takes: Duration,
    wakers: Wakers,
}

impl Processor for EmitsAndWaits {
    type In = ();
    type Out = Many<u64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.wakers.lock().unwrap().push(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        #[expect(clippy::disallowed_methods, reason = "the time that a call takes is the subject")]
        // sleeps because the call must take longer than it should
        std::thread::sleep(self.takes);
        (0..std::mem::take(&mut self.items)).for_each(|n| outbox.emit(n));
        Ok(Step::Wait)
    }
}

/// Takes nothing, and waits.
struct TakesNothing(Wakers);

impl Processor for TakesNothing {
    type In = Many<u64>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.lock().unwrap().push(context.waker().clone());
        Ok(())
    }

    fn process(&mut self, _: &mut Inbox<Many<u64>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        Ok(Step::Wait)
    }
}

type Expand = fn(u64) -> Range<u64>;

/// Emits as many numbers as the item says, a few at a time.
struct Expands(FlatMapper<u64, Range<u64>, Expand>);

impl OneItem for Expands {
    type Item = u64;
    type Out = Many<u64>;

    fn try_process(
        &mut self,
        _: usize,
        item: u64,
        outbox: &mut Outbox<Many<u64>>,
    ) -> Result<Tried<u64>, Failure> {
        Ok(self.0.try_process(item, outbox))
    }

    fn resume(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<(), Failure> {
        self.0.resume(outbox);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        Ok(self.0.complete(outbox))
    }
}

fn emits_and_waits(wakers: &Wakers, items: u64) -> impl Fn(Share) -> EmitsAndWaits + Clone + use<> {
    let wakers = Arc::clone(wakers);
    move |_| EmitsAndWaits { items, takes: Duration::ZERO, wakers: Arc::clone(&wakers) }
}

#[test]
fn what_is_emitted_in_a_call_that_waits_arrives() {
    let (stages, wakers, seen) = (Stages::simulated(1), Wakers::default(), Arc::new(AtomicUsize::new(0)));
    let mut dag = DagBuilder::new("emits and waits");
    let source = dag.vertex("source", emits_and_waits(&wakers, 3));
    let counted = Arc::clone(&seen);
    let sink = dag.vertex(
        "sink",
        for_each(move |_: u64| {
            counted.fetch_add(1, Ordering::Relaxed);
        }),
    );
    dag.local_parallelism(&source, 1);
    dag.edge(source.output().to(sink.input()));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().settle();
    assert_eq!(seen.load(Ordering::Relaxed), 3);
    job.cancel();
}

#[test]
fn what_a_flat_mapper_has_left_does_not_wait_for_the_next_item() {
    let (stages, wakers, seen) = (Stages::simulated(1), Wakers::default(), Arc::new(AtomicUsize::new(0)));
    let mut dag = DagBuilder::new("expands");
    let source = dag.vertex("source", emits_and_waits(&wakers, 3));
    let expands = dag.vertex("expands", |_: Share| {
        OneByOne(Expands(FlatMapper::new((|n| 0..n * 10_000) as fn(u64) -> Range<u64>)))
    });
    let counted = Arc::clone(&seen);
    let sink = dag.vertex(
        "sink",
        for_each(move |_: u64| {
            counted.fetch_add(1, Ordering::Relaxed);
        }),
    );
    dag.local_parallelism(&source, 1);
    dag.edge(source.output().to(expands.input()).all_to_one());
    dag.edge(expands.output().to(sink.input()));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().settle();
    assert_eq!(seen.load(Ordering::Relaxed), 30_000);
    job.cancel();
}

/// A source with so many items before a sink that takes none.
fn stuck(stages: &Stages, wakers: &Wakers) -> Job {
    let mut dag = DagBuilder::new("stuck");
    let source = dag.vertex("source", iterate(|_| 0..10_000_u64));
    let kept = Arc::clone(wakers);
    let sink = dag.vertex("sink", move |_: Share| TakesNothing(Arc::clone(&kept)));
    dag.local_parallelism(&source, 1);
    dag.local_parallelism(&sink, 1);
    dag.edge(source.output().to(sink.input()).queue_size(2_000));
    dag.build().unwrap().submit(stages).unwrap()
}

#[test]
fn the_queue_before_a_processor_that_waits_is_seen() {
    let (stages, wakers) = (Stages::simulated(1), Wakers::default());
    let job = stuck(&stages, &wakers);
    stages.simulation().unwrap().settle();
    // It looks when it has a turn.
    wakers.lock().unwrap().iter().for_each(Waker::wake_by_ref);
    stages.simulation().unwrap().settle();
    let metrics = job.metrics();
    assert!(metrics.edges[0].queued > 2_000, "{metrics:?}");
    job.cancel();
}

#[test]
fn a_job_that_is_over_waits_no_longer() {
    let (stages, wakers) = (Stages::simulated(1), Wakers::default());
    let job = stuck(&stages, &wakers);
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    job.cancel();
    assert!(job.wait().is_err());
    let metrics = job.metrics();
    let rests = [metrics.vertices[0].blocked, metrics.vertices[1].idle];
    assert!(rests.into_iter().all(|rest| (4_900..5_100).contains(&rest.as_millis())), "{metrics:?}");
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    assert_eq!(job.metrics(), metrics);
}

#[test]
fn a_long_call_that_says_wait_is_counted() {
    let (stages, wakers) = (Stages::start().unwrap(), Wakers::default());
    let mut dag = DagBuilder::new("long");
    let kept = Arc::clone(&wakers);
    let source = dag.vertex("source", move |_: Share| EmitsAndWaits {
        items: 1,
        takes: Duration::from_millis(3),
        wakers: Arc::clone(&kept),
    });
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.local_parallelism(&source, 1);
    dag.edge(source.output().to(sink.input()));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    // Its item arrives after the call; the call is counted when the turn ends.
    let begun = stages.clock().now();
    while job.metrics().vertices.first().is_none_or(|source| source.idle.is_zero()) {
        assert!(stages.clock().now() - begun < Duration::from_secs(60), "{:?}", job.metrics());
        std::thread::yield_now();
    }
    let metrics = job.metrics();
    assert!(metrics.vertices[0].long_calls > 0, "{metrics:?}");
    assert!(metrics.vertices[0].longest_call >= Duration::from_millis(3), "{metrics:?}");
    job.cancel();
    assert!(job.wait().is_err());
}

/// More matches than are made in one call, in an outbox that has room for all of them.
#[test]
fn the_rest_of_an_items_matches_does_not_wait_for_the_next_item() {
    const MATCHES: usize = 9_000;
    let (stages, wakers, seen) = (Stages::simulated(1), Wakers::default(), Arc::new(AtomicUsize::new(0)));
    let mut dag = DagBuilder::new("joins");
    let small = dag.vertex("small", iterate(|_| 0..MATCHES));
    let large = dag.vertex("large", emits_and_waits(&wakers, 1));
    let join = dag.vertex("join", hash_join(|_: &u64| 0, |_: &usize| 0, |_, other: &usize| *other));
    let counted = Arc::clone(&seen);
    let sink = dag.vertex(
        "sink",
        for_each(move |_: usize| {
            counted.fetch_add(1, Ordering::Relaxed);
        }),
    );
    dag.local_parallelism(&small, 1);
    dag.local_parallelism(&large, 1);
    dag.local_parallelism(&join, 1);
    dag.edge(small.output().to(join.input_at::<0>()).priority(-1));
    dag.edge(large.output().to(join.input_at::<1>()));
    dag.edge(join.output().to(sink.input()).high_water_mark(10_000));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    stages.simulation().unwrap().settle();
    assert_eq!(seen.load(Ordering::Relaxed), MATCHES);
    job.cancel();
}

/// Emits an item in a call of some time, and in the next waits until it has arrived.
struct EmitsAndLooks {
    clock: Option<Clock>,
    begun: Duration,
    is_emitted: bool,
    has_arrived: Arc<AtomicBool>,
}

impl Processor for EmitsAndLooks {
    type In = ();
    type Out = Many<u64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        let clock = context.stages().upgrade().ok_or("ended")?.clock();
        self.begun = clock.now();
        self.clock = Some(clock);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        let clock = self.clock.as_ref().ok_or("not begun")?;
        let now = clock.now();
        if now - self.begun < Duration::from_millis(20) {
            // Its consumer has had its first turn by then, and sleeps.
            return Ok(Step::Again);
        }
        if !std::mem::replace(&mut self.is_emitted, true) {
            while clock.now() - now < Duration::from_micros(150) {
                std::hint::spin_loop();
            }
            outbox.emit(1);
            return Ok(Step::Again);
        }
        while !self.has_arrived.load(Ordering::Acquire) {
            if clock.now() - now > Duration::from_secs(60) {
                return Err("the item waits for the end of this call".into());
            }
            std::thread::yield_now();
        }
        Ok(Step::Done)
    }
}

/// A worker keeps a task that it woke for the end of the turn, but not for that of a long call.
#[test]
fn who_is_woken_between_long_calls_does_not_wait_for_the_next() {
    let stages = Stages::builder().threads(StageKind::Flow, 2).start().unwrap();
    let has_arrived = Arc::new(AtomicBool::new(false));
    let mut dag = DagBuilder::new("long calls");
    let seen = Arc::clone(&has_arrived);
    let source = dag.vertex("source", move |_: Share| EmitsAndLooks {
        clock: None,
        begun: Duration::ZERO,
        is_emitted: false,
        has_arrived: Arc::clone(&seen),
    });
    let sink = dag.vertex("sink", for_each(move |_: u64| has_arrived.store(true, Ordering::Release)));
    dag.local_parallelism(&source, 1);
    dag.local_parallelism(&sink, 1);
    dag.edge(source.output().to(sink.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
}
