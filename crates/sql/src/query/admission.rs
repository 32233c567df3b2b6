//! Lets so many queries run at a time, and the rest wait their turn, fairly between sessions.
//!
//! Each session has a line of its own, and lines take turns: a program that sends a thousand queries at once makes a person at a shell
//! wait for one of them, not for all.

use super::control::Control;
use crate::error::SqlError;
use filbert_pool::Strand;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Who waits, and how many run.
pub(crate) struct Admission {
    running_limit: usize,
    waiting_limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: usize,
    /// By session: its queries, the oldest first.
    lines: BTreeMap<u64, VecDeque<Strand<Control>>>,
    /// The session that was served last.
    last: u64,
}

impl State {
    /// The next query, of the session after the one that was served last.
    fn next(&mut self) -> Option<Strand<Control>> {
        let after = self.lines.range(self.last + 1..).next().or_else(|| self.lines.iter().next());
        let session = *after?.0;
        let line = self.lines.get_mut(&session)?;
        let control = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&session);
        }
        self.last = session;
        self.waiting -= 1;
        control
    }
}

impl Admission {
    pub(crate) fn new(running_limit: usize, waiting_limit: usize) -> Arc<Self> {
        Arc::new(Self { running_limit: running_limit.max(1), waiting_limit, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Starts the query now, or when its turn has come.
    pub(crate) fn admit(self: &Arc<Self>, session: u64, control: &Strand<Control>) -> Result<(), SqlError> {
        let mut state = self.lock();
        if state.running < self.running_limit {
            state.running += 1;
            drop(state);
            return self.start(control);
        }
        if state.waiting >= self.waiting_limit {
            return Err(SqlError::Overloaded { running: state.running, waiting: state.waiting });
        }
        state.waiting += 1;
        state.lines.entry(session).or_default().push_back(control.clone());
        Ok(())
    }

    /// Starts what is counted elsewhere, at once.
    pub(crate) fn start_uncounted(control: &Strand<Control>) -> Result<(), SqlError> {
        control.post("execute", move |control| control.execute(Permit { admission: None }))?;
        Ok(())
    }

    fn start(self: &Arc<Self>, control: &Strand<Control>) -> Result<(), SqlError> {
        let permit = Permit { admission: Some(Arc::clone(self)) };
        control.post("execute", move |control| control.execute(permit))?;
        Ok(())
    }

    /// Queries that run, and that wait.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.running, state.waiting)
    }
}

/// One query's right to run; dropped, the next one has it.
pub(crate) struct Permit {
    /// `None` for what is not counted.
    admission: Option<Arc<Admission>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(admission) = &self.admission else { return };
        let next = {
            let mut state = admission.lock();
            let next = state.next();
            if next.is_none() {
                state.running -= 1;
            }
            next
        };
        if let Some(control) = next {
            // Refused only when the stages shut down; then its permit was dropped, and the one after it had its turn.
            let _ = admission.start(&control);
        }
    }
}
