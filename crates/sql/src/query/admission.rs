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
use super::gate::Gate;
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
    /// Those with a permit.
    running: BTreeMap<QueryId, Weak<Gate>>,
    /// By session.
    lines: BTreeMap<u64, Line>,
    /// Those in line that have not begun.
    waiting: usize,
    /// The session that was served last.
    last: u64,
    /// A timer is set, since somebody waits.
    is_looking: bool,
}

/// Who waits of one session, the oldest first.
#[derive(Default)]
struct Line {
    /// They ran before, and rested.
    again: BTreeMap<QueryId, Arc<Gate>>,
    new: BTreeMap<QueryId, Candidate>,
}

/// A query that has not begun.
struct Candidate {
    gate: Arc<Gate>,
    control: Strand<Control>,
}

/// Whose turn it is.
enum Next {
    Again(Arc<Gate>),
    New(Candidate),
}

impl Next {
    fn gate(&self) -> &Arc<Gate> {
        match self {
            Self::Again(gate) | Self::New(Candidate { gate, .. }) => gate,
        }
    }
}

impl State {
    /// The next query, of the session after the one that was served last.
    fn next(&mut self) -> Option<Next> {
        let after = self.lines.range(self.last + 1..).next().or_else(|| self.lines.iter().next());
        let session = *after?.0;
        let line = self.lines.get_mut(&session)?;
        let next = match line.again.pop_first() {
            Some((_, gate)) => Some(Next::Again(gate)),
            None => line.new.pop_first().map(|(_, candidate)| Next::New(candidate)),
        };
        self.waiting -= usize::from(matches!(next, Some(Next::New(_))));
        self.close_line(session);
        self.last = session;
        next
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
        gate: &Arc<Gate>,
        control: &Strand<Control>,
    ) -> Result<(), SqlError> {
        let candidate = Candidate { gate: Arc::clone(gate), control: control.clone() };
        let mut state = self.lock();
        if state.running.len() < self.bounds.running {
            state.running.insert(gate.id(), Arc::downgrade(gate));
            state.last = gate.session();
            drop(state);
            return self.start(Next::New(candidate));
        }
        if state.waiting >= self.bounds.waiting {
            let (running, waiting) = (state.running.len(), state.waiting);
            drop(state);
            // Whoever tries again later finds a permit, though nobody could wait for it.
            self.look_at_running();
            return Err(SqlError::Overloaded { running, waiting });
        }
        state.waiting += 1;
        state.lines.entry(gate.session()).or_default().new.insert(gate.id(), candidate);
        self.wait(state);
        Ok(())
    }

    /// A query that rested has something to do again.
    pub(super) fn readmit(self: &Arc<Self>, gate: &Arc<Gate>) {
        let mut state = self.lock();
        if state.running.len() < self.bounds.running {
            state.running.insert(gate.id(), Arc::downgrade(gate));
            state.last = gate.session();
            drop(state);
            // In vain only when it was cancelled meanwhile.
            let _ = self.start(Next::Again(Arc::clone(gate)));
            return;
        }
        state.lines.entry(gate.session()).or_default().again.insert(gate.id(), Arc::clone(gate));
        self.wait(state);
    }

    /// Somebody is in line from now on.
    fn wait(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let is_first = !std::mem::replace(&mut state.is_looking, true);
        drop(state);
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
        for gate in running {
            gate.rest(now, self.bounds.rest);
        }
    }

    /// Gives a query that is counted among the running ones its permit.
    fn start(self: &Arc<Self>, next: Next) -> Result<(), SqlError> {
        let gate = next.gate();
        let permit = Permit { admission: Some(Arc::clone(self)), id: gate.id() };
        if let Err(permit) = gate.enter(permit) {
            self.take_back(permit);
            return Err(SqlError::Cancelled);
        }
        let Next::New(Candidate { gate, control }) = &next else { return Ok(()) };
        // Mostly here and now: nobody else knows the strand yet, and another thread would have to wake up first.
        match control.call("execute", Control::execute) {
            Ok(Called::Here(_)) => Ok(()),
            Ok(Called::Queued(later)) => {
                later.detach();
                Ok(())
            }
            Err(refused) => {
                if let Some(permit) = gate.turn_back() {
                    self.take_back(permit);
                }
                Err(refused.into())
            }
        }
    }

    /// A permit that nobody had. Not its drop, which would start the next, whose permit may be taken back as well, and so on as deep as
    /// the line is long.
    fn take_back(&self, mut permit: Permit) {
        permit.admission = None;
        self.lock().running.remove(&permit.id);
    }

    /// Starts queries while there are permits.
    fn fill(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                if state.running.len() >= self.bounds.running {
                    return;
                }
                let Some(next) = state.next() else { return };
                state.running.insert(next.gate().id(), Arc::downgrade(next.gate()));
                next
            };
            // Refused only when it was cancelled, or when the stages shut down; then the one after it has its turn.
            let _ = self.start(next);
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
    id: QueryId,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            admission.lock().running.remove(&self.id);
            admission.fill();
        }
    }
}
