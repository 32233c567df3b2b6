//! Lanes and conveyors of one and two slots: every item exactly once and in order, and no side sleeps for ever because a
//! wake-up for data, room or the end was lost (loom reports that as a deadlock).

use filbert_sync::Parker;
use filbert_sync::conveyor::{self, Conveyor, Receiver, SendError, Sender};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::task::Waker;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(body);
}

fn sleeper() -> (std::sync::Arc<Parker>, Waker) {
    let parker = std::sync::Arc::new(Parker::new());
    (std::sync::Arc::clone(&parker), Waker::from(parker))
}

/// Sends all `items`, asleep while there is no room; false when the receiver is gone.
fn send_all<T>(sender: &mut Sender<T>, mut items: Vec<T>) -> bool {
    let (parker, waker) = sleeper();
    loop {
        match sender.send_vec(&mut items) {
            Err(_) => return false,
            Ok(_) if items.is_empty() => return true,
            Ok(0) => {
                if sender.ready_or_wake(&waker) {
                    thread::yield_now();
                } else {
                    parker.park();
                }
            }
            Ok(_) => {}
        }
    }
}

/// Takes up to `max` at a time until the end, asleep while there is nothing.
fn receive_all<T>(receiver: &mut Receiver<T>, max: usize) -> Vec<T> {
    let (parker, waker) = sleeper();
    let mut items = Vec::new();
    while let Ok(count) = receiver.receive_into(&mut items, max) {
        if count == 0 {
            if receiver.ready_or_wake(&waker) {
                thread::yield_now();
            } else {
                parker.park();
            }
        }
    }
    items
}

#[test]
fn a_sender_with_nothing_to_send_learns_of_the_end() {
    model(|| {
        let (mut sender, mut receiver) = conveyor::lane(1);
        sender.try_send(1).unwrap();
        let consumer = thread::spawn(move || {
            assert_eq!(receiver.try_receive(), Ok(1));
            drop(receiver);
        });
        let (parker, waker) = sleeper();
        if !sender.closed_or_wake(&waker) {
            parker.park();
        }
        assert!(sender.is_closed(), "it is woken for the end and for nothing else");
        consumer.join().unwrap();
    });
}

#[test]
fn one_slot_data_room_and_end() {
    model(|| {
        let (mut sender, mut receiver) = conveyor::lane(1);
        let producer = thread::spawn(move || assert!(send_all(&mut sender, vec![1, 2])));
        assert_eq!(receive_all(&mut receiver, 1), [1, 2]);
        producer.join().unwrap();
    });
}

#[test]
fn two_slots_in_batches_that_wrap() {
    model(|| {
        let (mut sender, mut receiver) = conveyor::lane(2);
        let producer = thread::spawn(move || assert!(send_all(&mut sender, vec![1, 2, 3])));
        let (parker, waker) = sleeper();
        let mut seen = Vec::new();
        loop {
            match receiver.drain(2, |items| seen.extend_from_slice(items)) {
                Err(_) => break,
                Ok(0) if receiver.ready_or_wake(&waker) => thread::yield_now(),
                Ok(0) => parker.park(),
                Ok(_) => {}
            }
        }
        assert_eq!(seen, [1, 2, 3]);
        producer.join().unwrap();
    });
}

#[test]
fn single_items_and_an_end_without_any() {
    model(|| {
        let (mut sender, mut receiver) = conveyor::lane(2);
        let producer = thread::spawn(move || sender.try_send(7));
        let taken = receive_all(&mut receiver, 2);
        producer.join().unwrap().unwrap();
        assert_eq!(taken, [7]);

        let (sender, mut receiver) = conveyor::lane::<u8>(1);
        let producer = thread::spawn(move || drop(sender));
        assert_eq!(receive_all(&mut receiver, 1), []);
        producer.join().unwrap();
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_receiver_that_goes_wakes_the_sender_and_every_item_is_dropped_once() {
    model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut sender, receiver) = conveyor::lane(1);
        let producer = thread::spawn({
            let drops = Arc::clone(&drops);
            move || {
                let items = (0..2).map(|_| Counted(Arc::clone(&drops))).collect();
                // With one slot and nobody who takes, only the end of the receiver lets this return; the second item
                // may still get into the slot that the end made free.
                send_all(&mut sender, items);
            }
        });
        drop(receiver);
        producer.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_send_against_the_end_of_the_receiver() {
    model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut sender, mut receiver) = conveyor::lane(2);
        let producer = thread::spawn({
            let drops = Arc::clone(&drops);
            move || match sender.try_send(Counted(drops)) {
                Ok(()) => {}
                Err(SendError::Closed(_)) => {}
                Err(SendError::Full(_)) => panic!("two slots, one item"),
            }
        });
        let _ = receiver.try_receive();
        drop(receiver);
        producer.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn two_lanes_share_one_bell() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(|| {
        let mut conveyor = Conveyor::new();
        let producers: Vec<_> = (1..=2)
            .map(|item| {
                let mut sender = conveyor.add_lane(1);
                thread::spawn(move || sender.try_send(item).unwrap())
            })
            .collect();
        let (parker, waker) = sleeper();
        let mut items = Vec::new();
        while let Ok(count) = conveyor.receive_into(&mut items, 2) {
            if count == 0 {
                if conveyor.ready_or_wake(&waker) {
                    thread::yield_now();
                } else {
                    parker.park();
                }
            }
        }
        items.sort();
        assert_eq!(items, [1, 2]);
        for producer in producers {
            producer.join().unwrap();
        }
    });
}
