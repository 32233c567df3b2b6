//! The waiting room of a target: operations that can do nothing until something happens. They hold no thread.
//!
//! One queue in the order of arrival. When an event happens, those that wait for it run again in that order; one that still must wait for
//! it keeps its place. Each gets its try, so that the first that could be served is (a key's lockers); unless they all want the same
//! ([`Target::is_in_line`]: a queue's takers): then the first that must still wait ends the round.

use super::cell::Cell;
use crate::operation::Target;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
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
pub(super) type Ticket = u64;

struct Entry<T: Target> {
    event: T::Event,
    deadline: Option<Duration>,
    parked: Box<dyn Parked<T>>,
}

/// The parked operations of one target.
pub(super) struct Waiting<T: Target> {
    entries: BTreeMap<Ticket, Entry<T>>,
    by_event: HashMap<T::Event, BTreeSet<Ticket>>,
    by_deadline: BTreeSet<(Duration, Ticket)>,
    ready: HashSet<T::Event>,
    next: Ticket,
    /// The place of the operation that runs again just now, and what it waited for.
    again: Option<(Ticket, T::Event)>,
    /// When this many are parked, those that nobody wants any more are looked for.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 64;

/// The operations that get another run, first those that came first.
pub(super) struct Round<T: Target> {
    /// The next one for each event.
    heads: BTreeMap<Ticket, T::Event>,
    /// Whoever was parked later is not part of it.
    end: Ticket,
    last: Option<(Ticket, T::Event)>,
}

impl<T: Target> Waiting<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            by_event: HashMap::new(),
            by_deadline: BTreeSet::new(),
            ready: HashSet::new(),
            next: 0,
            again: None,
            sweep_at: FIRST_SWEEP,
        }
    }

    /// Takes an operation in.
    pub(super) fn park(&mut self, event: T::Event, deadline: Option<Duration>, parked: Box<dyn Parked<T>>) {
        if self.entries.len() >= self.sweep_at {
            self.sweep();
        }
        let ticket = match self.again.take() {
            Some((kept, waited_for)) if waited_for == event => kept,
            _ => {
                self.next += 1;
                self.next - 1
            }
        };
        if let Some(deadline) = deadline {
            self.by_deadline.insert((deadline, ticket));
        }
        self.by_event.entry(event.clone()).or_default().insert(ticket);
        self.entries.insert(ticket, Entry { event, deadline, parked });
    }

    /// Forgets operations that were cancelled; so a crowd that comes and goes takes no more room than those that stay.
    pub(super) fn sweep(&mut self) {
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
            tickets.remove(&ticket);
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

    /// Begins a round: all that are parked now and whose event happened.
    pub(super) fn round(&mut self) -> Round<T> {
        let ready = std::mem::take(&mut self.ready);
        let heads = ready.into_iter().filter_map(|event| {
            let first = self.by_event.get(&event)?.first()?;
            Some((*first, event))
        });
        Round { heads: heads.collect(), end: self.next, last: None }
    }

    /// The next of a round, in the order of arrival.
    pub(super) fn next_of(&mut self, round: &mut Round<T>) -> Option<Box<dyn Parked<T>>> {
        loop {
            // The one before was parked again when its place is taken.
            if let Some((ticket, event)) = round.last.take() {
                self.again = None;
                let still_waits = self.entries.contains_key(&ticket);
                if !(still_waits && T::is_in_line(&event)) {
                    let behind = (Bound::Excluded(ticket), Bound::Excluded(round.end));
                    let next = self.by_event.get(&event).and_then(|all| all.range(behind).next());
                    round.heads.extend(next.map(|next| (*next, event)));
                }
            }
            let (ticket, event) = round.heads.pop_first()?;
            round.last = Some((ticket, event.clone()));
            if let Some(parked) = self.take(ticket) {
                self.again = Some((ticket, event));
                return Some(parked);
            }
        }
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
