//! A blocked strand and those that wait behind it.

use super::*;
use filbert_sync::Latch;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks one strand until the tasks of all other strands are done, on every placement of the blocked one.
fn others_finish(new: impl Fn() -> TestStage, threads: usize) {
    const STRANDS: u64 = 24;
    for blocked in 0..STRANDS {
        let stage = new();
        let strands: Vec<_> = (0..STRANDS).map(|key| stage.striped.strand(key, ())).collect();
        let done = Arc::new(AtomicUsize::new(0));
        let all = 3 * (STRANDS as usize - 1);
        let (env, seen) = (Arc::clone(&stage.env), Arc::clone(&done));
        let stuck = strands[blocked as usize]
            .submit("blocked", move |()| block_until(&env, || seen.load(Ordering::Relaxed) == all))
            .unwrap();
        // Also mail behind the blocked operation, which must wait for it.
        let seen = Arc::clone(&done);
        let behind =
            strands[blocked as usize].submit("behind", move |()| seen.load(Ordering::Relaxed)).unwrap();
        for round in 0..3 {
            for (key, strand) in strands.iter().enumerate() {
                if key as u64 == blocked {
                    continue;
                }
                let done = Arc::clone(&done);
                let count = move |_: &mut ()| {
                    done.fetch_add(1, Ordering::Relaxed);
                };
                match round {
                    1 => strand.submit_priority("count", count).unwrap().detach(),
                    _ => strand.post("count", count).unwrap(),
                }
            }
        }
        assert_eq!(stuck.wait(), Ok(()), "threads {threads}, blocked {blocked}");
        assert_eq!(behind.wait(), Ok(all));
    }
}

#[test]
fn every_other_strand_finishes_while_one_is_blocked() {
    for threads in [2, 4, 8] {
        others_finish(|| TestStage::real(settings(threads)), threads);
    }
}

#[test]
fn every_other_strand_finishes_while_one_is_blocked_simulated() {
    for threads in [2, 4, 8] {
        for seed in 0..20 {
            others_finish(|| TestStage::simulated(seed, settings(threads)), threads);
        }
    }
}

#[test]
fn several_blocked_stripes_leave_the_work_to_the_last_one() {
    let stage = TestStage::real(settings(4));
    let go = Arc::new(Latch::new());
    let strands: Vec<_> = (0..40).map(|key| stage.striped.strand(key, ())).collect();
    let begun = Arc::new(AtomicUsize::new(0));
    let blocked: Vec<_> = strands[..3]
        .iter()
        .map(|strand| {
            let (go, begun) = (Arc::clone(&go), Arc::clone(&begun));
            let block = move |_: &mut ()| {
                begun.fetch_add(1, Ordering::Relaxed);
                go.wait();
            };
            strand.submit("block", block).unwrap()
        })
        .collect();
    // Mail before and after the three are stuck.
    let mut others: Vec<_> = strands[3..].iter().map(|strand| strand.submit("a", |()| ()).unwrap()).collect();
    eventually("three blocked stripes", || begun.load(Ordering::Relaxed) == 3);
    others.extend(strands[3..].iter().map(|strand| strand.submit("b", |()| ()).unwrap()));
    for other in others {
        assert_eq!(other.wait(), Ok(()));
    }
    go.open();
    for future in blocked {
        assert_eq!(future.wait(), Ok(()));
    }
    assert!(stage.striped.snapshot().stolen > 0);
}

#[test]
fn a_stage_that_is_never_idle_takes_over_too() {
    let stage = TestStage::real(settings(2));
    let go = Arc::new(Latch::new());
    let waits = Arc::clone(&go);
    let blocked = stage.striped.strand(0, ()).submit("block", move |()| waits.wait()).unwrap();
    // The other stripe always has the next operation in its mailbox before it ends the last one.
    fn again(strand: crate::Strand<()>, go: Arc<Latch>) {
        let next = strand.clone();
        let _ = strand.post("again", move |()| {
            if !go.is_open() {
                again(next, go);
            }
        });
    }
    for key in [1, 3, 5] {
        again(stage.striped.strand(key, ()), Arc::clone(&go));
    }
    for key in (2..40).step_by(2) {
        assert_eq!(stage.striped.strand(key, ()).submit("waits", |()| ()).unwrap().wait(), Ok(()));
    }
    go.open();
    assert_eq!(blocked.wait(), Ok(()));
}

#[test]
fn without_takeover_strands_behind_a_blocked_one_wait() {
    for seed in 0..50 {
        let stage = TestStage::simulated(seed, StripedSettings { takeover: None, ..settings(2) });
        let env = Arc::clone(&stage.env);
        let until = TAKEOVER.as_nanos() as u64 * 50;
        stage
            .striped
            .strand(0, ())
            .post("block", move |()| {
                if let Some(simulator) = env.simulator() {
                    simulator.drive(&env, Some(until), &mut || false);
                }
            })
            .unwrap();
        stage.env.simulator().unwrap().turn();
        let behind = stage.striped.strand(2, ());
        let env = Arc::clone(&stage.env);
        let when = behind.submit("behind", move |()| env.now()).unwrap().wait().unwrap();
        assert!(when >= until, "ran at {when}, before the blocked one ended");
        assert_eq!(stage.striped.snapshot().stolen, 0);
    }
}
