//! User code at its worst, and the narrow moments between two threads.

use super::*;
use filbert_sync::Latch;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A sleeper that is woken to watch gets work of its own instead: the watch must pass on.
#[test]
fn a_summoned_watcher_that_gets_work_hands_the_watch_on() {
    for round in 0..5 {
        let stage =
            TestStage::real(StripedSettings { takeover: Some(Duration::from_millis(20)), ..settings(3) });
        let (begun, go) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
        let block = |go: &Arc<Latch>, begun: &Arc<Latch>| {
            let (go, begun) = (Arc::clone(go), Arc::clone(begun));
            move |_: &mut ()| {
                begun.open();
                go.wait();
            }
        };
        // All stripes asleep, for good.
        let parked = || stage.striped.snapshot().parked;
        let mut before = parked();
        let mut quiet = 0;
        eventually("three sleepers", || {
            let now = parked();
            quiet = if now == before && now >= 3 { quiet + 1 } else { 0 };
            before = now;
            quiet > 50
        });
        let behind = stage.striped.strand(3, ());
        let other = stage.striped.strand(1, ());
        let first = stage.striped.strand(0, ()).submit("first", block(&go, &begun)).unwrap();
        begun.wait();
        let also = Arc::new(Latch::new());
        let mut waits = behind.submit("behind the first", |()| ()).unwrap();
        let second = other.submit("second", block(&go, &also)).unwrap();
        let result = waits.wait_timeout(Duration::from_secs(60));
        go.open();
        first.wait().unwrap();
        second.wait().unwrap();
        assert_eq!(
            result,
            Ok(()),
            "round {round}: stripe 2 slept while a strand waited behind a blocked one"
        );
    }
}

struct Bomb(Arc<AtomicUsize>);
impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("from a drop");
    }
}

#[test]
fn a_panic_payload_that_panics_when_dropped() {
    let env = Env::real();
    let striped = Striped::start(&env, StageId::of(StageKind::Partition), settings(1));
    let drops = Arc::new(AtomicUsize::new(0));
    let bomb = Arc::clone(&drops);
    striped.strand(0, ()).post("bomb", move |()| std::panic::panic_any(Bomb(bomb))).unwrap();
    eventually("the drop", || drops.load(Ordering::Relaxed) == 1);
    let mut next = striped.strand(0, ()).submit("next", |()| 1).unwrap();
    assert_eq!(next.wait_timeout(Duration::from_secs(60)), Ok(1), "the stripe died");
}

#[test]
fn a_value_that_panics_when_dropped() {
    let env = Env::real();
    let striped = Striped::start(&env, StageId::of(StageKind::Partition), settings(1));
    let drops = Arc::new(AtomicUsize::new(0));
    let go = Arc::new(Latch::new());
    let strand = striped.strand(0, Bomb(Arc::clone(&drops)));
    let waits = Arc::clone(&go);
    strand.post("use", move |_| waits.wait()).unwrap();
    drop(strand);
    go.open();
    eventually("the drop", || drops.load(Ordering::Relaxed) == 1);
    let mut next = striped.strand(0, ()).submit("next", |()| 1).unwrap();
    assert_eq!(next.wait_timeout(Duration::from_secs(60)), Ok(1), "the stripe died");
}

#[test]
fn a_simulated_stage_that_is_cancelled_and_dropped_leaks_no_letter() {
    let kept = Arc::new(());
    {
        let env = Env::simulated(1);
        let striped = Striped::start(&env, StageId::of(StageKind::Partition), settings(2));
        let held = Arc::clone(&kept);
        striped.strand(0, ()).post("never", move |()| drop(held)).unwrap();
        striped.engine().close(Ending::Cancel);
    }
    assert_eq!(Arc::strong_count(&kept), 1, "a letter was leaked with its stage");
}
