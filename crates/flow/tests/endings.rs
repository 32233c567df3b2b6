//! How jobs end early: failures, panics, cancellation, shutdown; and that nothing of them is left.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod tokens;

use filbert_flow::processors::{Collected, collect, for_each, iterate, map};
use filbert_flow::{
    Dag, DagBuilder, Failure, Inbox, Job, JobError, JobStatus, Many, MetaSupplier, Outbox, Processor,
    ProcessorContext, Share, Step, Supplier,
};
use filbert_pool::{Shutdown, ShutdownReport, Stages, simulate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokens::{Token, wait_until};

/// Numbers without end through `map`, every item and processor with a token.
fn endless(alive: &Arc<AtomicUsize>, each: fn(u64) -> u64) -> Dag {
    let token = Token::new(alive);
    let mut dag = DagBuilder::new("endless");
    let source = dag.vertex(
        "source",
        iterate(move |_| {
            let token = token.clone();
            (0..u64::MAX).map(move |n| (n, token.clone()))
        }),
    );
    let work = dag.vertex("work", map(move |(n, token): (u64, Token)| (each(n), token)));
    let sink = dag.vertex("sink", for_each(|item: (u64, Token)| drop(item)));
    dag.edge(source.output().to(work.input()));
    dag.edge(work.output().to(sink.input()).partitioned_by(|(n, _)| *n));
    dag.build().unwrap()
}

#[test]
fn a_panic_fails_the_job_with_vertex_index_and_cause_and_other_jobs_go_on() {
    let stages = Stages::start().unwrap();
    let alive = Arc::default();
    let other = endless(&Arc::default(), |n| n).submit(&stages).unwrap();
    wait_until("the other job", || other.status() == JobStatus::Running);
    let dag = endless(&alive, |n| if n == 10_000 { panic!("no {n}") } else { n });
    let job = dag.submit(&stages).unwrap();
    let Err(JobError::Failed(failure)) = job.wait() else { panic!("the job must fail") };
    assert_eq!((failure.vertex.as_str(), failure.panicked), ("work", true));
    assert_eq!(failure.message, "no 10000");
    assert!(failure.to_string().starts_with("processor "), "{failure}");
    assert_eq!(job.status(), JobStatus::Failed);
    assert_eq!(job.wait(), Err(JobError::Failed(failure)), "asked again, it says the same");
    assert_eq!(other.status(), JobStatus::Running);
    other.cancel();
    assert_eq!(other.wait(), Err(JobError::Cancelled { job: "endless".to_owned() }));
    drop((dag, job));
    assert_eq!(alive.load(Ordering::Relaxed), 0, "items or processors are left");
}

#[test]
fn a_busy_job_is_cancelled_a_hundred_times_and_leaves_nothing() {
    let stages = Stages::start().unwrap();
    let alive = Arc::default();
    let dag = endless(&alive, |n| n);
    let before = alive.load(Ordering::Relaxed);
    let mut longest = Duration::ZERO;
    for _ in 0..100 {
        let job = dag.submit(&stages).unwrap();
        wait_until("work", || job.metrics().edges.get(1).is_some_and(|edge| edge.items > 0));
        let began = Instant::now();
        job.cancel();
        assert!(job.wait().is_err());
        longest = longest.max(began.elapsed());
        assert_eq!(job.status(), JobStatus::Cancelled);
        assert_eq!(alive.load(Ordering::Relaxed), before, "items or processors are left");
    }
    println!("the longest cancellation took {longest:?}");
    let flow = stages.snapshot().into_iter().find(|stage| stage.stage == "flow").unwrap();
    assert_eq!(flow.depth, 0);
}

#[test]
fn a_job_is_cancelled_at_any_moment_in_simulation() {
    simulate::seeds("a_job_is_cancelled_at_any_moment_in_simulation", 0..300, |seed| {
        let stages = Stages::simulated(seed);
        let alive = Arc::default();
        let dag = endless(&alive, |n| n);
        let before = alive.load(Ordering::Relaxed);
        let job = dag.submit(&stages).unwrap();
        let mut turns = stages.clock().random_below(100);
        stages.simulation().unwrap().until(|| {
            turns = turns.saturating_sub(1);
            turns == 0
        });
        job.cancel();
        assert!(job.wait().is_err());
        assert_eq!(alive.load(Ordering::Relaxed), before, "items or processors are left");
    });
}

#[test]
fn a_failing_supplier_fails_the_job_before_anything_runs() {
    struct Refuses;
    impl MetaSupplier for Refuses {
        type Processor = NoProcessor;
        type Supplier = Refuses;
        fn supplier(&self, _: Share) -> Result<Refuses, Failure> {
            Ok(Refuses)
        }
    }
    impl Supplier for Refuses {
        type Processor = NoProcessor;
        fn processor(&mut self, share: Share) -> Result<NoProcessor, Failure> {
            Err(format!("no file for share {}", share.index).into())
        }
    }
    struct NoProcessor;
    impl Processor for NoProcessor {
        type In = Many<u64>;
        type Out = ();
    }
    let stages = Stages::simulated(3);
    let mut dag = DagBuilder::new("refused");
    let source = dag.vertex("source", iterate(|_| 0..10_u64));
    let sink = dag.vertex("sink", Refuses);
    dag.edge(source.output().to(sink.input()));
    let failed = dag.build().unwrap().submit(&stages).unwrap().wait().unwrap_err();
    assert_eq!(failed.to_string(), "processor 0 of vertex \"sink\" failed: no file for share 0");
}

/// Blocks in a call until something comes through a channel.
struct Blocks {
    channel: mpsc::Receiver<u64>,
    calls: Arc<AtomicUsize>,
}

impl Processor for Blocks {
    type In = ();
    type Out = Many<u64>;
    const IS_COOPERATIVE: bool = false;

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.channel.recv() {
            Ok(item) => outbox.emit(item),
            Err(_) => return Ok(Step::Done),
        }
        Ok(Step::Again)
    }
}

