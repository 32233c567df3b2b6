//! A thousand jobs that wait for something beside one that works.
//!
//! Question: what does a job cost while it has nothing to do? Expected: memory, and nothing else. The bar is 0.95 of the speed of the busy
//! job alone; the idle jobs alone must not use the processor at all.

use super::SUITE;
use super::exchange;
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::{
    DagBuilder, Failure, Job, JobStatus, Many, Outbox, Processor, ProcessorContext, Step, processors,
};
use filbert_pool::Stages;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A source that nothing ever comes from. It keeps its waker: a tasklet that nobody can wake is not idle but lost.
struct Silent {
    waker: Option<Waker>,
}

impl Processor for Silent {
    type In = ();
    type Out = Many<u64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        Ok(Step::Wait)
    }
}

fn idle_jobs(stages: &Stages, count: usize) -> Vec<Job> {
    let mut dag = DagBuilder::new("idle");
    let source = dag.vertex("silent", |_| Silent { waker: None });
    let map = dag.vertex("map", processors::map(|number: u64| number + 1));
    let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
    dag.edge(source.output().to(map.input()));
    dag.edge(map.output().to(sink.input()).partitioned());
    let dag = dag.build().expect("the graph is sound");
    let jobs: Vec<Job> = (0..count).map(|_| dag.submit(stages).expect("the stages run")).collect();
    let deadline = Instant::now() + Duration::from_secs(60);
    while jobs.iter().any(|job| job.status() == JobStatus::Starting) {
        assert!(Instant::now() < deadline, "the idle jobs do not start");
        std::thread::yield_now();
    }
    jobs
}

/// The processor time of this process so far, in milliseconds; the kernel counts in steps of ten.
fn processor_ms() -> f64 {
    const TICK_MS: f64 = 10.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may hold spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks * TICK_MS
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let jobs = effort.pick(10, 1_000, 1_000);
    let items = effort.pick(10_000, 10_000_000, 50_000_000);
    let (alone, beside) =
        (Stages::start().expect("the settings fit"), Stages::start().expect("the settings fit"));
    let idle = idle_jobs(&beside, jobs);

    let wait = Duration::from_millis(effort.pick(10, 2_000, 5_000));
    // sleeps because what the started jobs did last must not count
    std::thread::sleep(wait / 10);
    let before = processor_ms();
    // sleeps because doing nothing is what is measured
    std::thread::sleep(wait);
    let case = format!("{jobs} idle jobs alone, {:.1} s: processor time", wait.as_secs_f64());
    report.alone(SUITE, &case, "ms", processor_ms() - before);

    let contestants = vec![
        Contestant::new("beside the idle ones", || exchange::ours(&beside, items)),
        Contestant::new("alone", || exchange::ours(&alone, items)),
    ];
    let times = alternate(effort.pick(1, 9, 15), 1, contestants);
    let case = format!("{} M u64 exchanged beside {jobs} idle jobs", items / 1_000_000);
    super::judge(report, &case, items, &times, &["alone"], 0.95);
    for job in &idle {
        assert_eq!(job.status(), JobStatus::Running, "an idle job goes on");
        job.cancel();
    }
}
