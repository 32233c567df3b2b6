//! Idle stages do nothing: no task runs, and no worker wakes up. What a whole member does when it is idle is looked at in the crate `filbert`.
#![allow(clippy::disallowed_methods, reason = "time itself is the subject")]

use filbert_pool::Stages;
use std::time::{Duration, Instant};

/// How long nothing must have happened.
const SILENCE: Duration = Duration::from_secs(2);

/// By when the workers must have gone to sleep.
const DEADLINE: Duration = Duration::from_secs(60);

/// What each stage has run, and how often its workers went to sleep: one that is woken, whatever for, goes to sleep again.
fn activity(stages: &Stages) -> Vec<(&'static str, u64, u64)> {
    stages.snapshot().iter().map(|stage| (stage.stage, stage.executed, stage.parked)).collect()
}

#[test]
fn idle_stages_do_nothing() {
    let stages = Stages::builder().executor("reports").start().unwrap();
    // Every stage has worked once, so every thread exists and has gone to sleep the way it does.
    let _: u64 = stages.cpu().range(0..1_000_000).map(|i| i as u64).sum();
    stages.generic().submit("once", || ()).unwrap().wait().unwrap();
    stages.executor("reports").unwrap().submit("once", || ()).unwrap().wait().unwrap();
    stages.mixed().submit("once", || ()).unwrap().wait().unwrap();
    stages.partition().strand(1, ()).submit("once", |()| ()).unwrap().wait().unwrap();
    let (begin, mut before) = (Instant::now(), activity(&stages));
    loop {
        // sleeps because silence is what is looked for
        std::thread::sleep(SILENCE);
        let after = activity(&stages);
        if after == before {
            return;
        }
        assert!(begin.elapsed() < DEADLINE, "idle stages are busy: {before:?}, then {after:?}");
        before = after;
    }
}
