//! Sessions: permits and locks belong to one, and go when it ends. It ends when its owner says so, or gives no sign of life for too long.
//!
//! ```text
//! act on a strand -- claim(session) --> alive? then remember whom to tell     (under one lock)
//! end of a session --> forgotten, then each of those is mailed that it ended  (after the lock)
//! ```
//!
//! So no act is given something for a session that has ended: whoever finds it alive runs on its strand just then, and the mail about its
//! end comes after. One timer for all, for the next that would end. Runs on partition threads, io loops and the clock's thread; nothing
//! blocks but the lock, which is held for a look-up.

use crate::error::{GridError, GridResult};
use crate::keeper::{Act, Home, mail};
use crate::settings::SessionSettings;
use crate::strands::Alarms;
use crate::structures::Service;
use filbert_pool::Clock;
use filbert_wire::PartitionId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use uuid::Uuid;

/// Which session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionId(pub i64);

/// A session that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Which it is.
    pub id: SessionId,
    /// How long it lives without a sign of life.
    pub ttl: Duration,
    /// How often to give one.
    pub heartbeat: Duration,
}

/// The sessions of a member; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    clock: Clock,
    settings: SessionSettings,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    alive: HashMap<SessionId, Alive>,
    ends: BTreeSet<(Duration, SessionId)>,
    next: i64,
    next_thread: i64,
    alarms: Alarms,
}

#[derive(Debug)]
struct Alive {
    owner: Uuid,
    until: Duration,
    /// Whom to tell when it ends.
    claimed: HashMap<(Service, Arc<str>), Ending>,
}

/// Tells a structure that a session has ended.
#[derive(Clone)]
struct Ending(Arc<dyn Fn(SessionId) + Send + Sync>);

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ending")
    }
}

impl Sessions {
    pub(crate) fn new(clock: Clock, settings: SessionSettings) -> Self {
        // A session of the member's last life must not be taken for one of this: so they do not begin with 1.
        let next = i64::try_from(clock.unix_ms()).unwrap_or(0) << 20;
        let state = State {
            alive: HashMap::new(),
            ends: BTreeSet::new(),
            next,
            next_thread: 1,
            alarms: Alarms::default(),
        };
        Self { inner: Arc::new(Inner { clock, settings, state: Mutex::new(state) }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state()
    }

    /// Begins a session of this member's own.
    pub fn create(&self) -> GridResult<Session> {
        self.create_for(Uuid::nil())
    }

    /// Whose session it is, if it is alive.
    pub fn owner(&self, id: SessionId) -> Option<Uuid> {
        self.state().alive.get(&id).map(|alive| alive.owner)
    }

    /// Begins a session of a client.
    pub fn create_for(&self, owner: Uuid) -> GridResult<Session> {
        let settings = &self.inner.settings;
        let (ttl, heartbeat) =
            (Duration::from_millis(settings.ttl_ms), Duration::from_millis(settings.heartbeat_ms));
        let mut state = self.state();
        if state.alive.len() >= settings.most {
            return Err(GridError::TooMany { what: "sessions", limit: settings.most });
        }
        let id = SessionId(state.next);
        state.next += 1;
        let until = self.inner.clock.now().saturating_add(ttl);
        state.alive.insert(id, Alive { owner, until, claimed: HashMap::new() });
        state.ends.insert((until, id));
        self.inner.arm(&mut state);
        Ok(Session { id, ttl, heartbeat })
    }

    /// A sign of life.
    pub fn heartbeat(&self, id: SessionId) -> GridResult<()> {
        let until = self.inner.clock.now().saturating_add(Duration::from_millis(self.inner.settings.ttl_ms));
        let mut state = self.state();
        let Some(alive) = state.alive.get_mut(&id) else { return Err(expired(id)) };
        let before = std::mem::replace(&mut alive.until, until);
        state.ends.remove(&(before, id));
        state.ends.insert((until, id));
        Ok(())
    }

    /// Ends a session: what it holds is given back. False when there was none.
    pub fn close(&self, id: SessionId) -> bool {
        let mut state = self.state();
        let ended = state.end(id);
        drop(state);
        ended.inspect(|ended| tell(id, ended)).is_some()
    }

    /// A number for a thread of a client that no other has.
    pub fn new_thread(&self) -> i64 {
        let mut state = self.state();
        state.next_thread += 1;
        state.next_thread - 1
    }

    /// How many are alive.
    pub fn len(&self) -> usize {
        self.state().alive.len()
    }

    /// True when none is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn expired(id: SessionId) -> GridError {
    GridError::SessionExpired { session: id.0 }
}

fn tell(id: SessionId, ended: &Alive) {
    ended.claimed.values().for_each(|ending| (ending.0)(id));
}

impl State {
    fn end(&mut self, id: SessionId) -> Option<Alive> {
        let ended = self.alive.remove(&id)?;
        self.ends.remove(&(ended.until, id));
        Some(ended)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Sees to it that a timer is set for the next that would end.
    fn arm(self: &Arc<Self>, state: &mut State) {
        let Some(&(next, _)) = state.ends.first() else { return };
        if state.alarms.must_set(next) {
            let home = Arc::downgrade(self);
            self.clock.after(next.saturating_sub(self.clock.now()), move || Self::end_due(&home, next));
        }
    }

    /// Ends those that gave no sign of life; the timer was set for `due`.
    fn end_due(home: &Weak<Self>, due: Duration) {
        let Some(inner) = home.upgrade() else { return };
        let mut state = inner.state();
        let now = inner.clock.now();
        let over: Vec<SessionId> =
            state.ends.iter().take_while(|(until, _)| *until <= now).map(|(_, id)| *id).collect();
        let ended: Vec<_> = over.into_iter().filter_map(|id| Some((id, state.end(id)?))).collect();
        state.alarms.came(due);
        inner.arm(&mut state);
        drop(state);
        ended.iter().for_each(|(id, ended)| tell(*id, ended));
    }
}

/// How a structure claims things for sessions.
#[derive(Debug)]
pub(crate) struct Claims {
    sessions: Sessions,
    key: (Service, Arc<str>),
    ending: Ending,
}

impl Claims {
    /// For the structure that lives there; when a session ends that something was claimed for, the act that `end` makes is mailed.
    pub(crate) fn new<A: Act + Clone>(
        sessions: &Sessions,
        key: (Service, Arc<str>),
        home: &Home<A::State>,
        partition: PartitionId,
        end: fn(SessionId) -> A,
    ) -> Self {
        let (home, clock) = (home.clone(), sessions.inner.clock.clone());
        let ending = Ending(Arc::new(move |id| mail(&home, partition, &clock, end(id))));
        Self { sessions: sessions.clone(), key, ending }
    }

    /// From now on the structure is told when that session ends; refused when it has.
    pub(crate) fn claim(&self, id: SessionId) -> GridResult<()> {
        let mut state = self.sessions.state();
        let alive = state.alive.get_mut(&id).ok_or_else(|| expired(id))?;
        // A structure that was destroyed may have had the same name.
        let is_known = |known: &Ending| Arc::ptr_eq(&known.0, &self.ending.0);
        if !alive.claimed.get(&self.key).is_some_and(is_known) {
            alive.claimed.insert(self.key.clone(), self.ending.clone());
        }
        Ok(())
    }
}
