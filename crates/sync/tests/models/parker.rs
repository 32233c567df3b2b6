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

/// The owner consumes the first wake-up while a second one comes: what the second waker wrote must not be lost with it.
#[test]
fn a_wake_up_that_comes_while_another_is_consumed_is_not_lost() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.unpark();
                })
            })
            .collect();
        while shared.1.load(Ordering::Relaxed) < 2 {
            shared.0.park();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
