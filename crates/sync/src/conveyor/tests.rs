//! Lanes and conveyors on real threads, and single-threaded against a `VecDeque`.

use super::*;
use crate::Parker;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts how often it was woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting_waker() -> (std::sync::Arc<Count>, Waker) {
    let count = std::sync::Arc::new(Count::default());
    (std::sync::Arc::clone(&count), Waker::from(count))
}

fn parking_waker() -> (std::sync::Arc<Parker>, Waker) {
    let parker = std::sync::Arc::new(Parker::new());
    (std::sync::Arc::clone(&parker), Waker::from(parker))
}

#[test]
#[should_panic(expected = "at least one item")]
fn a_lane_without_room_is_refused() {
    let _ = lane::<u8>(0);
}

#[test]
fn the_bound_is_what_was_asked_for() {
    let (mut sender, mut receiver) = lane(3);
    for item in 0..3 {
        sender.try_send(item).unwrap();
    }
    assert_eq!(sender.try_send(9), Err(SendError::Full(9)));
    assert_eq!((sender.room(), receiver.available()), (0, 3));
    assert_eq!(receiver.try_receive(), Ok(0));
    assert_eq!((sender.room(), receiver.available()), (1, 2));
}

#[test]
fn a_dropped_sender_lets_the_rest_be_taken() {
    let (mut sender, mut receiver) = lane(4);
    sender.send_slice(&[1, 2]).unwrap();
    drop(sender);
    assert_eq!(receiver.try_receive(), Ok(1));
    assert_eq!(receiver.try_receive(), Ok(2));
    assert_eq!(receiver.try_receive(), Err(ReceiveError::Closed));
    assert_eq!(receiver.drain(8, |_| unreachable!()), Err(Closed));
}

#[test]
fn a_dropped_receiver_leaves_unsent_items_with_the_caller_and_drops_the_queued_ones() {
    let item = Rc::new(());
    let (mut sender, receiver) = lane(4);
    let mut items = vec![Rc::clone(&item), Rc::clone(&item)];
    assert_eq!(sender.send_vec(&mut items), Ok(2));
    assert_eq!(Rc::strong_count(&item), 3);
    drop(receiver);
    assert_eq!(Rc::strong_count(&item), 1, "queued items go with the receiver");
    items.push(Rc::clone(&item));
    assert_eq!(sender.send_vec(&mut items), Err(Closed));
    assert_eq!(items.len(), 1);
    assert!(matches!(sender.try_send(Rc::clone(&item)), Err(SendError::Closed(_))));
    let mut source = items.drain(..);
    assert_eq!(sender.send_from(&mut source), Err(Closed));
    assert_eq!(source.len(), 1, "the iterator was not asked");
}

#[test]
fn an_iterator_that_panics_loses_nothing_it_gave() {
    let (mut sender, mut receiver) = lane(8);
    let mut source = (0..).inspect(|&number| assert!(number < 3, "enough"));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sender.send_from(&mut source)));
    assert!(result.is_err());
    let mut items = Vec::new();
    assert_eq!(receiver.receive_into(&mut items, 10), Ok(3));
    assert_eq!(items, [0, 1, 2]);
}

#[test]
fn a_drain_that_panics_drops_what_it_was_given_once() {
    let item = Rc::new(());
    let (mut sender, mut receiver) = lane(4);
    sender.send_from(&mut std::iter::repeat_n(Rc::clone(&item), 3)).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        receiver.drain(2, |_| panic!("in the middle"))
    }));
    assert!(result.is_err());
    assert_eq!(Rc::strong_count(&item), 2);
    assert_eq!(receiver.available(), 1);
    assert_eq!(sender.room(), 3);
}

#[test]
fn a_drop_that_panics_closes_the_lane_all_the_same() {
    struct Loud(bool);
    impl Drop for Loud {
        fn drop(&mut self) {
            assert!(!self.0, "loud");
        }
    }
    let (mut sender, receiver) = lane(4);
    sender.send_vec(&mut vec![Loud(true), Loud(false)]).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
    assert!(result.is_err());
    assert!(sender.is_closed());
}

