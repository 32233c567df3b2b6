//! The waiting room of a target: operations that can do nothing until something happens. They hold no thread.
//!
//! One queue in the order of arrival. An operation that runs again and still must wait goes to the end: with several waiters for one
//! event each gets its try, and the first that could be served is (a queue's takers, a key's lockers).

use super::cell::Cell;
use crate::operation::Target;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// An operation that is parked.
pub(super) trait Parked<T: Target>: Send {
    /// Runs it again; it may park itself again.
    fn retry(self: Box<Self>, cell: &mut Cell<T>);
    /// Ends it: its time is over.
    fn expire(self: Box<Self>, cell: &mut Cell<T>);
    /// Nobody wants its result any more.
    fn is_cancelled(&self) -> bool;
}

/// A place in the order of arrival.
type Ticket = u64;

struct Entry<T: Target> {
    event: T::Event,
    deadline: Option<Duration>,
    parked: Box<dyn Parked<T>>,
}

/// The parked operations of one target.
pub(super) struct Waiting<T: Target> {
    entries: BTreeMap<Ticket, Entry<T>>,
    by_event: HashMap<T::Event, Vec<Ticket>>,
    by_deadline: BTreeSet<(Duration, Ticket)>,
    ready: HashSet<T::Event>,
    next: Ticket,
    /// When this many are parked, those that nobody wants any more are looked for.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 64;

impl<T: Target> Waiting<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            by_event: HashMap::new(),
            by_deadline: BTreeSet::new(),
            ready: HashSet::new(),
            next: 0,
            sweep_at: FIRST_SWEEP,
        }
    }

    /// Takes an operation in.
    pub(super) fn park(&mut self, event: T::Event, deadline: Option<Duration>, parked: Box<dyn Parked<T>>) {
        if self.entries.len() >= self.sweep_at {
            self.sweep();
        }
        let ticket = self.next;
        self.next += 1;
        if let Some(deadline) = deadline {
            self.by_deadline.insert((deadline, ticket));
        }
        self.by_event.entry(event.clone()).or_default().push(ticket);
        self.entries.insert(ticket, Entry { event, deadline, parked });
    }

    /// Forgets operations that were cancelled; so a crowd that comes and goes takes no more room than those that stay.
    fn sweep(&mut self) {
        let gone: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.parked.is_cancelled())
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in gone {
            self.take(ticket);
        }
        self.sweep_at = (2 * self.entries.len()).max(FIRST_SWEEP);
    }

    fn take(&mut self, ticket: Ticket) -> Option<Box<dyn Parked<T>>> {
        let entry = self.entries.remove(&ticket)?;
        if let Some(deadline) = entry.deadline {
            self.by_deadline.remove(&(deadline, ticket));
        }
        if let Some(tickets) = self.by_event.get_mut(&entry.event) {
            tickets.retain(|other| *other != ticket);
            if tickets.is_empty() {
                self.by_event.remove(&entry.event);
            }
        }
        Some(entry.parked)
    }

    /// Notes that `events` happened, if anyone waits for them.
    pub(super) fn happened(&mut self, events: &[T::Event]) {
        for event in events {
            if self.by_event.contains_key(event) {
                self.ready.insert(event.clone());
            }
        }
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes out all whose event happened, in the order of arrival.
    pub(super) fn take_ready(&mut self) -> Vec<Box<dyn Parked<T>>> {
        let mut tickets: Vec<Ticket> = Vec::new();
        for event in std::mem::take(&mut self.ready) {
            tickets.extend(self.by_event.get(&event).into_iter().flatten());
        }
        tickets.sort_unstable();
        tickets.into_iter().filter_map(|ticket| self.take(ticket)).collect()
    }

    /// Takes out all whose deadline is not after `now`.
    pub(super) fn take_expired(&mut self, now: Duration) -> Vec<Box<dyn Parked<T>>> {
        let due: Vec<Ticket> =
            self.by_deadline.range(..=(now, Ticket::MAX)).map(|(_, ticket)| *ticket).collect();
        due.into_iter().filter_map(|ticket| self.take(ticket)).collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }
}
