//! Lets so many queries run at a time, and the rest wait their turn, fairly between sessions.
//!
//! Each session has a line of its own, and lines take turns: a program that sends a thousand queries at once makes a person at a shell
//! wait for one of them, not for all. In a line those that ran before come first.
//!
//! A permit belongs to work that goes on, not to whoever reads: a query whose fragments all sleep (nobody reads its rows, its stream has no
//! row, it is finished and not read to the end) keeps its permit only while nobody else wants it. While somebody waits, a timer looks at
//! those that run; who had no turn for a while gives its permit up and stands in line when it has something to do again. Rejected: permits
//! for the life of a query, with which a few forgotten cursors stop everybody; a timer per pause, which every batch of a slow reader would set.
//!
//! Three hundred reports of a second each run or wait, and somebody asks for one row: in a fair line it would wait for minutes. So some of those
//! in line that are new begin at once, with a *short* permit. It lasts for a few milliseconds of work; whoever is not
//! done by then gives it up and stands in line for a permit like others.
//!
//! The same timer ends those that have waited for too long in line, with an error that says to try again. A statement that used up a short
//! permit and may have changed something is not ended so: whoever tried it again would change it twice. It keeps its place in line.

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
    /// How many of those that wait may begin with a short permit.
    pub(crate) short: usize,
    /// How long a query works on a short permit.
    pub(crate) short_work: Duration,
    /// How long one waits at most; `None`: any time.
    pub(crate) wait: Option<Duration>,
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
    /// Those with a short one, which count among those that wait.
    short: BTreeMap<u64, Weak<Turnstile>>,
    /// How many permits were given.
    given: u64,
    /// By session.
    lines: BTreeMap<u64, Line>,
    /// Those in line that had no permit yet, or a short one.
    waiting: usize,
    /// The session that was served last.
    last: u64,
    /// The session whose query got a short permit last.
    last_new: u64,
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
    /// They used up a short permit.
    begun: BTreeMap<QueryId, Candidate>,
    new: BTreeMap<QueryId, Candidate>,
}

impl Line {
    fn is_empty(&self) -> bool {
        self.again.is_empty() && self.begun.is_empty() && self.new.is_empty()
    }
}

/// A query that had no permit of its own yet.
#[derive(Clone)]
pub(super) struct Candidate {
    turnstile: Arc<Turnstile>,
    control: Strand<Control>,
    /// When it came.
    since: Duration,
}

/// Whose turn it is.
enum Next {
    Again(Arc<Turnstile>),
    Begun(Candidate),
    New(Candidate),
}

impl Next {
    fn turnstile(&self) -> &Arc<Turnstile> {
        match self {
            Self::Again(turnstile)
            | Self::Begun(Candidate { turnstile, .. })
            | Self::New(Candidate { turnstile, .. }) => turnstile,
        }
    }
}

impl Bounds {
    /// How often the line is looked at: often enough for both limits, the longer of which may be set to an hour.
    fn look_every(&self) -> Duration {
        let wait = self.wait.map_or(self.rest, |wait| (wait / 8).max(Duration::from_millis(1)));
        self.rest.min(wait)
    }
}

impl State {
    /// The number of one more permit, for that query.
    fn give(&mut self, turnstile: &Arc<Turnstile>) -> u64 {
        self.given += 1;
        self.running.insert(self.given, Arc::downgrade(turnstile));
        self.given
    }

    /// The number of one more short permit.
    fn give_short(&mut self, turnstile: &Arc<Turnstile>) -> u64 {
        self.given += 1;
        self.short.insert(self.given, Arc::downgrade(turnstile));
        self.given
    }

    /// The next query, of the session after the one that was served last.
    fn next(&mut self) -> Option<Next> {
        let after = self.lines.range(self.last + 1..).next().or_else(|| self.lines.iter().next());
        let session = *after?.0;
        let line = self.lines.get_mut(&session)?;
        let next = match line.again.pop_first() {
            Some((_, turnstile)) => Some(Next::Again(turnstile)),
            None => match line.begun.pop_first() {
                Some((_, candidate)) => Some(Next::Begun(candidate)),
                None => line.new.pop_first().map(|(_, candidate)| Next::New(candidate)),
            },
        };
        self.waiting -= usize::from(!matches!(next, None | Some(Next::Again(_))));
        self.close_line(session);
        self.last = session;
        next
    }