#[test]
fn items_without_size_are_counted() {
    let (mut sender, mut receiver) = lane(3);
    assert_eq!(sender.send_slice(&[(), (), (), ()]), Ok(3));
    let mut seen = 0;
    assert_eq!(receiver.drain(10, |items| seen += items.len()), Ok(3));
    assert_eq!(seen, 3);
}

#[test]
fn a_bell_rings_once_per_registration_and_not_without_one() {
    let (mut sender, mut receiver) = lane(4);
    let (count, waker) = counting_waker();
    sender.try_send(1).unwrap();
    assert!(receiver.ready_or_wake(&waker), "an item is there");
    receiver.try_receive().unwrap();
    assert!(!receiver.ready_or_wake(&waker));
    sender.try_send(2).unwrap();
    sender.try_send(3).unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(receiver.ready_or_wake(&waker));
    sender.try_send(4).unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "a receiver that is awake is left alone");
}

#[test]
fn each_side_hears_of_the_end_of_the_other() {
    let (mut sender, receiver) = lane(1);
    let (count, waker) = counting_waker();
    sender.try_send(1).unwrap();
    assert!(!sender.ready_or_wake(&waker));
    drop(receiver);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(sender.ready_or_wake(&waker));

    let (sender, mut receiver) = lane::<u8>(1);
    assert!(!receiver.ready_or_wake(&waker));
    drop(sender);
    assert_eq!(count.0.load(Ordering::SeqCst), 2);
    assert!(receiver.ready_or_wake(&waker));
}

#[test]
fn an_end_that_goes_away_forgets_its_waker() {
    let (count, waker) = counting_waker();
    let (mut sender, mut receiver) = lane(1);
    sender.try_send(1).unwrap();
    assert!(!sender.ready_or_wake(&waker));
    drop(sender);
    receiver.try_receive().unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    let (sender, mut receiver) = lane::<u8>(1);
    assert!(!receiver.ready_or_wake(&waker));
    drop(receiver);
    drop(waker);
    assert_eq!(std::sync::Arc::strong_count(&count), 1, "no waker is kept");
    drop(sender);
}

#[test]
fn a_conveyor_takes_turns_and_is_woken_once() {
    let mut conveyor = Conveyor::new();
    let mut senders: Vec<_> = (0..3).map(|_| conveyor.add_lane(8)).collect();
    let (count, waker) = counting_waker();
    assert!(!conveyor.ready_or_wake(&waker));
    for (ordinal, sender) in senders.iter_mut().enumerate() {
        sender.send_slice(&[ordinal; 4]).unwrap();
    }
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "one bell for all lanes");
    let mut first = Vec::new();
    for _ in 0..3 {
        let mut items = Vec::new();
        assert_eq!(conveyor.receive_into(&mut items, 2), Ok(2));
        first.push(items[0]);
    }
    assert_eq!(first, [0, 1, 2], "a full lane does not hold the others up");
    let mut rest = vec![0; 3];
    assert_eq!(conveyor.drain(100, |ordinal, items| rest[ordinal] += items.len()), Ok(6));
    assert_eq!(rest, [2, 2, 2]);
    assert!(!conveyor.ready_or_wake(&waker));
    senders.remove(1);
    assert_eq!(count.0.load(Ordering::SeqCst), 2, "the end of a lane is news");
    assert!(conveyor.ready_or_wake(&waker));
    assert_eq!(conveyor.receive_into(&mut Vec::new(), 1), Ok(0));
    assert_eq!((conveyor.lanes(), conveyor.open_lanes()), (3, 2));
    assert!(!conveyor.ready_or_wake(&waker), "told once");
    senders.clear();
    assert_eq!(conveyor.receive_into(&mut Vec::new(), 1), Err(Closed));
}

