//! What does a lane cost that can wake its other side?
//!
//! Ours sends batches of 256 with its wake-up active (a fence per batch and side; whoever waits longer than a moment
//! sleeps); the peer is rtrb, which has no wake-up and spins. Both move `u64` from one thread to another; the consumer checks
//! sum and order. The bottleneck is the cache lines that travel between two cores, so the ceiling is what rtrb reaches;
//! wanted is 0.8x of it. The producer's thread exists, awake, before the clock starts: a fresh thread often begins on the core
//! of its parent, and then the scheduler is measured and not the queue. Item by item the fence (about 9 ns) is paid for every item: that row only reports.

use crate::harness::{Contestant, Effort, Times, alternate};
use crate::report::Report;
use filbert_sync::{Parker, conveyor};
use std::sync::{Arc, mpsc};
use std::task::Waker;

const SUITE: &str = "spsc";
const BATCH: usize = 256;
/// How often a side looks again before it sleeps (ours) or yields (the peer).
const SPINS: u32 = 500;

pub(crate) fn run(effort: Effort, report: &mut Report) {
    let rounds = effort.pick(1, 61, 201);
    let partner = &Partner::new();
    for capacity in [1024, 65536] {
        let items: u64 = effort.pick(10_240, 1 << 21, 1 << 22);
        #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "the peers are added to it"))]
        let mut contestants = vec![Contestant::new("lane", move || lane_batches(partner, capacity, items))];
        #[cfg(feature = "peers")]
        contestants.extend([
            Contestant::new("rtrb write_chunk", move || peer::chunks(partner, capacity, items)),
            Contestant::new("rtrb push_slice", move || peer::slices(partner, capacity, items)),
        ]);
        let case = format!("batches of {BATCH}, capacity {capacity}");
        rows(report, &case, items, &alternate(rounds, 1, contestants));
    }
    for capacity in [1024, 65536] {
        let items: u64 = effort.pick(10_000, 1 << 19, 1 << 20);
        #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "the peers are added to it"))]
        let mut contestants = vec![Contestant::new("lane", move || lane_items(partner, capacity, items))];
        #[cfg(feature = "peers")]
        contestants.push(Contestant::new("rtrb push/pop", move || peer::items(partner, capacity, items)));
        let case = format!("item by item (reports), capacity {capacity}");
        rows(report, &case, items, &alternate(rounds.min(21), 1, contestants));
    }
}

fn rows(report: &mut Report, case: &str, items: u64, times: &[Times]) {
    match times {
        [ours] => report.alone(SUITE, case, "M/s", items as f64 * 1e3 / ours.median()),
        [ours, peers @ ..] => {
            for peer in peers {
                report.rate(SUITE, case, items as f64, ours, peer);
            }
        }
        [] => {}
    }
}

/// The thread that produces; it spins between two runs, so that it is on a core of its own when one begins.
struct Partner {
    jobs: mpsc::Sender<Box<dyn FnOnce() + Send>>,
}

impl Partner {
    fn new() -> Self {
        let (jobs, waiting) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        std::thread::spawn(move || {
            loop {
                match waiting.try_recv() {
                    Ok(job) => job(),
                    Err(mpsc::TryRecvError::Empty) => std::hint::spin_loop(),
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
            }
        });
        Self { jobs }
    }

    fn start(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.send(Box::new(job)).expect("the producer lives as long as the suite");
    }
}

/// What the consumer saw: the sum of all items, and whether each came in its place.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    sum: u64,
    out_of_place: u64,
    next: u64,
}

impl Seen {
    #[inline]
    fn batch(&mut self, items: &[u64]) {
        let (mut sum, mut out_of_place, mut next) = (0u64, 0, self.next);
        for &item in items {
            sum = sum.wrapping_add(item);
            out_of_place |= item ^ next;
            next += 1;
        }
        self.sum = self.sum.wrapping_add(sum);
        self.out_of_place |= out_of_place;
        self.next = next;
    }

    fn checked(self, items: u64) -> Self {
        assert_eq!((self.next, self.out_of_place), (items, 0), "an item was lost or came out of place");
        self
    }
}

fn fill(batch: &mut [u64; BATCH], first: u64) {
    for (slot, item) in batch.iter_mut().zip(first..) {
        *slot = item;
    }
}

/// Spins for a moment, then sleeps until `ready` says so and its waker is woken.
struct Patience {
    spins: u32,
    parker: Arc<Parker>,
    waker: Waker,
}

impl Patience {
    fn new() -> Self {
        let parker = Arc::new(Parker::new());
        Self { spins: 0, waker: Waker::from(Arc::clone(&parker)), parker }
    }

