//! The promises of the channels, in random order of pushes, pops, closings and failures.

use super::*;
use crate::SqlError;
use crate::memory::{QueryMemory, TotalMemory};
use arrow::array::Int64Array;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

fn memory() -> (Arc<dyn MemoryPool>, MemoryReservation) {
    let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(1 << 30, &TotalMemory::new(1 << 30)));
    let reservation = MemoryConsumer::new("test").register(&pool);
    (pool, reservation)
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
    RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(rows))]).unwrap()
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn new() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Woken::default());
        (Arc::clone(&woken), Waker::from(woken))
    }

    fn times(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

const CREDITS: Credits = Credits { batches: 2, bytes: usize::MAX };

#[test]
fn a_producer_waits_only_while_every_output_is_full() {
    let (pool, reservation) = memory();
    let (mut senders, mut receivers) = channels(1, 2, CREDITS, reservation);
    let mut sender = senders.remove(0);
    let (woken, waker) = Woken::new();
    let context = Context::from_waker(&waker);
    for n in 0..2 {
        sender.send(0, batch(n..n + 1)).unwrap();
    }
    assert_eq!(sender.poll_room(&context), Poll::Ready(Room::Some), "output 1 is empty");
    for n in 0..2 {
        sender.send(1, batch(n..n + 1)).unwrap();
    }
    assert_eq!(sender.poll_room(&context), Poll::Pending);
    assert_eq!(woken.times(), 0);
    let popped = receivers[1].poll_next(&context);
    assert!(matches!(popped, Poll::Ready(Some(Ok(_)))));
    assert_eq!(woken.times(), 1, "a credit came back");
    assert_eq!(sender.poll_room(&context), Poll::Ready(Room::Some));
    sender.send(1, batch(0..1)).unwrap();
    assert_eq!(sender.poll_room(&context), Poll::Pending);
    drop(receivers.remove(0));
    assert_eq!(woken.times(), 2, "a reader that goes away wakes whoever waits for it");
    assert_eq!(sender.poll_room(&context), Poll::Pending, "the other output is still full");
    drop(receivers);
    assert_eq!(woken.times(), 3);
    assert_eq!(sender.poll_room(&context), Poll::Ready(Room::Nobody));
    sender.send(0, batch(0..1)).unwrap();
    assert_eq!(pool.reserved(), 0, "what nobody reads is not held");
}

#[test]
fn bytes_are_credits_too() {
    let (pool, reservation) = memory();
    let credits = Credits { batches: 100, bytes: 1_000 };
    let (mut senders, mut receivers) = channels(1, 1, credits, reservation);
    let (_, waker) = Woken::new();
    let context = Context::from_waker(&waker);
    senders[0].send(0, batch(0..1_000)).unwrap();
    assert_eq!(senders[0].poll_room(&context), Poll::Pending);
    assert!(pool.reserved() >= 8_000);
    assert!(receivers[0].poll_next(&context).is_ready());
    assert_eq!(senders[0].poll_room(&context), Poll::Ready(Room::Some));
    assert_eq!(pool.reserved(), 0);
}

#[test]
fn a_producer_that_is_dropped_unfinished_is_an_error_not_an_end() {
    let (_, reservation) = memory();
    let (mut senders, mut receivers) = channels(2, 1, CREDITS, reservation);
    let (woken, waker) = Woken::new();
    let context = Context::from_waker(&waker);
    senders.remove(0).finish();
    assert!(receivers[0].poll_next(&context).is_pending());
    drop(senders);
    assert_eq!(woken.times(), 1);
    let end = receivers[0].poll_next(&context);
    assert!(matches!(end, Poll::Ready(Some(Err(SqlError::Cancelled)))), "{end:?}");
}

#[test]
fn the_first_failure_is_what_everybody_sees() {
    let (_, reservation) = memory();
    let (mut senders, mut receivers) = channels(2, 2, CREDITS, reservation);
    let (_, waker) = Woken::new();
    let context = Context::from_waker(&waker);
    senders[0].fail(SqlError::Refused("first".into()));
    senders[1].fail(SqlError::Refused("second".into()));
    assert_eq!(senders[1].poll_room(&context), Poll::Ready(Room::Nobody));
    drop(senders);
    for receiver in &mut receivers {
        let Poll::Ready(Some(Err(cause))) = receiver.poll_next(&context) else { panic!("a failure") };
        assert_eq!(cause.to_string(), "first");
    }
}

#[test]
fn a_producer_that_waits_for_its_own_input_is_told_when_nobody_reads() {
    for fails in [false, true] {
        let (_, reservation) = memory();
        let (mut senders, mut receivers) = channels(2, 2, CREDITS, reservation);
        let (woken, waker) = Woken::new();
        senders[0].belongs_to(waker.clone());
        drop(receivers.remove(0));
        assert_eq!(woken.times(), 0, "somebody reads");
        if fails {
            senders[1].fail(SqlError::Refused("no".into()));
        } else {
            receivers.clear();
        }
        assert_eq!(woken.times(), 1);
        assert_eq!(senders[0].poll_room(&Context::from_waker(&waker)), Poll::Ready(Room::Nobody));
        senders[1].belongs_to(waker);
        assert_eq!(woken.times(), 2, "who comes late is told at once");
    }
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Send { producer: usize, output: usize },
    Take { output: usize },
    Finish { producer: usize },
    Leave { output: usize },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..3_usize, 0..3_usize).prop_map(|(producer, output)| Act::Send { producer, output }),
        6 => (0..3_usize).prop_map(|output| Act::Take { output }),
        1 => (0..3_usize).prop_map(|producer| Act::Finish { producer }),
        1 => (0..3_usize).prop_map(|output| Act::Leave { output }),
    ]
}

