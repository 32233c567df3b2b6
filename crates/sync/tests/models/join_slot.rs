//! Join promotion: the promoted half is run once, by its owner or by a thief, and its owner sees the result.

use filbert_sync::Parker;
use filbert_sync::join_slot::JoinSlot;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// One promoted half: the deque that decides who runs it, the place of its result, the owner's bed.
struct Fork {
    deque: Mutex<Option<u32>>,
    result: UnsafeCell<u32>,
    slot: JoinSlot,
    owner: Parker,
    runs: AtomicUsize,
}

// SAFETY: `result` is written by whoever took the half, and read by the owner after `is_done`: what the model checks.
unsafe impl Sync for Fork {}
// SAFETY: as above.
unsafe impl Send for Fork {}

impl Fork {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: Mutex::new(None),
            result: UnsafeCell::new(0),
            slot: JoinSlot::new(),
            owner: Parker::new(),
            runs: AtomicUsize::new(0),
        })
    }

    fn steal(&self) {
        let Some(half) = self.deque.lock().unwrap().take() else { return };
        self.runs.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this thread took the half.
        self.result.with_mut(|result| unsafe { *result = half + 1 });
        if self.slot.finish() {
            self.owner.unpark();
        }
    }

    fn settle(&self) -> u32 {
        if let Some(half) = self.deque.lock().unwrap().take() {
            self.runs.fetch_add(1, Ordering::Relaxed);
            return half + 1;
        }
        while !self.slot.is_done() {
            if self.slot.announce_wait() {
                self.owner.park();
            }
        }
        // SAFETY: the half is done, so its thief writes no more.
        self.result.with(|result| unsafe { *result })
    }
}

#[test]
fn a_promoted_half_runs_once_and_its_owner_gets_the_result() {
    loom::model(|| {
        let fork = Fork::new();
        *fork.deque.lock().unwrap() = Some(41);
        let thief = {
            let fork = Arc::clone(&fork);
            thread::spawn(move || fork.steal())
        };
        assert_eq!(fork.settle(), 42);
        thief.join().unwrap();
        assert_eq!(fork.runs.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn two_thieves_and_a_promotion_under_way() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(3);
    model.check(|| {
        let fork = Fork::new();
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let fork = Arc::clone(&fork);
                thread::spawn(move || fork.steal())
            })
            .collect();
        *fork.deque.lock().unwrap() = Some(6);
        assert_eq!(fork.settle(), 7);
        for thief in thieves {
            thief.join().unwrap();
        }
        assert_eq!(fork.runs.load(Ordering::Relaxed), 1);
    });
}