    /// The next query that is new, of the session after the one that was served so last. Who begins so has had no turn among the others.
    fn next_new(&mut self) -> Option<Candidate> {
        let has_new = |(_, line): &(&u64, &Line)| !line.new.is_empty();
        let after = self.lines.range(self.last_new + 1..).find(has_new);
        let session = *after.or_else(|| self.lines.iter().find(has_new))?.0;
        let (_, candidate) = self.lines.get_mut(&session)?.new.pop_first()?;
        self.waiting -= 1;
        self.close_line(session);
        self.last_new = session;
        Some(candidate)
    }

    /// It is in line from now on.
    fn stand(&mut self, next: Next) {
        let (session, id) = (next.turnstile().session(), next.turnstile().id());
        let line = self.lines.entry(session).or_default();
        match next {
            Next::Again(again) => {
                line.again.insert(id, again);
                return;
            }
            Next::Begun(candidate) => line.begun.insert(id, candidate),
            Next::New(candidate) => line.new.insert(id, candidate),
        };
        self.waiting += 1;
    }

    /// Takes those out of their lines that came before then, had no permit of their own and have
    /// changed nothing.
    fn take_expired(&mut self, before: Duration) -> Vec<Candidate> {
        let mut expired = Vec::new();
        for line in self.lines.values_mut() {
            // Numbers of queries are given as they come.
            while let Some(oldest) = line.new.first_entry().filter(|one| one.get().since < before) {
                expired.push(oldest.remove());
            }
            let is_vain =
                |_: &QueryId, one: &mut Candidate| one.since < before && !one.turnstile.may_have_changed();
            expired.extend(line.begun.extract_if(.., is_vain).map(|(_, candidate)| candidate));
        }
        self.waiting -= expired.len();
        self.lines.retain(|_, line| !line.is_empty());
        expired
    }