/// A source that blocks on a channel, into a sink; what sends into it and the sink's list.
fn blocking(stages: &Stages) -> (Job, mpsc::Sender<u64>, Collected<u64>) {
    blocking_counted(stages, &Arc::default())
}

/// As `blocking`; `calls` is how often the source was called.
fn blocking_counted(stages: &Stages, calls: &Arc<AtomicUsize>) -> (Job, mpsc::Sender<u64>, Collected<u64>) {
    let calls = Arc::clone(calls);
    let (sender, receiver) = mpsc::channel();
    let receiver = Arc::new(std::sync::Mutex::new(Some(receiver)));
    let list = Collected::new();
    let mut dag = DagBuilder::new("blocking");
    let source = dag.vertex("source", move |_: Share| Blocks {
        channel: receiver.lock().unwrap().take().unwrap(),
        calls: Arc::clone(&calls),
    });
    let sink = dag.vertex("sink", collect(&list));
    dag.local_parallelism(&source, 1);
    dag.edge(source.output().to(sink.input()).queue_size(2).high_water_mark(1));
    (dag.build().unwrap().submit(stages).unwrap(), sender, list)
}

/// With one worker, which the call would keep from everybody else.
#[test]
fn a_processor_that_blocks_has_a_thread_of_its_own() {
    let stages = Stages::builder().set("flow.threads", 1).start().unwrap();
    let calls = Arc::default();
    let (job, sender, list) = blocking_counted(&stages, &calls);
    wait_until("its call", || calls.load(Ordering::Relaxed) > 0);
    for n in 0..10 {
        // It stands in the call for this item, or begins it soon: nothing was sent.
        let (other, seen) = (Collected::new(), calls.load(Ordering::Relaxed));
        let mut dag = DagBuilder::new("beside it");
        let source = dag.vertex("source", iterate(|_| 0..100_u64));
        let sink = dag.vertex("sink", collect(&other));
        dag.edge(source.output().to(sink.input()));
        let beside = dag.build().unwrap().submit(&stages).unwrap();
        beside.wait_timeout(Duration::from_secs(60)).expect("its call keeps no worker");
        assert_eq!(other.take().len(), 100);
        sender.send(n).unwrap();
        wait_until("its next call", || calls.load(Ordering::Relaxed) > seen);
    }
    drop(sender);
    job.wait().unwrap();
    assert_eq!(list.take(), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_blocking_processor_ends_with_its_call_when_the_job_is_cancelled() {
    let stages = Stages::start().unwrap();
    let calls = Arc::default();
    let (job, sender, _list) = blocking_counted(&stages, &calls);
    wait_until("its call", || calls.load(Ordering::Relaxed) > 0);
    job.cancel();
    assert!(
        matches!(job.wait_timeout(Duration::from_millis(20)), Err(JobError::Wait(_))),
        "it is inside its call"
    );
    sender.send(1).unwrap();
    assert!(matches!(job.wait(), Err(JobError::Cancelled { .. })));
    // The thread itself goes a moment after all that it held.
    let threads = || stages.snapshot().iter().find(|stage| stage.stage == "dedicated").unwrap().threads;
    wait_until("the end of the thread", || threads() == 0);
}

#[test]
fn shutdown_ends_jobs_that_never_end_by_themselves() {
    /// Waits for a waker that nobody wakes.
    struct Sleeps<const COOPERATIVE: bool>(Option<Waker>);
    impl<const COOPERATIVE: bool> Processor for Sleeps<COOPERATIVE> {
        type In = ();
        type Out = Many<u64>;
        const IS_COOPERATIVE: bool = COOPERATIVE;
        fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
            self.0 = Some(context.waker().clone());
            Ok(())
        }
        fn complete(&mut self, _: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            Ok(Step::Wait)
        }
    }
    fn job<const COOPERATIVE: bool>(stages: &Stages) -> Job {
        let mut dag = DagBuilder::new("sleeps");
        let source = dag.vertex("source", |_: Share| Sleeps::<COOPERATIVE>(None));
        let sink = dag.vertex("sink", for_each(|_: u64| {}));
        dag.edge(source.output().to(sink.input()));
        dag.build().unwrap().submit(stages).unwrap()
    }
    let stages = Stages::start().unwrap();
    let jobs = [job::<true>(&stages), job::<false>(&stages)];
    for job in &jobs {
        wait_until("start", || job.status() == JobStatus::Running);
    }
    let report = stages.shutdown(Shutdown::Cancel).unwrap();
    assert!(report.left_behind.is_empty(), "{report:?}");
    for job in &jobs {
        wait_until("end", || job.status() == JobStatus::Cancelled);
    }
}

#[test]
fn a_draining_shutdown_lets_jobs_with_blocking_processors_finish() {
    let stages = Stages::start().unwrap();
    let (job, sender, list) = blocking(&stages);
    let ending = stages.clone();
    let shutdown = std::thread::spawn(move || ending.shutdown(Shutdown::Drain).unwrap());
    let mut dag = DagBuilder::new("refused");
    let source = dag.vertex("source", iterate(|_| 0..1_u64));
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.edge(source.output().to(sink.input()));
    let another = dag.build().unwrap();
    // The shutdown has begun, and waits: nothing new is taken.
    wait_until("shutdown", || match another.submit(&stages) {
        Ok(_) => false,
        Err(refused) => matches!(refused, JobError::NotStarted { .. }),
    });
    for n in 0..1_000 {
        sender.send(n).unwrap();
    }
    drop(sender);
    let report = shutdown.join().unwrap();
    assert_eq!(job.status(), JobStatus::Completed);
    assert_eq!((list.take().len(), report), (1_000, ShutdownReport::default()));
}

#[test]
fn a_draining_shutdown_cancels_a_job_that_takes_longer() {
    let stages = Stages::builder().set("shutdown.within_ms", 50).start().unwrap();
    let job = endless(&Arc::default(), |n| n).submit(&stages).unwrap();
    wait_until("start", || job.status() == JobStatus::Running);
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.cut_short, ["flow"]);
    assert_eq!(job.status(), JobStatus::Cancelled);
}

