//! A lock with a fence: a number that grows each time another owner gets it, so that what it guards can refuse a late comer.
//!
//! It belongs to a thread of a session, which may take it several times, and goes back when the session ends. Those that wait get it in the
//! order in which they came, but for one that comes just when it is free.

use super::session::{Claims, SessionId};
use super::{Patience, Sessions};
use crate::error::{GridError, GridResult};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, KeptTurn, State, acts, waiting};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How often one owner may take it: each time takes a little memory.
const MOST: usize = 65_535;

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockOwnership {
    /// The fence.
    pub fence: i64,
    /// How often it took it.
    pub count: usize,
    /// The session.
    pub session: SessionId,
    /// The thread.
    pub thread: i64,
}

/// A lock with a fence.
///
/// ```
/// use std::time::Duration;
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = filbert_grid::Grid::new(&stages);
/// let door = grid.fenced_lock("door");
/// let (ann, bob) = (grid.sessions().create()?.id, grid.sessions().create()?.id);
/// let first = door.lock(ann, 1, grid.new_id(), None).wait()?.unwrap();
/// assert_eq!(door.lock(bob, 1, grid.new_id(), Some(Duration::ZERO)).wait()?, None);
/// grid.sessions().close(ann);
/// assert!(door.lock(bob, 1, grid.new_id(), None).wait()?.unwrap() > first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FencedLock {
    keeper: Keeper<Guard>,
}

/// Who holds it.
#[derive(Debug)]
pub(crate) struct Guard {
    owner: Option<Owner>,
    fence: i64,
    /// The call that gave it back last, and whether it was still held then: made again, it is told the same.
    unlocked: Option<(SessionId, i64, Uuid, bool)>,
    claims: Claims,
}

#[derive(Debug)]
struct Owner {
    session: SessionId,
    thread: i64,
    /// The calls that took it, the last one last: made again because the answer was lost, a call takes it once.
    calls: Vec<Uuid>,
}

/// Nobody holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Free;

impl State for Guard {
    const SERVICE: Service = Service::FencedLock;
    type Event = Free;

    fn is_in_line(_: &Free) -> bool {
        true
    }

    fn end(&mut self) -> Vec<Free> {
        self.owner = None;
        vec![Free]
    }
}

acts! {
    Guard;
    /// Takes it; the fence. None when that took too long, or it was taken too often already.
    Lock "lock.lock" Lock { session: SessionId, thread: i64, call: Uuid, patience: Patience } -> Option<i64>
        = |self, lock, turn| {
            match lock.take(self.session, self.thread, self.call) {
                Err(error) => Step::failed(error),
                Ok(Taken::Now(fence)) => Step::done(Some(fence)),
                Ok(Taken::TooOften) => Step::done(None),
                Ok(Taken::Busy) if self.patience.is_none() => Step::done(None),
                Ok(Taken::Busy) => Step::Wait { event: Free, deadline: self.patience.until(turn.now()) },
            }
        }, or |self, _lock| Ok(None);
    /// Gives it back; whether its owner holds it still.
    Lock "lock.unlock" Unlock { session: SessionId, thread: i64, call: Uuid } -> bool
        = |self, lock, turn| Step::Done(lock.give_back(turn, self.session, self.thread, self.call));
    /// Who holds it.
    Read "lock.ownership" Ownership {} -> Option<LockOwnership> = |self, lock, _turn| Step::done(lock.ownership());
    /// A session has ended.
    #[derive(Clone)]
    Lock "lock.end_session" EndSession { session: SessionId } -> () = |self, lock, turn| {
        if lock.owner.as_ref().is_some_and(|owner| owner.session == self.session) {
            lock.owner = None;
            turn.happened(Free);
        }
        Step::done(())
    };
}

enum Taken {
    Now(i64),
    Busy,
    TooOften,
}

impl Guard {
    fn take(&mut self, session: SessionId, thread: i64, call: Uuid) -> GridResult<Taken> {
        self.claims.claim(session)?;
        match &mut self.owner {
            None => {
                self.fence += 1;
                self.owner = Some(Owner { session, thread, calls: vec![call] });
            }
            Some(owner) if (owner.session, owner.thread) != (session, thread) => return Ok(Taken::Busy),
            Some(owner) if owner.calls.last() == Some(&call) => {}
            Some(owner) if owner.calls.len() >= MOST => return Ok(Taken::TooOften),
            Some(owner) => owner.calls.push(call),
        }
        Ok(Taken::Now(self.fence))
    }

    fn give_back(
        &mut self,
        turn: &mut KeptTurn<'_, Self>,
        session: SessionId,
        thread: i64,
        call: Uuid,
    ) -> GridResult<bool> {
        self.claims.claim(session)?;
        if let Some((.., still_held)) =
            self.unlocked.filter(|(by, of, last, _)| (*by, *of, *last) == (session, thread, call))
        {
            return Ok(still_held);
        }
        let owner = match &mut self.owner {
            Some(owner) if (owner.session, owner.thread) == (session, thread) => owner,
            other => {
                let owner = other.as_ref().map_or_else(
                    || "nobody".to_owned(),
                    |owner| format!("session {} thread {}", owner.session.0, owner.thread),
                );
                return Err(GridError::NotLockOwner { operation: "lock.unlock", owner });
            }
        };
        owner.calls.pop();
        let still_held = !owner.calls.is_empty();
        if !still_held {
            self.owner = None;
            turn.happened(Free);
        }
        self.unlocked = Some((session, thread, call, still_held));
        Ok(still_held)
    }

    fn ownership(&self) -> Option<LockOwnership> {
        let Owner { session, thread, calls } = self.owner.as_ref()?;
        Some(LockOwnership { fence: self.fence, count: calls.len(), session: *session, thread: *thread })
    }
}

impl FencedLock {
    pub(crate) fn new(grid: &Grid, sessions: &Sessions, name: &Arc<str>) -> Self {
        let keeper = Keeper::single_with_home(grid, name, |home, partition| {
            let key = (Service::FencedLock, Arc::clone(name));
            let claims = Claims::new(sessions, key, home, partition, |session| EndSession { session });
            Guard { owner: None, fence: 0, unlocked: None, claims }
        });
        Self { keeper }
    }

    waiting! {
        /// Takes the lock for a thread of a session; waits for it until the time-out, for ever without one. Its fence; none when it did not
        /// come, or was taken too often already. `call` tells a call from the same one made again.
        lock, lock_to(&self, session: SessionId, thread: i64, call: Uuid, timeout: Option<Duration>) -> Option<i64>
            = self.keeper.partition(), Lock { session, thread, call, patience: Patience::new(timeout) };
    }

    /// Gives it back once; whether the same thread holds it still.
    pub fn unlock(&self, session: SessionId, thread: i64, call: Uuid) -> Invocation<bool> {
        self.keeper.call(Unlock { session, thread, call })
    }

    /// Who holds it.
    pub fn ownership(&self) -> Invocation<Option<LockOwnership>> {
        self.keeper.call(Ownership {})
    }
}

impl Structure for FencedLock {
    fn service(&self) -> Service {
        Service::FencedLock
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
