//! Strands against threads with one channel of boxed closures each: how many operations a second, how long one takes.
//!
//! - *by hop*: an operation goes to its thread; the bottleneck is the queue between the threads and one allocation per
//!   operation, on both sides. The ceiling is what one producer can allocate and link.
//! - *round trip*: one operation, and the answer back; the bottleneck is two thread hand-offs.
//! - *caller-runs*: the same call on an idle strand, which runs on the calling thread: no hand-off at all.
//!
//! Every operation changes the value of its key in an order-dependent way, so a lost, doubled or reordered one shows in the
//! answer.

use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_pool::{StandaloneStriped, Strand, Striped, StripedSettings};

const THREADS: usize = 2;
const KEYS: usize = 64;

fn mix(value: &mut u64, operation: u64) {
    *value = value.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(operation);
}

struct Ours {
    _stage: StandaloneStriped,
    strands: Vec<Strand<u64>>,
}

impl Ours {
    fn new() -> Self {
        let settings = StripedSettings { threads: THREADS, mailbox_capacity: 1 << 24, ..Default::default() };
        let stage = Striped::standalone(settings);
        let strands = (0..KEYS).map(|key| stage.strand(key as u64, 0)).collect();
        Self { _stage: stage, strands }
    }

    fn produce(&self, keys: std::ops::Range<usize>, operations: usize) {
        for operation in 0..operations {
            let key = keys.start + operation % keys.len();
            self.strands[key].post("mix", move |value| mix(value, operation as u64)).expect("room");
        }
    }

    fn answer(&self) -> u64 {
        let reads: Vec<_> =
            self.strands.iter().map(|strand| strand.submit("read", std::mem::take).expect("open")).collect();
        reads.into_iter().map(|read| read.wait().expect("an answer")).fold(0, u64::wrapping_add)
    }

    fn round_trips(&self, calls: usize) -> u64 {
        for call in 0..calls {
            let strand = &self.strands[call % KEYS];
            strand.submit("mix", move |value| mix(value, call as u64)).expect("open").wait().expect("done");
        }
        self.answer()
    }

    fn calls(&self, calls: usize) -> u64 {
        for call in 0..calls {
            let strand = &self.strands[call % KEYS];
            strand.call("mix", move |value| mix(value, call as u64)).expect("open").wait().expect("done");
        }
        self.answer()
    }
}

#[cfg(feature = "peers")]
mod peer {
    use super::{KEYS, THREADS, mix};
    use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

    type Operation = Box<dyn FnOnce(&mut Vec<u64>) + Send>;

    pub(super) struct Peer {
        senders: Vec<Sender<Operation>>,
        threads: Vec<std::thread::JoinHandle<()>>,
    }

    impl Peer {
        pub(super) fn new() -> Self {
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| unbounded()).unzip();
            let serve = |receiver: Receiver<Operation>| {
                std::thread::spawn(move || {
                    let mut values = vec![0; KEYS];
                    for operation in receiver {
                        operation(&mut values);
                    }
                })
            };
            Self { senders, threads: receivers.into_iter().map(serve).collect() }
        }

        pub(super) fn produce(&self, keys: std::ops::Range<usize>, operations: usize) {
            for operation in 0..operations {
                let key = keys.start + operation % keys.len();
                let run = move |values: &mut Vec<u64>| mix(&mut values[key], operation as u64);
                self.senders[key % THREADS].send(Box::new(run)).expect("open");
            }
        }

        pub(super) fn answer(&self) -> u64 {
            let (reply, answers) = bounded(THREADS);
            for sender in &self.senders {
                let reply = reply.clone();
                let sum = move |values: &mut Vec<u64>| {
                    let sum = values.iter_mut().map(std::mem::take).fold(0, u64::wrapping_add);
                    reply.send(sum).expect("open");
                };
                sender.send(Box::new(sum)).expect("open");
            }
            drop(reply);
            answers.iter().fold(0, u64::wrapping_add)
        }

        /// One reply channel for all calls: the cheapest way back.
        pub(super) fn round_trips(&self, calls: usize) -> u64 {
            let (reply, answers) = bounded(1);
            for call in 0..calls {
                let (key, reply) = (call % KEYS, reply.clone());
                let run = move |values: &mut Vec<u64>| {
                    mix(&mut values[key], call as u64);
                    reply.send(()).expect("open");
                };
                self.senders[key % THREADS].send(Box::new(run)).expect("open");
                answers.recv().expect("done");
            }
            self.answer()
        }
    }

    impl Drop for Peer {
        fn drop(&mut self) {
            self.senders.clear();
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

/// Each producer has its own keys, so that the order on each key, and with it the answer, is fixed.
fn burst(producers: usize, operations: usize, produce: impl Fn(std::ops::Range<usize>, usize) + Sync) {
    let share = KEYS / producers;
    if producers == 1 {
        produce(0..share, operations);
        return;
    }
    std::thread::scope(|scope| {
        for producer in 0..producers {
            let (first, produce) = (producer * share, &produce);
            scope.spawn(move || produce(first..first + share, operations / producers));
        }
    });
}

pub(crate) fn run(effort: Effort, report: &mut Report) {
    let ours = Ours::new();
    #[cfg(feature = "peers")]
    let peer = peer::Peer::new();
    let rounds = effort.pick(1, 25, 30);

    let operations = effort.pick(640, 200_000, 500_000);
    for producers in [1, 2] {
        let contestants = vec![
            Contestant::new("filbert", || {
                burst(producers, operations, |keys, count| ours.produce(keys, count));
                ours.answer()
            }),
            #[cfg(feature = "peers")]
            Contestant::new("crossbeam channels", || {
                burst(producers, operations, |keys, count| peer.produce(keys, count));
                peer.answer()
            }),
        ];
        let times = alternate(rounds, 1, contestants);
        let case = format!("operations by hop, {producers} producer(s)");
        match &times[..] {
            [ours, peer] => report.rate("striped", &case, operations as f64, ours, peer),
            _ => report.alone("striped", &case, "M/s", operations as f64 * 1e3 / times[0].median()),
        }
    }

    let calls = effort.pick(64, 5_000, 20_000);
    let per_call = |times: &crate::harness::Times| times.per(calls as f64);
    let contestants = vec![
        Contestant::new("filbert", || ours.round_trips(calls)),
        Contestant::new("filbert caller-runs", || ours.calls(calls)),
        #[cfg(feature = "peers")]
        Contestant::new("crossbeam channels", || peer.round_trips(calls)),
    ];
    let times: Vec<_> = alternate(rounds, 1, contestants).iter().map(per_call).collect();
    let cases = ["round trip by hop", "round trip by caller-runs"];
    for (ours, case) in times.iter().zip(cases) {
        match times.get(cases.len()) {
            Some(peer) => report.time("striped", case, ours, peer),
            None => report.alone("striped", case, "ns", ours.median()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, &mut Report::new(true));
    }

    #[test]
    fn hop_and_caller_runs_give_the_same_answer() {
        let ours = Ours::new();
        assert_eq!(ours.round_trips(200), ours.calls(200));
    }
}