#[test]
fn a_consumer_that_closes_early_ends_its_producers() {
    /// Takes ten items and wants no more.
    struct TakesTen(usize);
    impl Processor for TakesTen {
        type In = Many<u64>;
        type Out = Many<u64>;
        fn process(
            &mut self,
            inbox: &mut Inbox<Many<u64>>,
            outbox: &mut Outbox<Many<u64>>,
        ) -> Result<Step, Failure> {
            for item in inbox.take(10 - self.0) {
                self.0 += 1;
                outbox.emit(item);
            }
            Ok(if self.0 == 10 { Step::Done } else { Step::Again })
        }
    }
    let stages = Stages::start().unwrap();
    let list = Collected::new();
    let mut dag = DagBuilder::new("ten");
    let source = dag.vertex("source", iterate(|_| 0..u64::MAX));
    let same = dag.vertex("same", map(|n: u64| n));
    let ten = dag.vertex("ten", |_: Share| TakesTen(0));
    let sink = dag.vertex("sink", collect(&list));
    dag.local_parallelism(&ten, 1);
    dag.edge(source.output().to(same.input()));
    dag.edge(same.output().to(ten.input()));
    dag.edge(ten.output().to(sink.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    assert_eq!(list.take().len(), 10);
}

#[test]
fn a_job_can_be_awaited_and_waited_for_by_many() {
    let stages = Stages::start().unwrap();
    let (job, sender, _list) = blocking(&stages);
    let (first, second) = (job.clone(), job.clone());
    let awaited =
        stages.mixed().spawn("await", async move { (&first).await.is_ok() && first.await.is_ok() }).unwrap();
    let waiting = std::thread::spawn(move || second.wait());
    drop(sender);
    job.wait().unwrap();
    assert_eq!(awaited.wait(), Ok(true));
    assert_eq!(waiting.join().unwrap(), Ok(()));
}

#[test]
fn a_processor_that_nobody_can_wake_fails_its_job() {
    struct Forgets;
    impl Processor for Forgets {
        type In = ();
        type Out = Many<u64>;
        fn complete(&mut self, _: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            Ok(Step::Wait)
        }
    }
    let stages = Stages::simulated(1);
    let mut dag = DagBuilder::new("forgets");
    let source = dag.vertex("source", |_: Share| Forgets);
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.edge(source.output().to(sink.input()));
    let failed = dag.build().unwrap().submit(&stages).unwrap().wait().unwrap_err().to_string();
    assert!(failed.ends_with("it said Wait, and nobody holds its waker: it would wait for ever"), "{failed}");
}

#[test]
fn a_job_that_finds_no_thread_says_so() {
    let stages = Stages::builder().set("dedicated.threads", 1).start().unwrap();
    let (first, sender, _) = blocking(&stages);
    wait_until("start", || first.status() == JobStatus::Running);
    let (second, _other, _) = blocking(&stages);
    let failed = second.wait().unwrap_err().to_string();
    assert!(failed.starts_with("processor 0 of vertex \"source\" failed: "), "{failed}");
    assert!(failed.contains("dedicated"), "{failed}");
    drop(sender);
    first.wait().unwrap();
}

/// Takes ten items and wants no more.
struct TakesTen(usize);

impl Processor for TakesTen {
    type In = Many<u64>;
    type Out = ();

    fn process(&mut self, inbox: &mut Inbox<Many<u64>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        self.0 += inbox.take(10 - self.0).count();
        Ok(if self.0 == 10 { Step::Done } else { Step::Again })
    }
}

/// Emits ten items and then sleeps, with its waker where nobody wakes it.
struct TenThenSleeps<const COOPERATIVE: bool> {
    emitted: bool,
    waker: Arc<std::sync::Mutex<Vec<Waker>>>,
}

impl<const COOPERATIVE: bool> Processor for TenThenSleeps<COOPERATIVE> {
    type In = ();
    type Out = Many<u64>;
    const IS_COOPERATIVE: bool = COOPERATIVE;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker.lock().unwrap().push(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        if !std::mem::replace(&mut self.emitted, true) {
            (0..10).for_each(|n| outbox.emit(n));
        }
        Ok(Step::Wait)
    }
}

/// A source that sleeps for ever after ten items, a vertex that waits for its items, and a consumer that wants no more than these.
fn asleep<const COOPERATIVE: bool>(
    edge: fn(filbert_flow::Edge<u64>) -> filbert_flow::Edge<u64>,
) -> (Dag, Arc<std::sync::Mutex<Vec<Waker>>>) {
    let wakers = Arc::<std::sync::Mutex<Vec<Waker>>>::default();
    let kept = Arc::clone(&wakers);
    let mut dag = DagBuilder::new("asleep");
    let source = dag.vertex("source", move |_: Share| TenThenSleeps::<COOPERATIVE> {
        emitted: false,
        waker: Arc::clone(&kept),
    });
    let same = dag.vertex("same", map(|n: u64| n));
    let ten = dag.vertex("ten", |_: Share| TakesTen(0));
    dag.local_parallelism(&source, 1);
    dag.local_parallelism(&ten, 1);
    dag.edge(edge(source.output().to(same.input())));
    dag.edge(edge(same.output().to(ten.input())));
    (dag.build().unwrap(), wakers)
}

#[test]
fn producers_that_sleep_end_when_their_consumers_have_gone() {
    let edges: [fn(filbert_flow::Edge<u64>) -> filbert_flow::Edge<u64>; 4] = [
        |edge| edge,
        |edge| edge.partitioned(),
        |edge| edge.buffered_in_memory(100),
        |edge| edge.broadcast(),
    ];
    for edge in edges {
        simulate::seeds("producers_that_sleep_end_when_their_consumers_have_gone", 0..50, move |seed| {
            let stages = Stages::simulated(seed);
            asleep::<true>(edge).0.submit(&stages).unwrap().wait().unwrap();
        });
        let stages = Stages::start().unwrap();
        let (cooperative, blocking) = (asleep::<true>(edge), asleep::<false>(edge));
        for dag in [&cooperative.0, &blocking.0] {
            let job = dag.submit(&stages).unwrap();
            job.wait_timeout(Duration::from_secs(60)).unwrap();
        }
    }
}

/// Makes processors up to an index, and fails or panics there.
struct FailsAt {
    index: usize,
    panics: bool,
}

/// Panics when it is dropped.
struct PanicsInDrop;

impl Processor for PanicsInDrop {
    type In = Many<u64>;
    type Out = Many<u64>;
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("in a drop");
    }
}

struct Never;

impl Processor for Never {
    type In = Many<u64>;
    type Out = ();
}

impl MetaSupplier for FailsAt {
    type Processor = Never;
    type Supplier = FailsAt;
    fn supplier(&self, _: Share) -> Result<FailsAt, Failure> {
        Ok(FailsAt { ..*self })
    }
}

impl Supplier for FailsAt {
    type Processor = Never;
    fn processor(&mut self, share: Share) -> Result<Never, Failure> {
        match share.index == self.index {
            false => Ok(Never),
            true if self.panics => panic!("no file"),
            true => Err("no file".into()),
        }
    }
}

#[test]
fn a_supplier_that_fails_is_told_with_its_index_whatever_the_others_do_when_they_are_dropped() {
    for panics in [false, true] {
        let stages = Stages::simulated(3);
        let mut dag = DagBuilder::new("refused");
        let source = dag.vertex("source", iterate(|_| 0..10_u64));
        let inner = dag.vertex("inner", |_: Share| PanicsInDrop);
        let sink = dag.vertex("sink", FailsAt { index: 2, panics });
        dag.local_parallelism(&sink, 4);
        dag.edge(source.output().to(inner.input()));
        dag.edge(inner.output().to(sink.input()));
        let failed = dag.build().unwrap().submit(&stages).unwrap().wait().unwrap_err();
        let JobError::Failed(failure) = failed else { panic!("{failed}") };
        let told = (failure.vertex.as_str(), failure.index, failure.panicked, failure.message.as_str());
        assert_eq!(told, ("sink", 2, panics, "no file"));
    }
}

#[test]
fn queues_that_fit_no_memory_fail_the_job_with_the_name_of_the_edge() {
    let stages = Stages::simulated(3);
    let mut dag = DagBuilder::new("large");
    let source = dag.vertex("source", iterate(|_| 0..10_u64));
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.edge(source.output().to(sink.input()).queue_size(usize::MAX));
    let failed = dag.build().unwrap().submit(&stages).unwrap().wait().unwrap_err();
    let JobError::Failed(failure) = failed else { panic!("{failed}") };
    assert_eq!(failure.vertex, "source -> sink");
}
