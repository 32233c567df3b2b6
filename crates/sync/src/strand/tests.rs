use super::*;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Counter;

/// A letter that writes its number down.
struct Note(u32);

impl Letter<Vec<u32>> for Note {
    fn open(self, value: &mut Vec<u32>) -> bool {
        value.push(self.0);
        true
    }
}

/// A letter that counts when it is dropped, opened or not.
struct Dropped(Arc<Counter>);

impl Letter<Vec<u32>> for Dropped {
    fn open(self, _value: &mut Vec<u32>) -> bool {
        true
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn run(strand: &Strand<Vec<u32>>, entry: Lane, letters: usize) -> Released {
    let told = Cell::new(None);
    let mut held = strand.begin(entry, |released| told.set(Some(released))).expect("nobody else holds it");
    for _ in 0..letters {
        let Some(mail) = held.next(entry) else { break };
        assert!(mail.open(held.value()));
    }
    drop(held);
    told.get().expect("the release tells what to do")
}

fn value(strand: &Strand<Vec<u32>>) -> Vec<u32> {
    strand.claim(|_| {}).expect("idle").value().clone()
}

const NOTHING: Released = Released { normal: false, priority: false, drained: false };

#[test]
fn mail_is_opened_in_order_and_queued_once() {
    let strand = Strand::new(Vec::new());
    assert_eq!(strand.submit("note", Note(1), Lane::Normal, 9), Ok(true));
    assert_eq!(strand.submit("note", Note(2), Lane::Normal, 9), Ok(false));
    assert!(strand.claim(|_| {}).is_none(), "a caller does not overtake mail");
    assert_eq!(strand.depth(), 2);
    assert_eq!(run(&strand, Lane::Normal, 1), Released { normal: true, ..NOTHING });
    assert_eq!(strand.submit("note", Note(3), Lane::Normal, 9), Ok(false), "the backlog has its entry");
    assert!(strand.claim(|_| {}).is_none(), "a caller does not overtake the backlog");
    assert_eq!(run(&strand, Lane::Normal, 9), NOTHING);
    assert_eq!(value(&strand), [1, 2, 3]);
    assert!(strand.is_idle());
}

#[test]
fn priority_mail_is_opened_first_and_normal_mail_does_not_ride_along() {
    let strand = Strand::new(Vec::new());
    assert_eq!(strand.submit("note", Note(1), Lane::Normal, 9), Ok(true));
    assert_eq!(strand.submit("note", Note(2), Lane::Priority, 9), Ok(true), "an entry of its own");
    assert_eq!(strand.submit("note", Note(3), Lane::Priority, 9), Ok(false));
    assert_eq!(run(&strand, Lane::Priority, 9), NOTHING, "the normal entry is still there");
    assert_eq!(strand.depth(), 1);
    assert_eq!(run(&strand, Lane::Normal, 9), NOTHING);
    assert_eq!(value(&strand), [2, 3, 1]);
}

#[test]
fn a_stale_entry_is_harmless() {
    let strand = Strand::new(Vec::new());
    assert_eq!(strand.submit("note", Note(1), Lane::Normal, 9), Ok(true));
    assert_eq!(strand.submit("note", Note(2), Lane::Priority, 9), Ok(true));
    assert_eq!(run(&strand, Lane::Normal, 9), NOTHING);
    assert_eq!(run(&strand, Lane::Priority, 9), NOTHING);
    assert_eq!(value(&strand), [2, 1]);
}

#[test]
fn an_urgent_letter_is_seen_between_two_letters() {
    let strand = Strand::new(Vec::new());
    for note in 1..=3 {
        strand.submit("note", Note(note), Lane::Normal, 9).unwrap();
    }
    let mut held = strand.begin(Lane::Normal, |_| {}).unwrap();
    let first = held.next(Lane::Normal).unwrap();
    first.open(held.value());
    assert_eq!(strand.submit("note", Note(9), Lane::Priority, 9), Ok(false), "the holder sees to it");
    while let Some(mail) = held.next(Lane::Normal) {
        mail.open(held.value());
    }
    assert_eq!(*held.value(), [1, 9, 2, 3]);
}

#[test]
fn the_bound_counts_what_waits() {
    let strand = Strand::new(Vec::new());
    strand.submit("note", Note(1), Lane::Normal, 2).unwrap();
    strand.submit("note", Note(2), Lane::Normal, 2).unwrap();
    assert_eq!(strand.submit("note", Note(3), Lane::Normal, 2), Err(Refused::Full));
    run(&strand, Lane::Normal, 1);
    assert_eq!(strand.submit("note", Note(4), Lane::Normal, 2), Ok(false));
    assert_eq!(strand.submit("note", Note(5), Lane::Normal, 2), Err(Refused::Full), "the backlog counts");
    assert_eq!(strand.submit("note", Note(6), Lane::Normal, usize::MAX), Ok(false));
}

#[test]
fn a_closed_strand_refuses_and_tells_once_when_it_is_drained() {
    let strand = Strand::new(Vec::new());
    strand.submit("note", Note(1), Lane::Normal, 9).unwrap();
    assert!(strand.close());
    assert!(!strand.close(), "told once");
    assert_eq!(strand.submit("note", Note(2), Lane::Normal, 9), Err(Refused::Closed));
    assert_eq!(run(&strand, Lane::Normal, 9), Released { drained: true, ..NOTHING });
    assert!(strand.claim(|_| {}).is_none());
    assert!(!Strand::new(()).close(), "an idle strand is drained at once");
}

#[test]
fn a_panic_releases_the_strand() {
    let strand = Strand::new(vec![0]);
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _held = strand.claim(|_| {});
        panic!("inside");
    }));
    assert!(died.is_err());
    assert_eq!(value(&strand), [0]);
}

#[test]
fn letters_are_dropped_exactly_once() {
    let drops = Arc::new(Counter::new(0));
    let strand = Strand::new(Vec::new());
    for lane in [Lane::Normal, Lane::Priority, Lane::Normal, Lane::Normal] {
        strand.submit("dropped", Dropped(Arc::clone(&drops)), lane, 9).unwrap();
    }
    run(&strand, Lane::Normal, 2);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    strand.submit("dropped", Dropped(Arc::clone(&drops)), Lane::Normal, 9).unwrap();
    drop(strand);
    assert_eq!(drops.load(Ordering::Relaxed), 5);
}
