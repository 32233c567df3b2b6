//! A semaphore: so many permits, and whoever finds too few waits, holding no thread.
//!
//! Permits that are acquired in a session go back when the session ends, and only who holds some may release them. Without a session
//! anyone may release, and nothing goes back by itself. Those that wait are tried in the order in which they came, and each that can be
//! served is: one that wants many does not hold up others that want few.

use super::session::{Claims, SessionId};
use super::{Patience, Sessions};
use crate::error::{GridError, GridResult};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, KeptTurn, State, acts, waiting};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Threads of a session whose last calls are remembered; more are forgotten at once.
const MOST_THREADS: usize = 1_024;

/// Who acquires or releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquirer {
    /// The session that permits belong to; none when they belong to nobody.
    pub session: Option<SessionId>,
    /// A thread of it.
    pub thread: i64,
    /// The call: made again with the same id because the answer was lost, it is done once. In a session only.
    pub call: Uuid,
}

/// Permits.
///
/// ```
/// use filbert_grid::{Acquirer, Grid};
/// use std::time::Duration;
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// let seats = grid.semaphore("seats");
/// seats.init(2).wait()?;
/// let session = grid.sessions().create()?.id;
/// let me = || Acquirer { session: Some(session), thread: 1, call: grid.new_id() };
/// assert!(seats.acquire(me(), 2, Some(Duration::ZERO)).wait()?);
/// assert!(!seats.acquire(me(), 1, Some(Duration::ZERO)).wait()?);
/// grid.sessions().close(session);
/// assert!(seats.acquire(Acquirer { session: None, ..me() }, 1, None).wait()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Semaphore {
    keeper: Keeper<Permits>,
}

/// The permits of a semaphore.
#[derive(Debug)]
pub(crate) struct Permits {
    available: i32,
    is_set: bool,
    held: HashMap<SessionId, Held>,
    claims: Claims,
}

/// What a session holds.
#[derive(Debug, Default)]
struct Held {
    permits: i32,
    /// The last call of each thread, and what came of it.
    last: HashMap<i64, (Uuid, i32)>,
}

/// There may be more permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct More;

impl State for Permits {
    const SERVICE: Service = Service::Semaphore;
    type Event = More;

    fn end(&mut self) -> Vec<More> {
        self.held = HashMap::new();
        vec![More]
    }
}

acts! {
    Permits;
    /// Sets the number of permits, once.
    Put "semaphore.init" Init { permits: i32 } -> bool = |self, semaphore, turn| {
        if self.permits < 0 {
            return Step::failed(negative("semaphore.init", self.permits));
        }
        let first = !semaphore.is_set;
        if first {
            Step::Done(semaphore.add(turn, "semaphore.init", self.permits).map(|()| true))
        } else {
            Step::done(false)
        }
    };
    /// How many are there.
    Read "semaphore.available" Available {} -> i32 = |self, semaphore, _turn| Step::done(semaphore.available);
    /// Takes some; waits for them.
    Lock "semaphore.acquire" Acquire { by: Acquirer, permits: i32, patience: Patience } -> bool = |self, semaphore, turn| {
        if self.permits <= 0 {
            return Step::failed(negative("semaphore.acquire", self.permits));
        }
        match semaphore.claim(self.by) {
            Err(error) => return Step::failed(error),
            Ok(Some(_)) => return Step::done(true),
            Ok(None) => {}
        }
        if semaphore.available >= self.permits {
            semaphore.available -= self.permits;
            semaphore.note(self.by, self.permits, 1);
            return Step::done(true);
        }
        if self.patience.is_none() {
            return Step::done(false);
        }
        Step::Wait { event: More, deadline: self.patience.until(turn.now()) }
    }, or |self, _semaphore| Ok(false);
    /// Takes all; how many.
    Lock "semaphore.drain" Drain { by: Acquirer } -> i32 = |self, semaphore, _turn| {
        match semaphore.claim(self.by) {
            Err(error) => Step::failed(error),
            Ok(Some(before)) => Step::done(before),
            Ok(None) => {
                let drained = std::mem::take(&mut semaphore.available);
                semaphore.note(self.by, drained.max(0), drained);
                Step::done(drained)
            }
        }
    };
    /// Gives some back.
    Lock "semaphore.release" Release { by: Acquirer, permits: i32 } -> () = |self, semaphore, turn| {
        if self.permits <= 0 {
            return Step::failed(negative("semaphore.release", self.permits));
        }
        Step::Done(semaphore.release(turn, self.by, self.permits))
    };
    /// Makes more or fewer; who holds some keeps them.
    Put "semaphore.change" Change { by: Acquirer, delta: i32 } -> () = |self, semaphore, turn| {
        match semaphore.claim(self.by) {
            Err(error) => Step::failed(error),
            Ok(Some(_)) => Step::done(()),
            Ok(None) => {
                let added = semaphore.add(turn, "semaphore.change", self.delta);
                if added.is_ok() {
                    semaphore.note(self.by, 0, 1);
                }
                Step::Done(added)
            }
        }
    };
    /// A session has ended.
    #[derive(Clone)]
    Lock "semaphore.end_session" EndSession { session: SessionId } -> () = |self, semaphore, turn| {
        if let Some(held) = semaphore.held.remove(&self.session) {
            semaphore.available = semaphore.available.saturating_add(held.permits);
            turn.happened(More);
        }
        Step::done(())
    };
}