/// Sends `0..total` in uneven batches through a lane of `capacity`, both sides asleep whenever they can not go on.
fn pump(capacity: usize, total: u64) {
    let (mut sender, mut receiver) = lane::<u64>(capacity);
    let producer = std::thread::spawn(move || {
        let (parker, waker) = parking_waker();
        let mut next = 0;
        while next < total {
            let batch = (next % 7 + 1).min(total - next);
            let mut items: Vec<u64> = (next..next + batch).collect();
            next += batch;
            while !items.is_empty() {
                sender.send_vec(&mut items).unwrap();
                while !items.is_empty() && !sender.ready_or_wake(&waker) {
                    parker.park();
                }
            }
        }
    });
    let (parker, waker) = parking_waker();
    let mut expected = 0;
    while receiver
        .drain(5, |items| {
            for item in items {
                assert_eq!(*item, expected);
                expected += 1;
            }
        })
        .is_ok()
    {
        if !receiver.ready_or_wake(&waker) {
            parker.park();
        }
    }
    assert_eq!(expected, total);
    producer.join().unwrap();
}

#[test]
fn two_threads_that_sleep_lose_nothing() {
    for (capacity, total) in [(1, 5_000), (2, 10_000), (3, 20_000), (64, 200_000)] {
        pump(capacity, total);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send,
    SendSlice(usize),
    SendVec(usize),
    SendQueue(usize),
    SendFrom(usize),
    Receive,
    ReceiveInto(usize),
    Drain(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Send),
        (0usize..12).prop_map(Step::SendSlice),
        (0usize..12).prop_map(Step::SendVec),
        (0usize..12).prop_map(Step::SendQueue),
        (0usize..12).prop_map(Step::SendFrom),
        Just(Step::Receive),
        (0usize..12).prop_map(Step::ReceiveInto),
        (0usize..12).prop_map(Step::Drain),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    #[test]
    fn a_lane_is_a_bounded_queue(capacity in 1usize..10, steps in steps()) {
        let (mut sender, mut receiver) = lane::<u64>(capacity);
        let mut oracle = VecDeque::new();
        let mut next = 0u64;
        for step in steps {
            let room = capacity - oracle.len();
            prop_assert_eq!(sender.room(), room);
            prop_assert_eq!(receiver.available(), oracle.len());
            let fresh = |count: usize| (next..next + count as u64).collect::<Vec<_>>();
            let sent = match step {
                Step::Send => match sender.try_send(next) {
                    Ok(()) => 1,
                    Err(error) => {
                        prop_assert_eq!(error, SendError::Full(next));
                        0
                    }
                },
                Step::SendSlice(count) => sender.send_slice(&fresh(count)).unwrap(),
                Step::SendVec(count) => {
                    let mut items = fresh(count);
                    let sent = sender.send_vec(&mut items).unwrap();
                    prop_assert_eq!(items, fresh(count)[sent..].to_vec());
                    sent
                }
                Step::SendQueue(count) => {
                    let mut items = VecDeque::from(fresh(count));
                    let sent = sender.send_queue(&mut items).unwrap();
                    prop_assert_eq!(items.len(), count - sent);
                    sent
                }
                Step::SendFrom(count) => {
                    let mut items = fresh(count).into_iter();
                    let sent = sender.send_from(&mut items).unwrap();
                    prop_assert_eq!(items.len(), count - sent);
                    sent
                }
                Step::Receive => {
                    prop_assert_eq!(receiver.try_receive().ok(), oracle.pop_front());
                    0
                }
                Step::ReceiveInto(max) => {
                    let mut items = Vec::new();
                    let count = receiver.receive_into(&mut items, max).unwrap();
                    prop_assert_eq!(count, items.len());
                    prop_assert_eq!(items, oracle.drain(..max.min(oracle.len())).collect::<Vec<_>>());
                    0
                }
                Step::Drain(max) => {
                    let mut items = Vec::new();
                    receiver.drain(max, |slice| items.extend_from_slice(slice)).unwrap();
                    prop_assert_eq!(items, oracle.drain(..max.min(oracle.len())).collect::<Vec<_>>());
                    0
                }
            };
            oracle.extend(next..next + sent as u64);
            next += sent as u64;
        }
    }
}