    fn wait(&mut self, ready: impl FnOnce(&Waker) -> bool) {
        self.spins += 1;
        if self.spins < SPINS {
            std::hint::spin_loop();
        } else if !ready(&self.waker) {
            self.parker.park();
        }
    }
}

fn lane_batches(partner: &Partner, capacity: usize, items: u64) -> Seen {
    let (mut sender, mut receiver) = conveyor::lane(capacity);
    partner.start(move || {
        let mut patience = Patience::new();
        let mut batch = [0; BATCH];
        for first in (0..items).step_by(BATCH) {
            fill(&mut batch, first);
            let mut left = &batch[..];
            loop {
                let sent = sender.send_slice(left).expect("the receiver takes everything");
                left = &left[sent..];
                if left.is_empty() {
                    break;
                }
                patience.wait(|waker| sender.ready_or_wake(waker));
            }
            patience.spins = 0;
        }
    });
    let mut patience = Patience::new();
    let mut seen = Seen::default();
    while let Ok(count) = receiver.drain(BATCH, |items| seen.batch(items)) {
        if count == 0 {
            patience.wait(|waker| receiver.ready_or_wake(waker));
        } else {
            patience.spins = 0;
        }
    }
    seen.checked(items)
}

fn lane_items(partner: &Partner, capacity: usize, items: u64) -> Seen {
    let (mut sender, mut receiver) = conveyor::lane(capacity);
    partner.start(move || {
        let mut patience = Patience::new();
        for item in 0..items {
            while sender.try_send(item).is_err() {
                patience.wait(|waker| sender.ready_or_wake(waker));
            }
            patience.spins = 0;
        }
    });
    let mut patience = Patience::new();
    let mut seen = Seen::default();
    loop {
        match receiver.try_receive() {
            Ok(item) => {
                seen.batch(&[item]);
                patience.spins = 0;
            }
            Err(conveyor::ReceiveError::Empty) => patience.wait(|waker| receiver.ready_or_wake(waker)),
            Err(conveyor::ReceiveError::Closed) => return seen.checked(items),
        }
    }
}

#[cfg(feature = "peers")]
mod peer {
    //! rtrb, which spins: there is nothing to wake.

    use super::{BATCH, Partner, SPINS, Seen, fill};

    #[derive(Default)]
    struct Spin(u32);

    impl Spin {
        fn wait(&mut self) {
            self.0 += 1;
            if self.0 < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    pub(super) fn chunks(partner: &Partner, capacity: usize, items: u64) -> Seen {
        batches(partner, capacity, items, |producer, batch| {
            let Ok(mut chunk) = producer.write_chunk(BATCH) else { return false };
            let (first, second) = chunk.as_mut_slices();
            let middle = first.len();
            first.copy_from_slice(&batch[..middle]);
            second.copy_from_slice(&batch[middle..]);
            chunk.commit_all();
            true
        })
    }

    pub(super) fn slices(partner: &Partner, capacity: usize, items: u64) -> Seen {
        batches(partner, capacity, items, |producer, batch| producer.push_entire_slice(batch).is_ok())
    }

    fn batches(
        partner: &Partner,
        capacity: usize,
        items: u64,
        send: impl Fn(&mut rtrb::Producer<u64>, &[u64; BATCH]) -> bool + Send + 'static,
    ) -> Seen {
        let (mut producer, mut consumer) = rtrb::RingBuffer::new(capacity);
        partner.start(move || {
            let mut spin = Spin::default();
            let mut batch = [0; BATCH];
            for first in (0..items).step_by(BATCH) {
                fill(&mut batch, first);
                while !send(&mut producer, &batch) {
                    spin.wait();
                }
                spin.0 = 0;
            }
        });
        let mut spin = Spin::default();
        let mut seen = Seen::default();
        while seen.next < items {
            if let Ok(chunk) = consumer.read_chunk(BATCH) {
                let (first, second) = chunk.as_slices();
                seen.batch(first);
                seen.batch(second);
                chunk.commit_all();
                spin.0 = 0;
            } else {
                spin.wait();
            }
        }
        seen.checked(items)
    }

    pub(super) fn items(partner: &Partner, capacity: usize, items: u64) -> Seen {
        let (mut producer, mut consumer) = rtrb::RingBuffer::new(capacity);
        partner.start(move || {
            let mut spin = Spin::default();
            for item in 0..items {
                while producer.push(item).is_err() {
                    spin.wait();
                }
                spin.0 = 0;
            }
        });
        let mut spin = Spin::default();
        let mut seen = Seen::default();
        while seen.next < items {
            if let Ok(item) = consumer.pop() {
                seen.batch(&[item]);
                spin.0 = 0;
            } else {
                spin.wait();
            }
        }
        seen.checked(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs() {
        run(Effort::Tiny, &mut Report::new(true));
    }
}
