//! Ten thousand panics over all stages: each fails its own task, with its message, and nothing else.

use filbert_pool::{Offer, Stages, SubmitError, TaskError, TaskFuture};
use std::sync::mpsc;

type Submit<'a> = Box<dyn Fn(u32) -> Result<TaskFuture<()>, SubmitError> + 'a>;

fn fail(number: u32) {
    panic!("task {number} fails on purpose");
}

#[test]
fn ten_thousand_panics_leave_every_stage_working() {
    // The messages are checked below; ten thousand backtraces on the terminal help no one.
    std::panic::set_hook(Box::new(|_| {}));
    let stages = Stages::builder().executor("a").start().unwrap();
    let (partition, query) = (stages.partition().strand(3, ()), stages.query().strand(4, ()));
    let executor = stages.executor("a").unwrap();
    let submits: Vec<(&str, Submit<'_>)> = vec![
        ("io", Box::new(|n| stages.io().spawn("fail", async move { fail(n) }))),
        ("partition", Box::new(|n| partition.submit("fail", move |()| fail(n)))),
        ("query", Box::new(|n| query.submit("fail", move |()| fail(n)))),
        ("generic", Box::new(|n| stages.generic().submit("fail", move || fail(n)))),
        ("executor/a", Box::new(|n| executor.submit("fail", move || fail(n)))),
        ("fragment", Box::new(|n| stages.fragment().spawn("fail", async move { fail(n) }))),
        ("flow", Box::new(|n| stages.flow().submit("fail", move || fail(n)))),
        ("cpu", Box::new(|n| stages.cpu().submit("fail", move || fail(n)))),
        ("mixed", Box::new(|n| stages.mixed().spawn("fail", async move { fail(n) }))),
        ("maintenance", Box::new(|n| stages.maintenance().submit("fail", move || fail(n)))),
    ];
    for round in 0..100 {
        let mut failing = Vec::new();
        for (stage, submit) in &submits {
            for n in 0..10 {
                failing.push((*stage, round * 10 + n, submit(round * 10 + n).unwrap()));
            }
        }
        for (stage, number, future) in failing {
            match future.wait() {
                Err(TaskError::Panicked { stage: at, message, .. }) => {
                    assert_eq!(at.name, stage);
                    assert_eq!(message, format!("task {number} fails on purpose"));
                }
                other => panic!("{stage}: {other:?}"),
            }
        }
    }
    // Fork-join panics reach whoever joins.
    let topic = stages.event().topic("news");
    let (sender, receiver) = mpsc::channel();
    for n in 0..100 {
        let failed = topic.submit("fail", move || fail(n)).unwrap().wait();
        assert!(matches!(failed, Err(TaskError::Panicked { .. })), "{failed:?}");
        let cpu = stages.cpu();
        let joined = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cpu.join(|| fail(n), || ())));
        assert!(joined.is_err());
    }
    assert!(matches!(topic.offer("tell", move || sender.send(1).unwrap()), Ok(Offer::Accepted)));
    assert_eq!(receiver.recv_timeout(std::time::Duration::from_secs(60)), Ok(1));
    assert_eq!(stages.cpu().join(|| 1, || 2), (1, 2));
    assert_eq!(stages.cpu().range(0..100_000).count(), 100_000);

    let working: Vec<TaskFuture<()>> = vec![
        stages.io().spawn("work", async {}).unwrap(),
        partition.submit("work", |()| ()).unwrap(),
        query.submit("work", |()| ()).unwrap(),
        stages.generic().submit("work", || ()).unwrap(),
        executor.submit("work", || ()).unwrap(),
        stages.fragment().submit("work", || ()).unwrap(),
        stages.flow().spawn("work", async {}).unwrap(),
        stages.cpu().submit("work", || ()).unwrap(),
        stages.mixed().submit("work", || ()).unwrap(),
        stages.maintenance().submit("work", || ()).unwrap(),
        stages.dedicated().submit("work", |_| ()).unwrap(),
    ];
    for future in working {
        let stage = future.stage();
        assert_eq!(future.wait(), Ok(()), "{stage} works");
    }
    let panicked: u64 = stages.snapshot().iter().map(|stage| stage.panicked).sum();
    assert!(panicked >= 10_000, "{panicked} panics counted");
}

/// Panics when dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bomb");
        }
    }
}

#[test]
fn a_result_that_panics_when_dropped_leaves_an_executor_its_thread() {
    let stages = Stages::builder().executor("a").set("executor.a.threads", 1).start().unwrap();
    let executor = stages.executor("a").unwrap();
    let (go, wait) = mpsc::channel::<()>();
    executor
        .submit("bomb", move || {
            wait.recv().unwrap();
            Bomb
        })
        .unwrap()
        .detach();
    go.send(()).unwrap();
    let mut second = executor.submit("second", || 7).unwrap();
    assert_eq!(second.wait_timeout(std::time::Duration::from_secs(60)), Ok(7));
}
