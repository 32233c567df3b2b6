//! Lets so many queries run at a time, and the rest wait their turn, fairly between sessions.
//!
//! Each session has a line of its own, and lines take turns: a program that sends a thousand queries at once makes a person at a shell
//! wait for one of them, not for all. In a line those that ran before come first.
//!
//! A permit belongs to work that goes on, not to whoever reads: a query whose fragments all sleep (nobody reads its rows, its stream has no
//! row, it is finished and not read to the end) keeps its permit only while nobody else wants it. While somebody waits, a timer looks at
//! those that run; who had no turn for a while gives its permit up and stands in line when it has something to do again. Rejected: permits
//! for the life of a query, with which a few forgotten cursors stop everybody; a timer per pause, which every batch of a slow reader would set.

use super::QueryId;
use super::control::Control;
use super::turnstile::Turnstile;
use crate::error::SqlError;
use filbert_pool::{Called, Clock, Strand};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// How many queries there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// Without a turn for so long, a query rests.
    pub(crate) rest: Duration,
}

/// Who waits, and who runs.
pub(crate) struct Admission {
    bounds: Bounds,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those with a permit, by its number: a permit that was given up may be on its way while its query has the next one.
    running: BTreeMap<u64, Weak<Turnstile>>,
    /// How many permits were given.
    given: u64,
    /// By session.
    lines: BTreeMap<u64, Line>,
    /// Those in line that have not begun.
    waiting: usize,
    /// The session that was served last.
    last: u64,
    /// A timer is set, since somebody waits.
    is_looking: bool,
    /// Somebody gives permits to those in line, and goes on until there are none, of either.
    is_filling: bool,
}

/// Who waits of one session, the oldest first.
#[derive(Default)]
struct Line {
    /// They ran before, and rested.
    again: BTreeMap<QueryId, Arc<Turnstile>>,
    new: BTreeMap<QueryId, Candidate>,
}

/// A query that has not begun.
struct Candidate {
    turnstile: Arc<Turnstile>,
    control: Strand<Control>,
}

/// Whose turn it is.
enum Next {
    Again(Arc<Turnstile>),
    New(Candidate),
}

impl Next {
    fn turnstile(&self) -> &Arc<Turnstile> {
        match self {
            Self::Again(turnstile) | Self::New(Candidate { turnstile, .. }) => turnstile,
        }
    }
}

impl State {
    /// The number of one more permit, for that query.
    fn give(&mut self, turnstile: &Arc<Turnstile>) -> u64 {
        self.given += 1;
        self.running.insert(self.given, Arc::downgrade(turnstile));
        self.given
    }

    /// The next query, of the session after the one that was served last.
    fn next(&mut self) -> Option<Next> {
        let after = self.lines.range(self.last + 1..).next().or_else(|| self.lines.iter().next());
        let session = *after?.0;
        let line = self.lines.get_mut(&session)?;
        let next = match line.again.pop_first() {
            Some((_, turnstile)) => Some(Next::Again(turnstile)),
            None => line.new.pop_first().map(|(_, candidate)| Next::New(candidate)),
        };
        self.waiting -= usize::from(matches!(next, Some(Next::New(_))));
        self.close_line(session);
        self.last = session;
        next
    }

    /// It is in line from now on.
    fn stand(&mut self, next: Next) {
        let turnstile = Arc::clone(next.turnstile());
        let line = self.lines.entry(turnstile.session()).or_default();
        match next {
            Next::Again(again) => {
                line.again.insert(turnstile.id(), again);
            }
            Next::New(candidate) => {
                self.waiting += 1;
                line.new.insert(turnstile.id(), candidate);
            }
        }
    }

    fn close_line(&mut self, session: u64) {
        if self.lines.get(&session).is_some_and(|line| line.again.is_empty() && line.new.is_empty()) {
            self.lines.remove(&session);
        }
    }
}

