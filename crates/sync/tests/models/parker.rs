//! Park and unpark: a wake-up is never lost, and carries what was written before it.

use filbert_sync::Parker;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

#[test]
fn a_wake_up_is_never_lost() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicUsize::new(0)));
        let waker = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            waker.1.store(1, Ordering::Relaxed);
            waker.0.unpark();
        });
        shared.0.park();
        assert_eq!(shared.1.load(Ordering::Relaxed), 1, "unpark publishes what was written before it");
        thread.join().unwrap();
    });
}

#[test]
fn two_wakers_and_one_sleep() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let parker = Arc::clone(&parker);
                thread::spawn(move || {
                    parker.unpark();
                })
            })
            .collect();
        parker.park();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