proptest! {
    /// Against plain queues: every batch comes once, in order per output; sleepers are woken when what they wait for is there.
    #[test]
    fn channels_agree_with_plain_queues(acts in prop::collection::vec(act(), 1..200)) {
        let (pool, reservation) = memory();
        let (senders, receivers) = channels(3, 3, CREDITS, reservation);
        let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
        let mut receivers: Vec<_> = receivers.into_iter().map(Some).collect();
        let mut queues: Vec<std::collections::VecDeque<i64>> = vec![Default::default(); 3];
        let mut asleep: Vec<Option<Arc<Woken>>> = vec![None; 3];
        let mut next = 0;
        for act in acts {
            match act {
                Act::Send { producer, output } => {
                    let Some(sender) = &mut senders[producer] else { continue };
                    let (woken, waker) = Woken::new();
                    match sender.poll_room(&Context::from_waker(&waker)) {
                        Poll::Pending => asleep[producer] = Some(woken),
                        Poll::Ready(Room::Nobody) => {
                            prop_assert!(receivers.iter().all(Option::is_none));
                        }
                        Poll::Ready(Room::Some) => {
                            sender.send(output, batch(next..next + 1)).unwrap();
                            if receivers[output].is_some() {
                                queues[output].push_back(next);
                            }
                            next += 1;
                        }
                    }
                }
                Act::Take { output } => {
                    let Some(receiver) = &mut receivers[output] else { continue };
                    let (_, waker) = Woken::new();
                    match receiver.poll_next(&Context::from_waker(&waker)) {
                        Poll::Pending => prop_assert!(queues[output].is_empty()),
                        Poll::Ready(None) => prop_assert!(senders.iter().all(Option::is_none)),
                        Poll::Ready(Some(batch)) => {
                            let batch = batch.unwrap();
                            let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
                            prop_assert_eq!(Some(column.value(0)), queues[output].pop_front());
                        }
                    }
                }
                Act::Finish { producer } => {
                    if let Some(sender) = senders[producer].take() {
                        sender.finish();
                        asleep[producer] = None;
                    }
                }
                Act::Leave { output } => {
                    if receivers[output].take().is_some() {
                        queues[output].clear();
                    }
                }
            }
            // Nobody sleeps while there is room, or nobody left to send to.
            let room = (0..3).any(|output| receivers[output].is_some() && queues[output].len() < CREDITS.batches);
            if room || receivers.iter().all(Option::is_none) {
                for woken in asleep.iter_mut().filter_map(Option::take) {
                    prop_assert!(woken.times() > 0, "a producer was left asleep");
                }
            }
            prop_assert_eq!(pool.reserved() == 0, queues.iter().all(|queue| queue.is_empty()));
        }
    }
}

#[test]
fn small_parts_are_sent_as_whole_batches_and_the_rest_at_the_end() {
    let (_pool, reservation) = memory();
    let plenty = Credits { batches: usize::MAX, bytes: usize::MAX };
    let (mut senders, receivers) = channels(1, 2, plenty, reservation);
    let (mut sender, schema) = (senders.remove(0), batch(0..1).schema());
    let key = datafusion::physical_expr::expressions::col("n", &schema).unwrap();
    let time = datafusion::physical_plan::metrics::Time::new();
    let router = Router::by(&Partitioning::Hash(vec![key], 2), time, 0, 1).unwrap();
    let mut router = router.collecting(2, &schema, 100);
    for n in 0..100 {
        router.send(batch(n * 10..n * 10 + 10), &mut sender).unwrap();
    }
    router.finish(&mut sender).unwrap();
    sender.finish();
    let mut seen = Vec::new();
    for mut receiver in receivers {
        let mut sizes = Vec::new();
        let context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(batch)) = receiver.poll_next(&context) {
            let batch = batch.unwrap();
            sizes.push(batch.num_rows());
            let numbers = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            seen.extend(numbers.values().iter().copied());
        }
        let rest = sizes.pop().unwrap();
        assert!(rest <= 100 && sizes.iter().all(|rows| *rows == 100), "{sizes:?}, {rest}");
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
}

