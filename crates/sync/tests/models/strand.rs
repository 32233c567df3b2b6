//! The strand: one holder at a time, no mail lost, order per submitter, a caller never overtakes, takeover, close.
//!
//! The ready queues are modelled by a lock; who pops an entry calls `begin`, as a stripe or a stripe that takes over does.
//! The value is a vector, and touching it is tracked by loom: two holders at once would be reported as a race.

use filbert_sync::strand::{Lane, Letter, Released, Strand};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

struct Note(u32);

impl Letter<Vec<u32>> for Note {
    fn open(self, value: &mut Vec<u32>) -> bool {
        value.push(self.0);
        true
    }
}

struct Stage {
    strand: Strand<Vec<u32>>,
    ready: Mutex<Vec<Lane>>,
    drained: AtomicUsize,
    opened: AtomicUsize,
}

impl Stage {
    fn new() -> Arc<Self> {
        Arc::new(Stage {
            strand: Strand::new(Vec::new()),
            ready: Mutex::new(Vec::new()),
            drained: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
        })
    }

    fn submit(&self, note: u32, lane: Lane) -> bool {
        match self.strand.submit("note", Note(note), lane, 9) {
            Ok(ready) => {
                if ready {
                    self.ready.lock().unwrap().push(lane);
                }
                true
            }
            Err(_) => false,
        }
    }

    fn queue(&self, released: Released) {
        if released.normal {
            self.ready.lock().unwrap().push(Lane::Normal);
        }
        if released.priority {
            self.ready.lock().unwrap().push(Lane::Priority);
        }
        if released.drained {
            self.drained.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A stripe's turn with at most `letters` letters; false when no entry is there.
    fn turn(&self, letters: usize) -> bool {
        let Some(entry) = self.ready.lock().unwrap().pop() else { return false };
        if let Some(mut held) = self.strand.begin(entry, |released| self.queue(released)) {
            for _ in 0..letters {
                let Some(mail) = held.next(entry) else { break };
                mail.open(held.value());
                self.opened.fetch_add(1, Ordering::Relaxed);
            }
        }
        true
    }

    /// Runs what is left once every other thread has ended, and gives the notes in their order.
    fn finish(&self) -> Vec<u32> {
        while self.turn(9) {}
        assert!(self.strand.is_idle(), "a strand without entries is idle");
        assert_eq!(self.strand.depth(), 0, "mail was lost");
        let mut held = self.strand.claim(|_| {}).expect("idle");
        held.value().clone()
    }
}

#[test]
fn no_mail_is_lost_and_each_submitter_keeps_its_order() {
    loom::model(|| {
        let stage = Stage::new();
        let submitter = Arc::clone(&stage);
        let other = thread::spawn(move || {
            submitter.submit(1, Lane::Normal);
            submitter.submit(2, Lane::Normal);
        });
        stage.submit(10, Lane::Normal);
        stage.turn(1);
        other.join().unwrap();
        let notes = stage.finish();
        assert_eq!(notes.len(), 3);
        let ours: Vec<_> = notes.iter().filter(|note| **note < 10).collect();
        assert_eq!(ours, [&1, &2]);
    });
}

#[test]
fn two_stripes_that_pop_the_same_queue_never_hold_together() {
    loom::model(|| {
        let stage = Stage::new();
        stage.submit(1, Lane::Normal);
        let taker = Arc::clone(&stage);
        let other = thread::spawn(move || {
            taker.turn(1);
            taker.turn(1);
        });
        stage.submit(2, Lane::Normal);
        stage.turn(1);
        stage.submit(3, Lane::Normal);
        other.join().unwrap();
        assert_eq!(stage.finish(), [1, 2, 3]);
    });
}

#[test]
fn a_claim_against_a_submit_and_its_turn() {
    loom::model(|| {
        let stage = Stage::new();
        let stripe = Arc::clone(&stage);
        let other = thread::spawn(move || {
            stripe.submit(1, Lane::Normal);
            stripe.turn(9);
        });
        let claimed = match stage.strand.claim(|released| stage.queue(released)) {
            Some(mut held) => {
                held.value().push(7);
                true
            }
            None => false,
        };
        stage.submit(8, Lane::Normal);
        other.join().unwrap();
        let notes = stage.finish();
        assert_eq!(notes.len(), 2 + usize::from(claimed));
        if claimed {
            let place = |note| notes.iter().position(|other| *other == note).unwrap();
            assert!(place(7) < place(8), "a caller's later mail comes later: {notes:?}");
        }
    });
}

#[test]
fn two_claims_and_their_mail() {
    loom::model(|| {
        let stage = Stage::new();
        let call = |stage: &Stage, note| match stage.strand.claim(|released| stage.queue(released)) {
            Some(mut held) => held.value().push(note),
            None => assert!(stage.submit(note, Lane::Normal)),
        };
        let caller = Arc::clone(&stage);
        let other = thread::spawn(move || {
            call(&caller, 1);
            call(&caller, 2);
        });
        call(&stage, 10);
        other.join().unwrap();
        let notes = stage.finish();
        assert_eq!(notes.iter().filter(|note| **note < 10).collect::<Vec<_>>(), [&1, &2]);
        assert_eq!(notes.len(), 3);
    });
}

#[test]
fn priority_mail_against_a_turn() {
    loom::model(|| {
        let stage = Stage::new();
        stage.submit(1, Lane::Normal);
        stage.submit(2, Lane::Normal);
        let sender = Arc::clone(&stage);
        let other = thread::spawn(move || {
            sender.submit(9, Lane::Priority);
            sender.turn(9);
        });
        stage.turn(1);
        other.join().unwrap();
        let notes = stage.finish();
        assert_eq!(notes.len(), 3);
        assert_eq!(notes.iter().filter(|note| **note < 9).collect::<Vec<_>>(), [&1, &2]);
    });
}

#[test]
fn close_against_submit_and_claim() {
    loom::model(|| {
        let stage = Stage::new();
        let sender = Arc::clone(&stage);
        let other = thread::spawn(move || {
            if let Some(mut held) = sender.strand.claim(|released| sender.queue(released)) {
                held.value().push(2);
            }
            usize::from(sender.submit(1, Lane::Normal))
        });
        let busy = stage.strand.close();
        while stage.turn(9) {}
        let accepted = other.join().unwrap();
        while stage.turn(9) {}
        assert!(stage.strand.is_idle());
        assert_eq!(stage.strand.depth(), 0);
        assert_eq!(stage.drained.load(Ordering::Relaxed), usize::from(busy), "drained is told once");
        assert_eq!(stage.opened.load(Ordering::Relaxed), accepted, "what was accepted was opened");
    });
}
