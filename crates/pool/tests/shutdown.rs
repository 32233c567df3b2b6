//! Shutdown under load always ends, and every accepted task either ran or is reported as cancelled.
#![allow(clippy::disallowed_methods, reason = "the load comes from threads of the test")]

use filbert_pool::{Shutdown, StageKind, Stages, StagesBuilder, SubmitError, TaskError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

fn small() -> StagesBuilder {
    let kinds = [StageKind::Io, StageKind::Partition, StageKind::Generic, StageKind::Event, StageKind::Query];
    let kinds = kinds.into_iter().chain([StageKind::Fragment, StageKind::Flow, StageKind::Cpu]);
    kinds
        .fold(Stages::builder(), |builder, kind| builder.threads(kind, 2))
        .executor("a")
        .set("executor.a.threads", 2)
        // On a busy machine a thread may have no turn for long.
        .set("shutdown.within_ms", LONG_MS)
        .set("shutdown.leave_ms", LONG_MS)
}

/// Longer than anything takes here that ends at all.
const LONG_MS: u64 = 300_000;

/// What is not to end is given up soon.
fn impatient() -> StagesBuilder {
    small().set("shutdown.within_ms", 50).set("shutdown.leave_ms", 10_000)
}

#[test]
fn a_thousand_shutdowns_under_load_all_end() {
    for round in 0..1_000 {
        let stages = small().start().unwrap();
        let how = if round % 2 == 0 { Shutdown::Drain } else { Shutdown::Cancel };
        let stop = AtomicBool::new(false);
        let begun = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let strand = stages.partition().strand(1, 0_u64);
                    while !stop.load(Ordering::Relaxed) {
                        let futures = [
                            stages.generic().submit("load", || ()),
                            stages.executor("a").unwrap().submit("load", || ()),
                            stages.cpu().submit("load", || ()),
                            stages.fragment().spawn("load", async {}),
                            stages.mixed().spawn("load", async {}),
                            stages.io().spawn("load", async {}),
                            strand.submit("load", |count| *count += 1),
                        ];
                        begun.fetch_add(1, Ordering::Relaxed);
                        for future in futures {
                            match future {
                                Ok(future) => match future.wait() {
                                    Ok(()) | Err(TaskError::Cancelled { .. }) => {}
                                    Err(other) => panic!("{other}"),
                                },
                                Err(SubmitError::ShutDown { .. } | SubmitError::Overloaded { .. }) => {}
                                Err(other) => panic!("{other}"),
                            }
                        }
                    }
                });
            }
            while begun.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
            let report = stages.shutdown(how);
            // First of all, or a failure below would wait for the load for ever.
            stop.store(true, Ordering::Relaxed);
            let report = report.unwrap();
            assert_eq!(report.left_behind, Vec::<String>::new(), "round {round}");
            assert_eq!(report.cut_short, Vec::<&str>::new(), "round {round}");
        });
        assert_eq!(
            stages.shutdown(Shutdown::Cancel).unwrap().left_behind.len(),
            0,
            "the second time does nothing"
        );
    }
}

#[test]
fn draining_does_all_that_was_accepted() {
    let stages = small().start().unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let count = || {
        let done = Arc::clone(&done);
        move || {
            done.fetch_add(1, Ordering::SeqCst);
        }
    };
    let strand = stages.partition().strand(5, ());
    for _ in 0..500 {
        stages.executor("a").unwrap().submit("count", count()).unwrap().detach();
        stages.cpu().submit("count", count()).unwrap().detach();
        stages.generic().submit("count", count()).unwrap().detach();
        let body = count();
        strand.submit("count", move |()| body()).unwrap().detach();
    }
    stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 2_000);
}

