//! Whether a query's fragments may have turns: while it holds a permit, they may.
//!
//! ```text
//!            enter(permit)                rest(): no turn for a while, and others wait
//!   closed ----------------> open  ------------------------------------------------> closed
//!                             |                                                         |
//!                             | leave()      a fragment has something to do: pass() asks for a permit
//!                             v                                                         |
//!                           over            open <--------- enter(permit) --------------+
//! ```
//!
//! Every fragment asks at the begin of its turn; an open turnstile costs one load. With a short permit it is not open: each turn looks whether
//! it is used up, and when it is, gives the permit back and asks for one that lasts. So a query that rests holds no permit, and one without a
//! permit does no work, whatever wakes its fragments: a reader that reads on, a row of a stream, a file.
//!
//! Touched by fragment workers, by the query's strand and by the timer that looks for resting queries. Its lock is never held while that of
//! the admission is taken.

use super::QueryId;
use super::admission::{Admission, Permit};
use super::open::Opened;
use filbert_pool::{Group, TaskWaker};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What the fragments of one query pass at the begin of each turn.
pub(crate) struct Turnstile {
    id: QueryId,
    session: u64,
    group: Group,
    admission: Arc<Admission>,
    /// Nanoseconds that its fragments have worked.
    worked: AtomicU64,
    /// A mark that the query may have changed something: a table, a map, a file, a definition.
    may_have_changed: AtomicBool,
    /// What the lock below says, for the fast path.
    is_open: AtomicBool,
    inside: Mutex<Inside>,
}

struct Inside {
    permit: Option<Permit>,
    is_over: bool,
    /// It is in line for a permit.
    is_asked: bool,
    sleepers: Vec<TaskWaker>,
    /// How many turns its fragments had, and when that was first seen.
    seen: Option<(u64, Duration)>,
    opened: Option<Opened>,
}

impl Turnstile {
    /// Of a query that has not begun. `opened` counts it among the open ones until it is over.
    pub(crate) fn new(
        (id, session): (QueryId, u64),
        group: Group,
        admission: &Arc<Admission>,
        opened: Option<Opened>,
    ) -> Arc<Self> {
        let inside = Inside {
            permit: None,
            is_over: false,
            is_asked: false,
            sleepers: Vec::new(),
            seen: None,
            opened,
        };
        Arc::new(Self {
            id,
            session,
            group,
            admission: Arc::clone(admission),
            worked: AtomicU64::new(0),
            may_have_changed: AtomicBool::new(false),
            is_open: AtomicBool::new(false),
            inside: Mutex::new(inside),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    pub(crate) fn id(&self) -> QueryId {
        self.id
    }

    pub(crate) fn session(&self) -> u64 {
        self.session
    }

    /// All tasks of the query.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// True when it may have no turns now.
    pub(crate) fn is_closed(&self) -> bool {
        !self.is_open.load(Ordering::Acquire) && self.lock().permit.is_none()
    }

    /// True when the fragment may have its turn; otherwise it is woken when it may.
    #[inline]
    pub(crate) fn pass(self: &Arc<Self>, fragment: &TaskWaker) -> bool {
        self.is_open.load(Ordering::Acquire) || self.wait(fragment)
    }

    #[cold]
    fn wait(self: &Arc<Self>, fragment: &TaskWaker) -> bool {
        let (used_up, was_asked) = {
            let mut inside = self.lock();
            let is_short = inside.permit.as_ref().is_some_and(Permit::is_short);
            if inside.is_over || (inside.permit.is_some() && (!is_short || self.may_work_on())) {
                return true;
            }
            let used_up = inside.permit.take();
            if !inside.sleepers.iter().any(|sleeper| sleeper.will_wake(fragment)) {
                inside.sleepers.push(fragment.clone());
            }
            (used_up, std::mem::replace(&mut inside.is_asked, true))
        };
        if !was_asked {
            self.admission.readmit(self, used_up.and_then(Permit::use_up));
        }
        false
    }

    /// A fragment has worked for so long.
    pub(crate) fn worked(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.worked.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Notes that from now on the query may change something.
    pub(crate) fn begins_to_change(&self) {
        self.may_have_changed.store(true, Ordering::Release);
    }

    /// Tells if the query may have changed something: then nobody may be told to try it again.
    pub(super) fn may_have_changed(&self) -> bool {
        self.may_have_changed.load(Ordering::Acquire)
    }

    /// True when a short permit is not used up.
    fn may_work_on(&self) -> bool {
        let worked = Duration::from_nanos(self.worked.load(Ordering::Relaxed));
        self.group.has_head_start() || worked < self.admission.short_work()
    }

    /// True when the query is over, or will never begin.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The query may run; gives the permit back when it is over.
    pub(super) fn enter(&self, permit: Permit, now: Duration) -> Result<(), Permit> {
        let sleepers = {
            let mut inside = self.lock();
            if inside.is_over {
                return Err(permit);
            }
            inside.permit = Some(permit);
            (inside.is_asked, inside.seen) = (false, Some((self.group.turns(), now)));
            // With a short permit every fragment asks at each turn.
            let is_short = inside.permit.as_ref().is_some_and(Permit::is_short);
            self.is_open.store(!is_short, Ordering::Release);
            std::mem::take(&mut inside.sleepers)
        };
        sleepers.iter().for_each(TaskWaker::wake);
        Ok(())
    }

    /// Takes back the permit of a query that could not be told that it may run.
    pub(super) fn turn_back(&self) -> Option<Permit> {
        self.is_open.store(false, Ordering::Release);
        self.lock().permit.take()
    }

    /// Gives the permit to others when no fragment had a turn, or waits for one, since `least` before `now`.
    pub(super) fn rest(&self, now: Duration, least: Duration) {
        let permit = {
            let mut inside = self.lock();
            if inside.permit.is_none() {
                return;
            }
            let turns = self.group.turns();
            // Without fragments it will have no turn again, whoever reads on.
            let is_done = turns > 0 && self.group.tasks() == 0;
            match inside.seen {
                _ if is_done => {}
                Some((seen, since)) if seen == turns && self.group.is_at_rest() => {
                    if now.saturating_sub(since) < least {
                        return;
                    }
                }
                _ => {
                    inside.seen = Some((turns, now));
                    return;
                }
            }
            // A fragment that passed just now has this one turn more.
            self.is_open.store(false, Ordering::Release);
            inside.permit.take()
        };
        drop(permit);
    }

    /// The query is over, or will never begin: whatever it has or waits for is others'.
    pub(crate) fn leave(&self) {
        let (permit, sleepers, opened) = {
            let mut inside = self.lock();
            inside.is_over = true;
            self.is_open.store(true, Ordering::Release);
            (inside.permit.take(), std::mem::take(&mut inside.sleepers), inside.opened.take())
        };
        sleepers.iter().for_each(TaskWaker::wake);
        self.admission.forget(self.session, self.id);
        drop(opened);
        drop(permit);
    }
}