fn negative(operation: &'static str, permits: i32) -> GridError {
    GridError::BadArgument { operation, problem: format!("{permits} permits cannot be") }
}

impl Permits {
    /// Refused when the session has ended; what came of the same call before.
    fn claim(&self, by: Acquirer) -> GridResult<Option<i32>> {
        let Some(session) = by.session else { return Ok(None) };
        self.claims.claim(session)?;
        let last = self.held.get(&session).and_then(|held| held.last.get(&by.thread));
        Ok(last.filter(|(call, _)| *call == by.call).map(|(_, came)| *came))
    }

    /// A call was done: its session holds so many more.
    fn note(&mut self, by: Acquirer, permits: i32, came: i32) {
        if let Some(session) = by.session {
            let held = self.held.entry(session).or_default();
            held.permits += permits;
            if held.last.len() >= MOST_THREADS {
                held.last.clear();
            }
            held.last.insert(by.thread, (by.call, came));
        }
    }

    fn add(&mut self, turn: &mut KeptTurn<'_, Self>, operation: &'static str, delta: i32) -> GridResult<()> {
        let too_many =
            || GridError::BadArgument { operation, problem: "more permits than 31 bits count".to_owned() };
        self.available = self.available.checked_add(delta).ok_or_else(too_many)?;
        self.is_set = true;
        if delta > 0 {
            turn.happened(More);
        }
        Ok(())
    }

    fn release(&mut self, turn: &mut KeptTurn<'_, Self>, by: Acquirer, permits: i32) -> GridResult<()> {
        const NAME: &str = "semaphore.release";
        if self.claim(by)?.is_some() {
            return Ok(());
        }
        if let Some(session) = by.session {
            let held = self.held.get(&session).map_or(0, |held| held.permits);
            if held < permits {
                let problem = format!("this session holds {held} permits and cannot release {permits}");
                return Err(GridError::BadState { operation: NAME, problem });
            }
        }
        self.add(turn, NAME, permits)?;
        self.note(by, -permits, 1);
        Ok(())
    }
}

impl Semaphore {
    pub(crate) fn new(grid: &Grid, sessions: &Sessions, name: &Arc<str>) -> Self {
        let keeper = Keeper::single_with_home(grid, name, |home, partition| {
            let key = (Service::Semaphore, Arc::clone(name));
            let claims = Claims::new(sessions, key, home, partition, |session| EndSession { session });
            Permits { available: 0, is_set: false, held: HashMap::new(), claims }
        });
        Self { keeper }
    }

    /// Sets the number of permits; false when that was done before.
    pub fn init(&self, permits: i32) -> Invocation<bool> {
        self.keeper.call(Init { permits })
    }

    /// How many permits are there; below 0 when it was [changed](Semaphore::change) so.
    pub fn available(&self) -> Invocation<i32> {
        self.keeper.call(Available {})
    }

    waiting! {
        /// Takes some, all at once; waits for them until the time-out, for ever without one. False when they did not come.
        acquire, acquire_to(&self, by: Acquirer, permits: i32, timeout: Option<Duration>) -> bool
            = self.keeper.partition(), Acquire { by, permits, patience: Patience::new(timeout) };
    }

    /// Takes all that are there; how many.
    pub fn drain(&self, by: Acquirer) -> Invocation<i32> {
        self.keeper.call(Drain { by })
    }

    /// Gives some back. [`BadState`](GridError::BadState) when the session holds fewer.
    pub fn release(&self, by: Acquirer, permits: i32) -> Invocation<()> {
        self.keeper.call(Release { by, permits })
    }

    /// Makes more permits, or fewer; who holds some keeps them.
    pub fn change(&self, by: Acquirer, delta: i32) -> Invocation<()> {
        self.keeper.call(Change { by, delta })
    }
}

impl Structure for Semaphore {
    fn service(&self) -> Service {
        Service::Semaphore
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
