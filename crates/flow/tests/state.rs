//! What groups, joins, sorts and windows of a job hold is counted, bounded, and given back.
#![allow(clippy::disallowed_methods, reason = "tests have deadlines of their own")]

use filbert_flow::aggregate::{collect_into, count, to_vec};
use filbert_flow::event_time::{session, sliding};
use filbert_flow::processors::{Collected, collect, for_each, iterate};
use filbert_flow::{
    Failure, FlowMemory, Job, JobError, JobSettings, JobStatus, Many, Outbox, Pipeline, Processor,
    ProcessorContext, Share, StateTooLarge, Step,
};
use filbert_pool::Stages;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

const ITEMS: u64 = 80_000;

/// Less than any of the jobs below holds, more than an empty processor does.
const LIMIT: usize = 300_000;

/// A stream of numbers, or of what is made of each.
macro_rules! read {
    () => {
        Pipeline::read(iterate(|share: Share| share.part_of(0..ITEMS)))
    };
}

fn submit(pipeline: &Pipeline, settings: JobSettings) -> Job {
    pipeline.to_dag().unwrap().submit_with(&Stages::simulated(1), settings).unwrap()
}

/// Runs a pipeline with a limit that it passes, and without one.
fn too_large(pipeline: &Pipeline) -> StateTooLarge {
    let all = FlowMemory::new(usize::MAX);
    submit(pipeline, JobSettings::new().memory(&all)).wait().unwrap();
    assert_eq!(all.held(), 0, "a job that is over holds nothing");
    let job = submit(pipeline, JobSettings::new().memory_bytes(LIMIT).memory(&all));
    let failed = match job.wait() {
        Err(JobError::StateTooLarge(failed)) => failed,
        other => panic!("{other:?}: {:?}", job.metrics()),
    };
    assert_eq!((job.status(), all.held()), (JobStatus::Failed, 0));
    assert!(failed.job_bytes > LIMIT && failed.vertex_bytes > LIMIT / 8, "{failed:?}");
    assert_eq!((failed.limit, failed.all_bytes), (LIMIT, None));
    let text = failed.to_string();
    assert!(text.contains(&failed.vertex) && text.contains("JobSettings::memory_bytes"), "{text}");
    failed
}

macro_rules! fails_at {
    ($wrong:ident, $vertex:literal, $stream:expr) => {{
        let pipeline = $stream.write(for_each(|_| {}));
        let failed = too_large(&pipeline);
        if !failed.vertex.contains($vertex) {
            $wrong.push(($vertex, failed.vertex));
        }
    }};
}

#[test]
fn every_kind_of_state_has_an_end() {
    let mut wrong = Vec::new();
    fails_at!(wrong, "accumulate", read!().group_by(|n| *n).aggregate(count()));
    // Few keys, and all items.
    fails_at!(wrong, "to_vec", read!().group_by(|n| n % 3).aggregate(to_vec()));
    fails_at!(
        wrong,
        "collect",
        read!().group_by(|n| n % 3).fold(collect_into(Vec::new, |list: &mut Vec<u64>, n| list.push(*n)))
    );
    fails_at!(wrong, "", read!().aggregate(to_vec()));
    fails_at!(wrong, "distinct", read!().distinct());
    fails_at!(wrong, "map_stateful", read!().group_by(|n| *n).map_stateful(|| 0_u64, |sum, _, n| *sum + n));
    fails_at!(wrong, "sort", read!().sort());
    fails_at!(wrong, "co_group", {
        let other = read!().map(|n| n + ITEMS);
        read!().group_by(|n| *n).co_aggregate(other.group_by(|n| *n), count(), count())
    });
    fails_at!(
        wrong,
        "window",
        read!()
            .event_time(|n| *n as i64, 10)
            .group_by(|n| *n)
            .window(sliding(1 << 20, 1 << 19))
            .aggregate(count())
    );
    fails_at!(
        wrong,
        "session",
        read!().event_time(|n| *n as i64, 10).group_by(|n| *n).window(session(1 << 20)).aggregate(count())
    );
    assert_eq!(wrong, []);
}

