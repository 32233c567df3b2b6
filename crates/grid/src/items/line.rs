//! Who goes first: operations that wait for an item, or for room, are served in the order in which they came.
//!
//! An operation that is parked runs again when what it waits for happened; that retry comes by the mailbox. A newcomer that is in the
//! mailbox before it would take what the parked one waits for. So whoever finds something while another is before it in line lets that
//! one by: it goes to the end of the mailbox, behind the retry, as often as need be. Each time one that was before it is served or gone.
//!
//! A place in line is held by a token that dies with the operation: one that was cancelled leaves the waiting room without a word, and
//! its place is free. Rejected: a count of those that wait, which such a one would leave too high for ever.

use super::{Awaited, Items};
use crate::operation::Turn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Those that wait for the same, or let others by.
#[derive(Debug)]
pub(crate) struct Line {
    places: BTreeMap<u64, Weak<()>>,
    next: u64,
    /// When there are this many, places that are free are looked for.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 64;

impl Default for Line {
    fn default() -> Self {
        Self { places: BTreeMap::new(), next: 0, sweep_at: FIRST_SWEEP }
    }
}

/// An operation's place.
#[derive(Debug)]
struct Place {
    number: u64,
    /// Alive as long as the operation is.
    _token: Arc<()>,
}

impl Line {
    /// A place at the end.
    fn join(&mut self) -> Place {
        if self.places.len() >= self.sweep_at {
            self.places.retain(|_, token| token.strong_count() > 0);
            self.sweep_at = (2 * self.places.len()).max(FIRST_SWEEP);
        }
        let (number, token) = (self.next, Arc::new(()));
        self.next += 1;
        self.places.insert(number, Arc::downgrade(&token));
        Place { number, _token: token }
    }

    /// True when somebody is before `place`; before a newcomer, when it has none.
    fn is_behind(&mut self, place: Option<&Place>) -> bool {
        while let Some(first) = self.places.first_entry() {
            if place.is_some_and(|place| *first.key() >= place.number) {
                return false;
            }
            if first.get().strong_count() > 0 {
                return true;
            }
            first.remove();
        }
        false
    }
}

/// How long an operation waits, and its place in line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// For ever when there is none.
    timeout: Option<Duration>,
    #[serde(skip)]
    deadline: Option<Duration>,
    #[serde(skip)]
    place: Option<Place>,
}

/// What an operation that may have to wait does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chance {
    /// What it wants is there.
    Now,
    /// It is there, but another goes first: [`Step::Again`](crate::Step::Again).
    LetBy,
    /// It is not there; wait until then, or for ever.
    Wait(Option<Duration>),
    /// It is not there, and the operation does not wait.
    Never,
}

impl Patience {
    /// For an operation that does not wait.
    pub(crate) fn none() -> Self {
        Self::until(Duration::ZERO)
    }

    /// For one that waits so long.
    pub(crate) fn until(timeout: Duration) -> Self {
        Self { timeout: Some(timeout), deadline: None, place: None }
    }

    /// For one that waits for ever.
    pub(crate) fn endless() -> Self {
        Self { timeout: None, deadline: None, place: None }
    }

    /// Looks for an item or for room.
    pub(crate) fn look(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>, awaited: Awaited) -> Chance {
        let is_there = match awaited {
            Awaited::Item => items.len() > 0,
            Awaited::Room => items.room() > 0,
        };
        let line = &mut items.lines[awaited as usize];
        if is_there {
            if !line.is_behind(self.place.as_ref()) {
                return Chance::Now;
            }
            self.place.get_or_insert_with(|| line.join());
            // Sees to it that the one before runs, whatever became of the retry that was mailed for it.
            turn.happened(awaited);
            return Chance::LetBy;
        }
        match self.timeout {
            Some(Duration::ZERO) => return Chance::Never,
            // Later than the clock can tell is never.
            Some(timeout) if self.deadline.is_none() => self.deadline = turn.now().checked_add(timeout),
            _ => {}
        }
        self.place.get_or_insert_with(|| line.join());
        Chance::Wait(self.deadline)
    }
}
