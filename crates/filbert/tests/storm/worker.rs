//! One connection of the storm: does something at random, and knows what it must be answered.
//!
//! Keys and items have the connection's number in them, or the structure has, so that nobody else changes what the model says.

use crate::line::{Client, int};
use crate::shared::{PERMITS, Shared, group, number_of};
use filbert_wire::field::Text;
use filbert_wire::message::{Raises, Request};
use filbert_wire::messages::cp::{atomic_long, atomic_ref, fenced_lock, latch, semaphore, session};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::topic::{AddMessageListener, MessageEvent, Publish};
use filbert_wire::messages::{
    flake_id, list, map, multi_map, pn_counter, queue, replicated_map, ringbuffer, set,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Keys and items of a connection in one structure.
const KEYS: u64 = 40;

/// Numbers of a connection: those of the next begin there.
const OWN: i32 = 10_000_000;

/// What a connection found.
#[derive(Default)]
pub(crate) struct Report {
    /// What it put into the queue and took from it.
    pub(crate) offered: Vec<i32>,
    pub(crate) taken: Vec<i32>,
    /// What it added to the atomic long and to the counter.
    pub(crate) added: i64,
    pub(crate) counted: i64,
    /// Ids that it was given.
    pub(crate) ids: Vec<i64>,
    /// Entries and items that it left behind.
    pub(crate) held: usize,
}

pub(crate) struct Worker<'s> {
    number: i32,
    client: Client,
    shared: &'s Shared,
    random: u64,
    invocations: u128,
    session: i64,
    report: Report,
    calls: u64,
    // What the structures hold, by this connection.
    entries: HashMap<i32, i32>,
    replicated: HashMap<i32, i32>,
    values: HashMap<i32, BTreeSet<i32>>,
    items: BTreeSet<i32>,
    list: Vec<i32>,
    reference: Option<i32>,
    latch: i32,
    /// The last item of each connection that came out of the queue here: they come in order.
    last_taken: HashMap<i32, i32>,
    last_sum: i64,
    last_sequence: i64,
    timestamps: Vec<(Uuid, i64)>,
}

impl<'s> Worker<'s> {
    pub(crate) fn new(number: usize, client: Client, shared: &'s Shared) -> Self {
        Self {
            number: number as i32,
            client,
            shared,
            random: number as u64,
            invocations: (number as u128) << 64,
            session: 0,
            report: Report::default(),
            calls: 0,
            entries: HashMap::new(),
            replicated: HashMap::new(),
            values: HashMap::new(),
            items: BTreeSet::new(),
            list: Vec::new(),
            reference: None,
            latch: 0,
            last_taken: HashMap::new(),
            last_sum: 0,
            last_sequence: -1,
            timestamps: Vec::new(),
        }
    }

    /// Does at least so many operations.
    pub(crate) fn run(mut self, operations: u64) -> Report {
        let create = session::CreateSession { group: group(), endpoint_name: "storm".into() };
        self.session = self.call(&create).session_id;
        let name = self.own("topic").into();
        self.call(&AddMessageListener { name, local_only: true });
        while self.calls < operations {
            match self.below(16) {
                0..=2 => self.map(),
                3 | 4 => self.queue(),
                5 => self.list(),
                6 => self.set(),
                7 => self.multi_map(),
                8 => self.replicated_map(),
                9 => self.ringbuffer(),
                10 => self.topic(),
                11 => self.atomic_long(),
                12 => self.atomic_reference(),
                13 => self.counters(),
                14 => self.latch(),
                _ => self.permits_and_lock(),
            }
        }
        self.report.held = self.entries.len()
            + self.replicated.len()
            + self.values.values().map(BTreeSet::len).sum::<usize>()
            + self.items.len()
            + self.list.len();
        self.report
    }