#[test]
fn the_small_side_of_a_join_has_an_end() {
    let small = read!().map(|n| (n, "x".repeat(100)));
    let joined = read!().hash_join(small, |n| *n, |s| s.0, |n, s| n + s.1.len() as u64);
    let failed = too_large(&joined.write(for_each(|_| {})));
    assert!(!failed.vertex.is_empty(), "{failed:?}");
}

#[test]
fn a_list_of_results_has_an_end() {
    let list = Collected::new();
    let failed = too_large(&read!().map(|n| n.to_string()).write(collect(&list)));
    assert_eq!(failed.vertex, "sink");
}

/// Keys that own something count with it: a table of texts is larger than its entries.
#[test]
fn texts_count_with_their_letters() {
    let few = read!().map(|n| format!("{:0>200}", n % 1_000)).group_by(|text| text.clone());
    let failed = too_large(&few.aggregate(count()).write(for_each(|_| {})));
    assert!(failed.vertex.contains("accumulate"), "{failed:?}");
    let numbers = read!().map(|n| n % 1_000).group_by(|n| *n).aggregate(count()).write(for_each(|_| {}));
    submit(&numbers, JobSettings::new().memory_bytes(LIMIT)).wait().unwrap();
}

/// Windows that are over are given back: a stream of any length needs no more than those that are open.
#[test]
fn windows_that_close_are_given_back() {
    let windows = read!().event_time(|n| *n as i64, 10).group_by(|n| n % 10).window(sliding(100, 100));
    submit(&windows.aggregate(count()).write(for_each(|_| {})), JobSettings::new().memory_bytes(LIMIT))
        .wait()
        .unwrap();
}

/// Emits numbers and then waits for ever.
struct ThenWaits {
    numbers: std::ops::Range<u64>,
    waker: Arc<Mutex<Vec<Waker>>>,
}

impl Processor for ThenWaits {
    type In = ();
    type Out = Many<u64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker.lock().unwrap().push(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        Ok(if outbox.emit_from(&mut self.numbers) { Step::Wait } else { Step::Again })
    }
}

fn waiting_groups(stages: &Stages, all: &FlowMemory, keys: u64) -> Job {
    let waker = Arc::default();
    let source = move |share: Share| ThenWaits { numbers: share.part_of(0..keys), waker: Arc::clone(&waker) };
    let pipeline = Pipeline::read(source).distinct().write(for_each(|_| {}));
    pipeline.to_dag().unwrap().submit_with(stages, JobSettings::new().memory(all)).unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "not within two minutes: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn jobs_share_a_limit_and_give_back_what_they_held() {
    let (stages, all) = (Stages::start().unwrap(), FlowMemory::new(2 << 20));
    let first = waiting_groups(&stages, &all, 40_000);
    until("the first job holds its keys", || {
        let found: u64 = first.metrics().vertices.iter().map(|vertex| vertex.items_in).sum();
        found >= 40_000
    });
    until("metrics tell what it holds", || {
        let metrics = first.metrics().vertices;
        metrics.iter().map(|vertex| vertex.state_bytes).sum::<u64>() == all.held() as u64
    });
    assert!(all.held() > 40_000 * size_of::<u64>(), "{}", all.held());

    let second = waiting_groups(&stages, &all, 400_000);
    let JobError::StateTooLarge(failed) = second.wait().unwrap_err() else { panic!("it has no room") };
    assert!(failed.all_bytes.is_some_and(|all| all > failed.job_bytes), "{failed:?}");
    assert!(failed.to_string().contains("memory.flow_bytes"), "{failed}");

    assert_eq!(first.status(), JobStatus::Running, "the other one goes on");
    first.cancel();
    assert!(first.wait().is_err());
    assert_eq!(all.held(), 0);
}