/// Somebody who sleeps until woken.
struct Actor {
    woken: Arc<Woken>,
    waker: Waker,
    /// How often it had been woken when it went to sleep.
    asleep: Option<usize>,
    is_done: bool,
}

impl Actor {
    fn new() -> Self {
        let (woken, waker) = Woken::new();
        Self { woken, waker, asleep: None, is_done: false }
    }

    fn can_run(&self) -> bool {
        !self.is_done && self.asleep.is_none_or(|times| self.woken.times() > times)
    }
}

/// Merges by need, as a sort-preserving merge does: it takes from no producer before it has a batch of each that is not finished.
struct Merge {
    inputs: Vec<(Option<Receiver>, Option<i64>)>,
    taken: Vec<i64>,
    /// So many batches are enough for it.
    limit: usize,
}

impl Merge {
    /// False when it waits.
    fn step(&mut self, context: &Context<'_>) -> Option<bool> {
        for (input, head) in &mut self.inputs {
            let (Some(receiver), None) = (&mut *input, &head) else { continue };
            match receiver.poll_next(context) {
                Poll::Pending => return Some(false),
                Poll::Ready(None) => *input = None,
                Poll::Ready(Some(batch)) => {
                    let batch = batch.unwrap();
                    let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
                    *head = Some(column.value(0));
                }
            }
        }
        let least = self.inputs.iter_mut().filter(|(_, head)| head.is_some()).min_by_key(|(_, head)| *head);
        let least = least.and_then(|(_, head)| head.take())?;
        self.taken.push(least);
        (self.taken.len() < self.limit).then_some(true)
    }
}

proptest! {
    /// Producers that are skewed as badly as can be, readers that merge, are slow, or leave: in any order of turns somebody can go on, and
    /// at the end everybody has all that was meant for him, or as much as he wanted.
    #[test]
    fn nobody_waits_for_ever(
        routes in prop::collection::vec(prop::collection::vec(0..3_usize, 0..30), 1..4),
        limits in prop::array::uniform3(prop_oneof![Just(usize::MAX), 1..10_usize]),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
    ) {
        let (pool, _) = memory();
        let mut readers: Vec<_> =
            limits.map(|limit| Merge { inputs: Vec::new(), taken: Vec::new(), limit }).into();
        let mut producers = Vec::new();
        let mut meant: Vec<Vec<i64>> = vec![Vec::new(); 3];
        for (number, route) in routes.iter().enumerate() {
            // Of its own for every producer, as an exchange that keeps an order has them.
            let (mut senders, receivers) = channels(1, 3, CREDITS, MemoryConsumer::new("test").register(&pool));
            for (reader, receiver) in readers.iter_mut().zip(receivers) {
                reader.inputs.push((Some(receiver), None));
            }
            let rows: Vec<(usize, i64)> =
                route.iter().enumerate().map(|(at, output)| (*output, (at * 10 + number) as i64)).collect();
            rows.iter().for_each(|(output, row)| meant[*output].push(*row));
            producers.push((Some(senders.remove(0)), rows.into_iter()));
        }
        let mut actors: Vec<_> = (0..producers.len() + 3).map(|_| Actor::new()).collect();
        for turn in turns.iter().cycle() {
            let ready: Vec<usize> = (0..actors.len()).filter(|actor| actors[*actor].can_run()).collect();
            if ready.is_empty() {
                break;
            }
            let number = *turn.get(&ready);
            let actor = &mut actors[number];
            let times = actor.woken.times();
            actor.asleep = None;
            let context = Context::from_waker(&actor.waker);
            let goes_on = match number.checked_sub(producers.len()) {
                Some(reader) => {
                    let reader = &mut readers[reader];
                    let step = reader.step(&context);
                    if step.is_none() {
                        reader.inputs.clear();
                    }
                    step
                }
                None => {
                    let (sender, rows) = &mut producers[number];
                    match sender.as_mut().unwrap().poll_room(&context) {
                        Poll::Pending => Some(false),
                        Poll::Ready(Room::Some) => rows.next().map(|(output, row)| {
                            sender.as_mut().unwrap().send(output, batch(row..row + 1)).unwrap();
                            true
                        }),
                        Poll::Ready(Room::Nobody) => None,
                    }
                }
            };
            match goes_on {
                Some(true) => {}
                Some(false) => actor.asleep = Some(times),
                None => {
                    actor.is_done = true;
                    if let Some((sender, _)) = producers.get_mut(number) {
                        sender.take().unwrap().finish();
                    }
                }
            }
        }
        prop_assert!(actors.iter().all(|actor| actor.is_done), "somebody waits for ever");
        for (reader, mut meant) in readers.iter().zip(meant) {
            meant.sort_unstable();
            meant.truncate(reader.limit);
            prop_assert_eq!(&reader.taken, &meant);
        }
        prop_assert_eq!(pool.reserved(), 0);
    }
}
