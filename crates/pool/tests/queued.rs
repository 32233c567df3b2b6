//! What counts as queued on a stage of futures: tasks that have not begun, and no future that waits for something.
#![allow(clippy::disallowed_methods, reason = "a deadline of the test")]

use filbert_pool::{StageSnapshot, Stages};
use std::future::pending;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(60);

fn io(stages: &Stages) -> StageSnapshot {
    stages.snapshot().into_iter().find(|stage| stage.stage == "io").unwrap()
}

/// An idle member showed five tasks as queued on `io`: its doors, which wait for connections.
#[test]
fn a_future_that_waits_is_suspended_and_one_that_has_not_begun_is_queued() {
    let stages = Stages::builder().set("io.threads", 1).start().unwrap();
    let waiting = stages.io().spawn("waits", pending::<()>()).unwrap();
    let ((begun, has_begun), (release, released)) = (channel(), channel());
    let busy = stages.io().spawn("busy", async move {
        begun.send(()).unwrap();
        released.recv_timeout(DEADLINE).unwrap();
    });
    has_begun.recv_timeout(DEADLINE).unwrap();
    // The one thread is inside a task.
    let behind = stages.io().spawn("behind", async {}).unwrap();
    let now = io(&stages);
    assert_eq!((now.suspended, now.running.len(), now.depth), (1, 1, 1));
    release.send(()).unwrap();
    busy.unwrap().wait().unwrap();
    behind.wait().unwrap();
    let begin = Instant::now();
    while io(&stages).suspended + io(&stages).depth + io(&stages).running.len() != 1 {
        assert!(begin.elapsed() < DEADLINE, "{:?}", io(&stages));
        std::thread::yield_now();
    }
    assert_eq!(io(&stages).suspended, 1);
    drop(waiting);
}

#[test]
fn a_closure_is_queued_until_it_begins() {
    let stages = Stages::builder().set("mixed.blocking_threads", 1).start().unwrap();
    let mixed = || stages.snapshot().into_iter().find(|stage| stage.stage == "mixed").unwrap();
    let ((begun, has_begun), (release, released)) = (channel(), channel());
    let busy = stages.mixed().submit("busy", move || {
        begun.send(()).unwrap();
        released.recv_timeout(DEADLINE).unwrap();
    });
    has_begun.recv_timeout(DEADLINE).unwrap();
    let behind = stages.mixed().submit("behind", || ()).unwrap();
    assert_eq!((mixed().depth, mixed().suspended, mixed().running.len()), (1, 0, 1));
    release.send(()).unwrap();
    busy.unwrap().wait().unwrap();
    behind.wait().unwrap();
    let begin = Instant::now();
    while mixed().depth + mixed().suspended + mixed().running.len() != 0 {
        assert!(begin.elapsed() < DEADLINE, "{:?}", mixed());
        std::thread::yield_now();
    }
}
