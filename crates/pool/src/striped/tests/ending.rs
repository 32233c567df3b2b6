//! Closing a stage: drained or cancelled, every future resolves.

use super::*;
use crate::error::{SubmitError, TaskError};
use std::sync::atomic::{AtomicUsize, Ordering};

fn load_and_close(stage: &TestStage, ending: Ending) {
    let strands: Vec<_> = (0..8).map(|key| stage.striped.strand(key, 0_u32)).collect();
    let ran = Arc::new(AtomicUsize::new(0));
    let mut futures = Vec::new();
    for round in 0..20 {
        for strand in &strands {
            let ran = Arc::clone(&ran);
            let count = move |_: &mut u32| {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            futures.push(match round % 4 {
                0 => strand.submit_priority("count", count).unwrap(),
                _ => strand.submit("count", count).unwrap(),
            });
        }
    }
    let engine = stage.striped.engine();
    engine.close(ending);
    for strand in &strands {
        let refused = strand.submit("late", |_| ()).map(drop);
        assert_eq!(refused, Err(SubmitError::ShutDown { stage: stage.striped.id() }));
        assert!(strand.try_run_here("late", |_| ()).is_err());
    }
    assert!(stage.striped.strand(9, ()).post("late", |()| ()).is_err(), "new strands are closed too");
    assert!(stage.striped.submit_any("late", || ()).is_err());
    let count = futures.len();
    let mut done = 0;
    for future in futures {
        match future.wait() {
            Ok(()) => done += 1,
            Err(error) => assert!(matches!(error, TaskError::Cancelled { .. }), "{error}"),
        }
    }
    assert_eq!(ran.load(Ordering::Relaxed), done, "a cancelled operation did not run");
    if ending == Ending::Drain {
        assert_eq!(done, count);
    }
    match stage.env.simulator() {
        Some(simulator) => simulator.settle(&stage.env, 1_000_000_000),
        None => eventually("the stage to drain", || engine.is_drained()),
    }
    assert!(engine.is_drained());
}

#[test]
fn closing_always_ends_and_every_future_resolves() {
    for round in 0..60 {
        let ending = if round % 2 == 0 { Ending::Drain } else { Ending::Cancel };
        let stage = TestStage::real(settings(1 + round % 4));
        load_and_close(&stage, ending);
    }
}

#[test]
fn closing_always_ends_simulated() {
    for seed in 0..200 {
        let ending = if seed % 2 == 0 { Ending::Drain } else { Ending::Cancel };
        load_and_close(&TestStage::simulated(seed, settings(3)), ending);
    }
}

#[test]
fn a_drain_waits_for_a_caller_and_for_the_mail_that_came_meanwhile() {
    let stage = TestStage::real(settings(2));
    let strand = stage.striped.strand(0, ());
    let (engine, mailed) = (stage.striped.engine(), strand.clone());
    let future = strand
        .try_run_here("caller", move |()| {
            let future = mailed.submit("mailed", |()| 1).unwrap();
            engine.close(Ending::Drain);
            assert!(!engine.is_drained());
            future
        })
        .unwrap_or_else(|_| panic!("idle"))
        .unwrap();
    assert_eq!(future.wait(), Ok(1));
    eventually("the stage to drain", || stage.striped.engine().is_drained());
}

#[test]
fn submits_against_a_close_are_run_or_refused() {
    for round in 0..30 {
        let stage = TestStage::real(settings(2));
        let strands: Vec<_> = (0..4).map(|key| stage.striped.strand(key, ())).collect();
        std::thread::scope(|scope| {
            let submitter = scope.spawn(|| {
                let mut futures = Vec::new();
                for turn in 0.. {
                    match strands[turn % strands.len()].submit("work", |()| ()) {
                        Ok(future) => futures.push(future),
                        Err(SubmitError::ShutDown { .. }) => break,
                        Err(SubmitError::Overloaded { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                futures
            });
            while stage.striped.snapshot().executed < round {
                std::thread::yield_now();
            }
            stage.striped.engine().close(Ending::Drain);
            for future in submitter.join().unwrap() {
                assert_eq!(future.wait(), Ok(()));
            }
        });
    }
}