#[test]
fn a_task_that_never_ends_is_cut_short_and_named() {
    // The stages that are ended after this one have nothing to do: they are not named, though no time is left.
    let stages = impatient().start().unwrap();
    let latch = Arc::new(filbert_sync::Latch::new());
    let waits = Arc::clone(&latch);
    let stuck = stages.executor("a").unwrap().submit("stuck", move || waits.wait()).unwrap();
    while stages.snapshot().iter().all(|stage| stage.running.iter().all(|running| running.task != "stuck")) {
        std::thread::yield_now();
    }
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.cut_short, ["executor/a"]);
    assert_eq!(report.left_behind.len(), 1);
    assert!(report.left_behind[0].starts_with("executor/a-"), "{report:?}");
    latch.open();
    let mut stuck = stuck;
    assert!(stuck.wait_timeout(Duration::from_secs(60)).is_ok());
}

#[test]
fn a_stage_cannot_shut_itself_down() {
    let stages = small().start().unwrap();
    let inner = stages.clone();
    let refused =
        stages.generic().submit("end", move || inner.shutdown(Shutdown::Cancel)).unwrap().wait().unwrap();
    let message = refused.unwrap_err().to_string();
    assert!(
        message.starts_with("a shutdown waits for every stage, so a task on stage generic cannot"),
        "{message}"
    );
}

#[test]
fn a_drained_shutdown_ends_the_threads_of_mixed() {
    let stages = small().start().unwrap();
    stages.mixed().submit("work", || ()).unwrap().wait().unwrap();
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.left_behind, Vec::<String>::new());
}

#[test]
fn blocking_work_that_never_ends_is_left_behind_and_named() {
    let stages = impatient().start().unwrap();
    let latch = Arc::new(filbert_sync::Latch::new());
    let waits = Arc::clone(&latch);
    let stuck = stages.mixed().submit("stuck", move || waits.wait()).unwrap();
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!((report.cut_short, report.left_behind), (vec!["mixed"], vec!["mixed".to_owned()]));
    latch.open();
    drop(stuck);
}

#[test]
fn user_code_that_a_shutdown_runs_cannot_ask_for_another_one() {
    struct Asks(filbert_pool::Stages, std::sync::mpsc::Sender<bool>);
    impl Drop for Asks {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.shutdown(Shutdown::Cancel).is_err());
        }
    }
    let stages = small().set("executor.a.threads", 1).start().unwrap();
    let (begun, latch) = (Arc::new(filbert_sync::Latch::new()), Arc::new(filbert_sync::Latch::new()));
    let (opens, waits) = (Arc::clone(&begun), Arc::clone(&latch));
    let busy = move || {
        opens.open();
        waits.wait();
    };
    stages.executor("a").unwrap().submit("busy", busy).unwrap().detach();
    begun.wait();
    let (sender, refused) = std::sync::mpsc::channel();
    let asks = Asks(stages.clone(), sender);
    stages.executor("a").unwrap().submit("queued", move || drop(asks)).unwrap().detach();
    let releases = std::thread::spawn(move || {
        assert_eq!(refused.recv(), Ok(true), "dropped by the shutdown, on its thread");
        latch.open();
    });
    stages.shutdown(Shutdown::Cancel).unwrap();
    releases.join().unwrap();
}

#[test]
fn a_shutdown_inside_a_callback_of_a_shutdown_does_not_wait_for_itself() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let stages = small().threads(StageKind::Cpu, 1).start().unwrap();
        let (begin, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let busy = move || {
            begin.send(()).unwrap();
            released.recv().unwrap();
        };
        stages.cpu().submit("busy", busy).unwrap().detach();
        begun.recv().unwrap();
        let again = stages.clone();
        stages.cpu().submit("queued", || ()).unwrap().on_complete(move |_| {
            let refused = again.shutdown(Shutdown::Cancel);
            assert!(matches!(refused, Err(filbert_pool::ShutdownRefused { .. })), "{refused:?}");
            release.send(()).unwrap();
        });
        sender.send(stages.shutdown(Shutdown::Cancel)).unwrap();
    });
    let report = receiver.recv_timeout(Duration::from_secs(60)).expect("the shutdown ends");
    assert_eq!(report.unwrap().left_behind, Vec::<String>::new());
}