    fn close_line(&mut self, session: u64) {
        if self.lines.get(&session).is_some_and(Line::is_empty) {
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
        let (turnstile, control) = (Arc::clone(turnstile), control.clone());
        let next = Next::New(Candidate { turnstile, control, since: self.clock.now() });
        let mut state = self.lock();
        if self.is_full(&state) {
            drop(state);
            // Perhaps somebody rests: nobody can wait long enough to see it.
            self.look_at_running();
            state = self.lock();
        }
        if self.is_full(&state) {
            let waiting = state.waiting + state.short.len();
            return Err(SqlError::Overloaded { running: state.running.len(), waiting });
        }
        self.ask(state, next)
    }

    /// True when one more could neither run nor wait.
    fn is_full(&self, state: &State) -> bool {
        state.running.len() >= self.bounds.running && state.waiting + state.short.len() >= self.bounds.waiting
    }

    /// A permit for it now, when there is one and nobody stands in line; else when its turn has come.
    fn ask(self: &Arc<Self>, mut state: MutexGuard<'_, State>, next: Next) -> Result<(), SqlError> {
        let turnstile = Arc::clone(next.turnstile());
        if state.lines.is_empty() && state.running.len() < self.bounds.running {
            let number = state.give(&turnstile);
            state.last = turnstile.session();
            drop(state);
            let started = self.start(Permit::of(self, number, None), &next);
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

    /// A query that rested has something to do again; one that used up a short permit has more to do.
    pub(super) fn readmit(self: &Arc<Self>, turnstile: &Arc<Turnstile>, begun: Option<Candidate>) {
        let next = begun.map_or_else(|| Next::Again(Arc::clone(turnstile)), Next::Begun);
        // In vain only when it was cancelled meanwhile.
        let _ = self.ask(self.lock(), next);
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

    /// Takes the permits of those that rest, and ends those that waited for too long, now and again while somebody is in line.
    fn look(self: &Arc<Self>) {
        self.look_at_running();
        self.end_expired();
        {
            let mut state = self.lock();
            if state.lines.is_empty() {
                state.is_looking = false;
                return;
            }
        }
        let looking = Arc::downgrade(self);
        self.clock.after(self.bounds.look_every(), move || {
            if let Some(admission) = looking.upgrade() {
                admission.look();
            }
        });
    }

    /// Tells those that have waited for too long.
    fn end_expired(&self) {
        let Some(wait) = self.bounds.wait else { return };
        let (expired, running) = {
            let mut state = self.lock();
            (state.take_expired(self.clock.now().saturating_sub(wait)), state.running.len())
        };
        let limit_ms = wait.as_millis() as u64;
        for Candidate { control, .. } in expired {
            let refuse =
                move |control: &mut Control| control.refuse(SqlError::WaitedTooLong { limit_ms, running });
            // Refused at shutdown only, which ends queries too.
            let _ = control.call("refuse", refuse).map(Called::detach);
        }
    }

    fn look_at_running(&self) {
        let running: Vec<_> = {
            let state = self.lock();
            state.running.values().chain(state.short.values()).filter_map(Weak::upgrade).collect()
        };
        let now = self.clock.now();
        for turnstile in running {
            turnstile.rest(now, self.bounds.rest);
        }
    }

    /// Gives a query that is counted among those with permits its own.
    fn start(self: &Arc<Self>, permit: Permit, next: &Next) -> Result<(), SqlError> {
        let turnstile = next.turnstile();
        if let Err(permit) = turnstile.enter(permit, self.clock.now()) {
            self.take_back(permit);
            return Err(SqlError::Cancelled);
        }
        let Next::New(Candidate { turnstile, control, .. }) = next else { return Ok(()) };
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
        let mut state = self.lock();
        state.running.remove(&permit.number);
        state.short.remove(&permit.number);
    }

    /// Starts queries while there are permits. One at a time does so: a query that ends as it starts gives its permit back in here, and who
    /// then began to fill as well would stand as deep as the line is long.
    fn fill(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().is_filling, true) {
            return;
        }
        loop {
            let (permit, next) = {
                let mut state = self.lock();
                if let Some(next) = self.next_to_run(&mut state) {
                    let number = state.give(next.turnstile());
                    (Permit::of(self, number, None), next)
                } else if let Some(new) = self.next_to_begin(&mut state) {
                    let number = state.give_short(&new.turnstile);
                    (Permit::of(self, number, Some(new.clone())), Next::New(new))
                } else {
                    state.is_filling = false;
                    return;
                }
            };
            // Refused only when it was cancelled, or when the stages shut down; then the one after it has its turn.
            let _ = self.start(permit, &next);
        }
    }

    fn next_to_run(&self, state: &mut State) -> Option<Next> {
        if state.running.len() < self.bounds.running { state.next() } else { None }
    }

    fn next_to_begin(&self, state: &mut State) -> Option<Candidate> {
        if state.short.len() < self.bounds.short { state.next_new() } else { None }
    }

    /// Who is over does not stand in line.
    pub(super) fn forget(&self, session: u64, id: QueryId) {
        let mut state = self.lock();
        let Some(line) = state.lines.get_mut(&session) else { return };
        let (again, begun, new) = (line.again.remove(&id), line.begun.remove(&id), line.new.remove(&id));
        state.waiting -= usize::from(begun.is_some()) + usize::from(new.is_some());
        state.close_line(session);
        drop(state);
        drop((again, begun, new));
    }

    /// How long a query works on a short permit.
    pub(super) fn short_work(&self) -> Duration {
        self.bounds.short_work
    }

    /// Queries with a permit, and queries in line.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        let in_line = |line: &Line| line.again.len() + line.begun.len() + line.new.len();
        (state.running.len() + state.short.len(), state.lines.values().map(in_line).sum())
    }
}

/// One query's right to run; dropped, the next one has it.
pub(super) struct Permit {
    /// `None` when it was taken back.
    admission: Option<Arc<Admission>>,
    number: u64,
    /// With whom a short one stands in line when it is used up.
    short: Option<Candidate>,
}

impl Permit {
    fn of(admission: &Arc<Admission>, number: u64, short: Option<Candidate>) -> Self {
        Self { admission: Some(Arc::clone(admission)), number, short }
    }

    /// True when it lasts for a little work only.
    pub(super) fn is_short(&self) -> bool {
        self.short.is_some()
    }

    /// It is used up: whoever had it stands in line as the answer.
    pub(super) fn use_up(mut self) -> Option<Candidate> {
        self.short.take()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            {
                let mut state = admission.lock();
                state.running.remove(&self.number);
                state.short.remove(&self.number);
            }
            admission.fill();
        }
    }
}