    fn call<R: Request>(&mut self, request: &R) -> R::Response {
        self.calls += 1;
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        self.client.call(request).unwrap_or_else(|error| panic!("{}: {error:?}", R::NAME))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    /// A name that only this connection uses.
    fn own(&self, what: &str) -> String {
        format!("{what}-{}", self.number)
    }

    /// A number that only this connection uses, one of few.
    fn key(&mut self) -> i32 {
        self.number * OWN + self.below(KEYS) as i32
    }

    /// A number that nobody used before.
    fn fresh(&self) -> i32 {
        self.number * OWN + self.calls as i32
    }

    fn invocation(&mut self) -> Uuid {
        self.invocations += 1;
        Uuid::from_u128(self.invocations)
    }

    fn map(&mut self) {
        let (key, value, thread_id) = (self.key(), self.below(1_000) as i32, 1);
        let name = || "map".into();
        let old = self.entries.get(&key).copied();
        match self.below(7) {
            0 => {
                let put = map::Put { name: name(), key: int(key), value: int(value), thread_id, ttl_ms: -1 };
                assert_eq!(self.call(&put).value, old.map(int));
                self.entries.insert(key, value);
            }
            1 => {
                let set = map::Set { name: name(), key: int(key), value: int(value), thread_id, ttl_ms: -1 };
                self.call(&set);
                self.entries.insert(key, value);
            }
            2 => {
                let remove = map::Remove { name: name(), key: int(key), thread_id };
                assert_eq!(self.call(&remove).value, old.map(int));
                self.entries.remove(&key);
            }
            3 => {
                let replace = map::Replace { name: name(), key: int(key), value: int(value), thread_id };
                assert_eq!(self.call(&replace).value, old.map(int));
                self.entries.entry(key).and_modify(|old| *old = value);
            }
            4 => {
                let put = map::PutIfAbsent {
                    name: name(),
                    key: int(key),
                    value: int(value),
                    thread_id,
                    ttl_ms: -1,
                };
                assert_eq!(self.call(&put).value, old.map(int));
                self.entries.entry(key).or_insert(value);
            }
            5 => {
                let contains = map::ContainsKey { name: name(), key: int(key), thread_id };
                assert_eq!(self.call(&contains).value, old.is_some());
            }
            _ => {
                let get = map::Get { name: name(), key: int(key), thread_id };
                assert_eq!(self.call(&get).value, old.map(int));
            }
        }
    }

    /// Puts into the queue that all share, or takes from it.
    fn queue(&mut self) {
        let name = || "work".into();
        if self.below(2) == 0 {
            let item = self.fresh();
            assert!(self.call(&queue::Offer { name: name(), value: int(item), timeout_ms: 0 }).value);
            self.report.offered.push(item);
        } else if let Some(item) = self.call(&queue::Poll { name: name(), timeout_ms: 0 }).value {
            let item = number_of(&item);
            let last = self.last_taken.insert(item / OWN, item);
            assert!(last.is_none_or(|last| last < item), "{item} came after {last:?}");
            self.report.taken.push(item);
        }
    }

    fn list(&mut self) {
        let name: Text = self.own("list").into();
        let at = if self.list.is_empty() { 0 } else { self.below(self.list.len() as u64) as usize };
        match self.below(4) {
            0 if self.list.len() < KEYS as usize => {
                let item = self.fresh();
                assert!(self.call(&list::Add { name, value: int(item) }).value);
                self.list.push(item);
            }
            1 if !self.list.is_empty() => {
                let removed = self.call(&list::RemoveWithIndex { name, index: at as i32 }).value;
                assert_eq!(removed, Some(int(self.list.remove(at))));
            }
            2 if !self.list.is_empty() => {
                let found = self.call(&list::Get { name, index: at as i32 }).value;
                assert_eq!(found, Some(int(self.list[at])));
            }
            _ => {
                let items = self.call(&list::GetAll { name }).values;
                assert_eq!(items, self.list.iter().copied().map(int).collect::<Vec<_>>());
            }
        }
    }

    fn set(&mut self) {
        let (name, item) = ("set".into(), self.key());
        match self.below(3) {
            0 => {
                let is_new = self.items.insert(item);
                assert_eq!(self.call(&set::Add { name, value: int(item) }).value, is_new);
            }
            1 => {
                let was_there = self.items.remove(&item);
                assert_eq!(self.call(&set::Remove { name, value: int(item) }).value, was_there);
            }
            _ => {
                let is_there = self.items.contains(&item);
                assert_eq!(self.call(&set::Contains { name, value: int(item) }).value, is_there);
            }
        }
    }

    fn multi_map(&mut self) {
        let (name, thread_id) = ("multimap".into(), 1);
        let (key, value) = (self.key(), self.below(8) as i32);
        let mut values = self.values.remove(&key).unwrap_or_default();
        match self.below(4) {
            0 | 1 => {
                let put = multi_map::Put { name, key: int(key), value: int(value), thread_id };
                assert_eq!(self.call(&put).value, values.insert(value));
            }
            2 => {
                let remove = multi_map::RemoveEntry { name, key: int(key), value: int(value), thread_id };
                assert_eq!(self.call(&remove).value, values.remove(&value));
            }
            _ => {
                let found = self.call(&multi_map::Get { name, key: int(key), thread_id }).values;
                assert_eq!(found.len(), values.len());
                assert_eq!(found.iter().map(number_of).collect::<BTreeSet<_>>(), values);
            }
        }
        self.values.insert(key, values);
    }

    fn replicated_map(&mut self) {
        let name = "replicated".into();
        let (key, value) = (self.key(), self.below(1_000) as i32);
        let old = self.replicated.get(&key).copied().map(int);
        match self.below(3) {
            0 => {
                let put = replicated_map::Put { name, key: int(key), value: int(value), ttl_ms: 0 };
                assert_eq!(self.call(&put).value, old);
                self.replicated.insert(key, value);
            }
            1 => {
                assert_eq!(self.call(&replicated_map::Remove { name, key: int(key) }).value, old);
                self.replicated.remove(&key);
            }
            _ => assert_eq!(self.call(&replicated_map::Get { name, key: int(key) }).value, old),
        }
    }

    /// Adds to the ringbuffer that all share, and reads what it added unless others wrote over it already.
    fn ringbuffer(&mut self) {
        let name = || "ring".into();
        let item = self.fresh();
        let add = ringbuffer::Add { name: name(), overflow_policy: 0, value: int(item) };
        let sequence = self.call(&add).value;
        assert!(sequence > self.last_sequence, "{sequence} after {}", self.last_sequence);
        self.last_sequence = sequence;
        self.calls += 1;
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        match self.client.call(&ringbuffer::ReadOne { name: name(), sequence }) {
            Ok(found) => assert_eq!(found.value, Some(int(item))),
            Err(error) => {
                assert_eq!(ErrorCode::from_code(error.errors[0].code), Some(ErrorCode::StaleSequence));
            }
        }
    }

    /// Publishes to itself; nothing else raises events here.
    fn topic(&mut self) {
        let message = self.fresh();
        let name = self.own("topic").into();
        self.call(&Publish { name, message: int(message) });
        let event: MessageEvent = AddMessageListener::decode_event(&self.client.event()).unwrap();
        assert_eq!(event.item, int(message));
    }

    /// Others add too, and nobody subtracts: what is seen grows.
    fn atomic_long(&mut self) {
        let delta = 1 + self.below(9) as i64;
        let add = atomic_long::AddAndGet { group: group(), name: "sum".into(), delta };
        let sum = self.call(&add).value;
        assert!(sum >= self.last_sum + delta, "{sum} after {} and {delta}", self.last_sum);
        self.last_sum = sum;
        self.report.added += delta;
    }

    fn atomic_reference(&mut self) {
        let name: Text = self.own("reference").into();
        let new = Some(self.below(4) as i32);
        match self.below(3) {
            0 => {
                let set =
                    atomic_ref::Set { group: group(), name, new_value: new.map(int), return_old_value: true };
                assert_eq!(self.call(&set).value, self.reference.map(int));
                self.reference = new;
            }
            1 => {
                let expected = Some(self.below(4) as i32);
                let (old_value, new_value) = (expected.map(int), new.map(int));
                let set = atomic_ref::CompareAndSet { group: group(), name, old_value, new_value };
                let fits = expected == self.reference;
                assert_eq!(self.call(&set).value, fits);
                if fits {
                    self.reference = new;
                }
            }
            _ => {
                let found = self.call(&atomic_ref::Get { group: group(), name }).value;
                assert_eq!(found, self.reference.map(int));
            }
        }
    }

    fn counters(&mut self) {
        let delta = self.below(9) as i64 - 4;
        let add = pn_counter::Add {
            name: "sum".into(),
            delta,
            get_before_update: false,
            replica_timestamps: std::mem::take(&mut self.timestamps),
            target_replica: self.shared.member,
        };
        self.timestamps = self.call(&add).replica_timestamps;
        self.report.counted += delta;
        let batch = self.call(&flake_id::NewIdBatch { name: "ids".into(), batch_size: 3 });
        assert_eq!(batch.batch_size, 3);
        self.report.ids.extend((0..3).map(|number| batch.base + number * batch.increment));
    }

    fn latch(&mut self) {
        let name: Text = self.own("latch").into();
        if self.below(3) == 0 {
            let count = 1 + self.below(3) as i32;
            let set = latch::TrySetCount { group: group(), name, count };
            let was_open = self.latch == 0;
            assert_eq!(self.call(&set).value, was_open);
            if was_open {
                self.latch = count;
            }
            return;
        }
        let expected_round = self.call(&latch::GetRound { group: group(), name: name.clone() }).value;
        let invocation = self.invocation();
        self.call(&latch::CountDown { group: group(), name: name.clone(), invocation, expected_round });
        self.latch = (self.latch - 1).max(0);
        assert_eq!(self.call(&latch::GetCount { group: group(), name }).value, self.latch);
    }

    /// Takes what all share, if it can be had: no more hold a permit than there are, and one the lock.
    fn permits_and_lock(&mut self) {
        let (session_id, thread_id) = (self.session, 1);
        self.call(&session::HeartbeatSession { group: group(), session_id });
        let (name, invocation) = (|| "permits".into(), self.invocation());
        let acquire = semaphore::Acquire {
            group: group(),
            name: name(),
            session_id,
            thread_id,
            invocation,
            permits: 1,
            timeout_ms: 0,
        };
        if self.call(&acquire).value {
            let held = self.shared.permits.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(held <= PERMITS, "{held} permits are held");
            self.shared.permits.fetch_sub(1, Ordering::SeqCst);
            let invocation = self.invocation();
            let release = semaphore::Release {
                group: group(),
                name: name(),
                session_id,
                thread_id,
                invocation,
                permits: 1,
            };
            self.call(&release);
        }
        let (name, invocation) = (|| "lock".into(), self.invocation());
        let lock = fenced_lock::TryLock {
            group: group(),
            name: name(),
            session_id,
            thread_id,
            invocation,
            timeout_ms: 0,
        };
        let fence = self.call(&lock).value;
        if fence != 0 {
            assert!(!self.shared.locked.swap(true, Ordering::SeqCst), "two hold the lock");
            let last = self.shared.fence.swap(fence, Ordering::SeqCst);
            assert!(fence > last, "the fence {fence} after {last}");
            self.shared.locked.store(false, Ordering::SeqCst);
            let invocation = self.invocation();
            self.call(&fenced_lock::Unlock {
                group: group(),
                name: name(),
                session_id,
                thread_id,
                invocation,
            });
        }
    }
}
