//! Reports of slow tasks: what they were about, and for whom they were done.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_pool::{Origin, OriginName, OriginNames, SlowTask, Stages};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Clients;

impl OriginNames for Clients {
    fn name(&self, origin: Origin) -> Option<OriginName> {
        let client = format!("client {}", origin.number());
        Some(OriginName { client, user: (origin.number() == 7).then(|| "ann".to_owned()) })
    }
}

/// Takes longer than the limit of the stage.
fn dawdle(_: &mut ()) {
    // sleeps because the test is about tasks that take long
    std::thread::sleep(Duration::from_millis(3));
}

/// Waits for the report of a task.
fn report(stages: &Stages, task: &str) -> SlowTask {
    let begin = Instant::now();
    loop {
        let reports = stages.partition().snapshot().slow_tasks;
        if let Some(report) = reports.into_iter().find(|report| report.task == task) {
            return report;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{task} is not reported");
        std::thread::yield_now();
    }
}

fn named(report: &SlowTask) -> [Option<&str>; 3] {
    [&report.about, &report.client, &report.user].map(|name| name.as_deref())
}

#[test]
fn a_slow_operation_is_reported_with_its_structure_its_client_and_its_user() {
    let stages = Stages::builder().set("partition.slow_ms", 1_u64).start().unwrap();
    let clients: Arc<dyn OriginNames> = Arc::new(Clients);
    stages.name_origins(Arc::downgrade(&clients));
    let strand = stages.partition().strand_about(1, &Arc::from("orders"), ());
    // By mail, which is opened when the sender works for somebody else.
    let origin = Origin::new(7).enter();
    let mailed = strand.submit("mailed", dawdle).unwrap();
    drop(origin);
    mailed.wait().unwrap();
    assert_eq!(named(&report(&stages, "mailed")), [Some("orders"), Some("client 7"), Some("ann")]);
    // On the thread of the caller, once the strand is idle again.
    let origin = Origin::new(8).enter();
    let begin = Instant::now();
    while strand.try_run_here("here", dawdle).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the strand is never idle");
    }
    drop(origin);
    assert_eq!(named(&report(&stages, "here")), [Some("orders"), Some("client 8"), None]);
    strand.submit("nobody's", dawdle).unwrap().wait().unwrap();
    assert_eq!(named(&report(&stages, "nobody's")), [Some("orders"), None, None], "not the last one's");
    let plain = stages.partition().strand(2, ());
    plain.submit("plain", dawdle).unwrap().wait().unwrap();
    assert_eq!(named(&report(&stages, "plain")), [None, None, None]);
}