impl Admission {
    pub(crate) fn new(bounds: Bounds, clock: Clock) -> Arc<Self> {
        let bounds = Bounds { running: bounds.running.max(1), ..bounds };
        Arc::new(Self { bounds, clock, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Starts the query now, or when its turn has come.
    pub(crate) fn admit(
        self: &Arc<Self>,
        turnstile: &Arc<Turnstile>,
        control: &Strand<Control>,
    ) -> Result<(), SqlError> {
        let next = Next::New(Candidate { turnstile: Arc::clone(turnstile), control: control.clone() });
        let mut state = self.lock();
        if self.is_full(&state) {
            drop(state);
            // Perhaps somebody rests: nobody can wait long enough to see it.
            self.look_at_running();
            state = self.lock();
        }
        if self.is_full(&state) {
            return Err(SqlError::Overloaded { running: state.running.len(), waiting: state.waiting });
        }
        self.ask(state, next)
    }

    /// True when one more could neither run nor wait.
    fn is_full(&self, state: &State) -> bool {
        state.running.len() >= self.bounds.running && state.waiting >= self.bounds.waiting
    }

    /// A permit for it now, when there is one and nobody stands in line; else when its turn has come.
    fn ask(self: &Arc<Self>, mut state: MutexGuard<'_, State>, next: Next) -> Result<(), SqlError> {
        let turnstile = Arc::clone(next.turnstile());
        if state.lines.is_empty() && state.running.len() < self.bounds.running {
            let number = state.give(&turnstile);
            state.last = turnstile.session();
            drop(state);
            let started = self.start(number, next);
            if started.is_err() {
                // Somebody may have come to stand in line behind a permit that nobody has.
                self.fill();
            }
            return started;
        }
        state.stand(next);
        self.wait(state);
        if turnstile.is_over() {
            // It was over before it stood there.
            self.forget(turnstile.session(), turnstile.id());
        }
        Ok(())
    }

    /// A query that rested has something to do again.
    pub(super) fn readmit(self: &Arc<Self>, turnstile: &Arc<Turnstile>) {
        // In vain only when it was cancelled meanwhile.
        let _ = self.ask(self.lock(), Next::Again(Arc::clone(turnstile)));
    }

    /// Somebody is in line from now on.
    fn wait(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let is_first = !std::mem::replace(&mut state.is_looking, true);
        drop(state);
        // A permit may be free: whoever stood in line before had not come to it yet.
        self.fill();
        if is_first {
            self.look();
        }
    }

    /// Takes the permits of those that rest, now and again while somebody is in line.
    fn look(self: &Arc<Self>) {
        self.look_at_running();
        {
            let mut state = self.lock();
            if state.lines.is_empty() {
                state.is_looking = false;
                return;
            }
        }
        let looking = Arc::downgrade(self);
        self.clock.after(self.bounds.rest, move || {
            if let Some(admission) = looking.upgrade() {
                admission.look();
            }
        });
    }

    fn look_at_running(&self) {
        let running: Vec<_> = self.lock().running.values().filter_map(Weak::upgrade).collect();
        let now = self.clock.now();
        for turnstile in running {
            turnstile.rest(now, self.bounds.rest);
        }
    }

    /// Gives a query that is counted among the running ones its permit.
    fn start(self: &Arc<Self>, number: u64, next: Next) -> Result<(), SqlError> {
        let turnstile = next.turnstile();
        let permit = Permit { admission: Some(Arc::clone(self)), number };
        if let Err(permit) = turnstile.enter(permit, self.clock.now()) {
            self.take_back(permit);
            return Err(SqlError::Cancelled);
        }
        let Next::New(Candidate { turnstile, control }) = &next else { return Ok(()) };
        // Mostly here and now: nobody else knows the strand yet, and another thread would have to wake up first.
        match control.call("execute", Control::execute) {
            Ok(Called::Here(_)) => Ok(()),
            Ok(Called::Queued(later)) => {
                later.detach();
                Ok(())
            }
            Err(refused) => {
                if let Some(permit) = turnstile.turn_back() {
                    self.take_back(permit);
                }
                Err(refused.into())
            }
        }
    }

    /// A permit that nobody had; whoever took it out starts the next.
    fn take_back(&self, mut permit: Permit) {
        permit.admission = None;
        self.lock().running.remove(&permit.number);
    }

    /// Starts queries while there are permits. One at a time does so: a query that ends as it starts gives its permit back in here, and who
    /// then began to fill as well would stand as deep as the line is long.
    fn fill(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().is_filling, true) {
            return;
        }
        loop {
            let (number, next) = {
                let mut state = self.lock();
                let next = if state.running.len() < self.bounds.running { state.next() } else { None };
                let Some(next) = next else {
                    state.is_filling = false;
                    return;
                };
                (state.give(next.turnstile()), next)
            };
            // Refused only when it was cancelled, or when the stages shut down; then the one after it has its turn.
            let _ = self.start(number, next);
        }
    }

    /// Who is over does not stand in line.
    pub(super) fn forget(&self, session: u64, id: QueryId) {
        let mut state = self.lock();
        let Some(line) = state.lines.get_mut(&session) else { return };
        let (again, new) = (line.again.remove(&id), line.new.remove(&id));
        state.waiting -= usize::from(new.is_some());
        state.close_line(session);
        drop(state);
        drop((again, new));
    }

    /// Queries with a permit, and queries in line.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        let in_line = state.lines.values().map(|line| line.again.len() + line.new.len()).sum();
        (state.running.len(), in_line)
    }
}

/// One query's right to run; dropped, the next one has it.
pub(super) struct Permit {
    /// `None` when it was taken back.
    admission: Option<Arc<Admission>>,
    number: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            admission.lock().running.remove(&self.number);
            admission.fill();
        }
    }
}
