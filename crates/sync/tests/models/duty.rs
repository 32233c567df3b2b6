//! Bringers and runners: all work is done when the last of them has left.

use filbert_sync::Duty;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

#[derive(Default)]
struct Work {
    duty: Duty,
    left: AtomicUsize,
    runners: AtomicUsize,
}

impl Work {
    fn bring(&self) {
        // Relaxed: the order must come from the duty, as it does for work that lies in a lane.
        self.left.fetch_add(1, Ordering::Relaxed);
        if self.duty.summon() {
            self.run();
        }
    }

    fn run(&self) {
        loop {
            assert_eq!(self.runners.fetch_add(1, Ordering::Relaxed), 0, "two runners at once");
            self.left.store(0, Ordering::Relaxed);
            self.runners.fetch_sub(1, Ordering::Relaxed);
            self.duty.leave();
            if self.left.load(Ordering::Relaxed) == 0 || !self.duty.summon() {
                return;
            }
        }
    }
}

#[test]
fn no_work_is_left_lying() {
    loom::model(|| {
        let work = Arc::new(Work::default());
        let bringers: Vec<_> = (0..2)
            .map(|_| {
                let work = Arc::clone(&work);
                thread::spawn(move || work.bring())
            })
            .collect();
        for bringer in bringers {
            bringer.join().unwrap();
        }
        assert_eq!(work.left.load(Ordering::Relaxed), 0, "brought, but never done");
    });
}
