//! Shutdown against submit: once the gate is drained, every submit that got in has been seen, and none comes later.

use filbert_sync::Gate;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

#[test]
fn a_drained_gate_has_seen_every_submit() {
    let mut builder = loom::model::Builder::new();
    // Three threads, one of which spins: unbounded, the model takes many times as long and shows nothing more.
    builder.preemption_bound.get_or_insert(3);
    builder.check(|| {
        let shared = Arc::new((Gate::new(), AtomicUsize::new(0)));
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    if let Some(_pass) = shared.0.enter() {
                        shared.1.fetch_add(1, Ordering::Relaxed);
                        return 1;
                    }
                    0
                })
            })
            .collect();
        shared.0.close();
        shared.0.wait_drained();
        let seen = shared.1.load(Ordering::Relaxed);
        let accepted: usize = submitters.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(seen, accepted, "a submit was accepted after the drain");
    });
}

#[test]
fn a_drained_gate_stays_drained_whoever_knocks() {
    loom::model(|| {
        let gate = Arc::new(Gate::new());
        gate.close();
        let knocks = Arc::clone(&gate);
        let thread = thread::spawn(move || assert!(knocks.enter().is_none()));
        // Workers end when they see this; one that saw it false again would sleep for ever.
        assert!(gate.is_drained());
        thread.join().unwrap();
    });
}
