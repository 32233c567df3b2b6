//! What all sessions of a door share: the engine, who may come in, and who can be cancelled.

use super::counters::Counters;
use super::failure::Failure;
use super::scram::{Passwords, Refused};
use super::settings::PostgresSettings;
use crate::guesses::Guesses;
use crate::hazelcast::{Rights, User};
use crate::users::OutdatedUsers;
use filbert_pool::{Clock, Stages, WorkStealing};
use filbert_sql::{QueryCanceller, Sql, SqlError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use subtle::ConstantTimeEq;

/// Bytes of the key that cancels; the protocol has room for four.
const KEY_BYTES: usize = 4;

/// The member as its PostgreSQL clients see it.
pub(super) struct Host {
    pub(super) sql: Sql,
    /// Where long texts and large values are taken apart.
    fragment: WorkStealing,
    pub(super) settings: PostgresSettings,
    access: RwLock<Arc<Access>>,
    pub(super) counters: Counters,
    /// The logins that failed.
    pub(super) guesses: Guesses,
    pub(super) clock: Clock,
    cancellable: Mutex<HashMap<i32, Arc<Cancellable>>>,
}

/// Who may come in at one moment, and what is kept of their passwords.
pub(super) struct Access {
    users: Arc<[User]>,
    pub(super) passwords: Passwords,
}

impl Access {
    /// Computes what is kept of the passwords, which takes some milliseconds for each.
    fn new(users: Arc<[User]>) -> Result<Self, Refused> {
        Ok(Self { passwords: Passwords::new(&users)?, users })
    }

    /// Returns true when a client must prove who it is.
    pub(super) fn asks(&self) -> bool {
        !self.users.is_empty()
    }

    /// Returns what a user who has logged in may do.
    pub(super) fn rights(&self, user: &str) -> Rights {
        if self.users.is_empty() {
            return Rights::everything();
        }
        let known = self.users.iter().find(|known| known.name == user);
        known.map(|known| known.may.clone()).unwrap_or_default()
    }
}

/// A session as a cancel request finds it.
pub(super) struct Cancellable {
    key: [u8; KEY_BYTES],
    exchange: Mutex<Exchange>,
}

/// What a session does between a request and the `ReadyForQuery` that ends it.
#[derive(Default)]
struct Exchange {
    /// The requests of it may be several, and the time between them is part of it.
    is_busy: bool,
    running: Option<QueryCanceller>,
    /// A cancel came while nothing ran: the next query of this exchange is the one that was meant.
    is_asked: bool,
}

/// The place of a session among those that can be cancelled; given back when it is dropped.
pub(super) struct Place {
    host: Arc<Host>,
    pub(super) process: i32,
    session: Arc<Cancellable>,
}

impl Host {
    pub(super) fn new(stages: &Stages, sql: Sql, mut settings: PostgresSettings) -> Result<Self, Refused> {
        let access = RwLock::new(Arc::new(Access::new(std::mem::take(&mut settings.users).into())?));
        let fragment = stages.fragment().clone();
        Ok(Self {
            sql,
            fragment,
            settings,
            access,
            counters: Counters::default(),
            guesses: Guesses::default(),
            clock: stages.clock(),
            cancellable: Mutex::default(),
        })
    }

    /// Returns who may come in now.
    pub(super) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true when no reload has come since [`Host::access`] gave `access`.
    pub(super) fn is_current(&self, access: &Arc<Access>) -> bool {
        Arc::ptr_eq(&self.access(), access)
    }

    /// Lets these users in from now on; returns whose sessions must end, or `None` when nothing has changed.
    pub(super) fn replace_users(&self, users: Vec<User>) -> Result<Option<OutdatedUsers>, Refused> {
        let Some(outdated) = OutdatedUsers::between(&self.access().users, &users.into()) else {
            return Ok(None);
        };
        // Not under the lock: passwords take their time, and logins would wait for it on an io loop.
        let access = Arc::new(Access::new(outdated.after())?);
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access;
        Ok(Some(outdated))
    }

    /// Does what would keep the io loop from its other connections: on stage `fragment`.
    pub(super) async fn elsewhere<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let done = self.fragment.spawn(name, async move { work() }).map_err(SqlError::from)?;
        Ok(done.await.map_err(SqlError::from)?)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Arc<Cancellable>>> {
        self.cancellable.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Cancels what the session of that number runs, if the key is right. Nobody is told: who knows the key sees it at the session.
    pub(super) fn cancel(&self, process: i32, key: &[u8]) {
        self.counters.cancels.add();
        let session = self.lock().get(&process).cloned();
        if let Some(session) = session
            && bool::from(session.key.as_slice().ct_eq(key))
        {
            session.cancel();
        }
    }
}

impl Cancellable {
    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Not under the lock: the session is told at once, and must not wait for whoever told it.
    fn cancel(&self) {
        let running = {
            let mut exchange = self.lock();
            exchange.is_asked = exchange.is_busy && exchange.running.is_none();
            exchange.running.clone()
        };
        if let Some(running) = running {
            // Refused when the stages shut down only, which ends queries as well.
            let _ = running.cancel().map(filbert_pool::Called::detach);
        }
    }
}

impl Place {
    /// A number that no other session has, and a key that nobody guesses.
    pub(super) fn take(host: &Arc<Host>) -> Result<Self, Refused> {
        let access = host.access();
        let mut key = [0; KEY_BYTES];
        access.passwords.fill(&mut key)?;
        let session = Arc::new(Cancellable { key, exchange: Mutex::default() });
        let mut all = host.lock();
        let process = loop {
            let mut number = [0; 4];
            access.passwords.fill(&mut number)?;
            let number = i32::from_be_bytes(number) & i32::MAX;
            if number != 0 && !all.contains_key(&number) {
                break number;
            }
        };
        all.insert(process, Arc::clone(&session));
        drop(all);
        Ok(Self { host: Arc::clone(host), process, session })
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.session.key
    }

    /// From now on a cancel request ends that query; `None`: there is nothing to end.
    pub(super) fn runs(&self, query: Option<QueryCanceller>) {
        let is_asked = {
            let mut exchange = self.session.lock();
            exchange.running = query;
            exchange.running.is_some() && std::mem::take(&mut exchange.is_asked)
        };
        if is_asked {
            self.session.cancel();
        }
    }

    /// A request has come: until [`Place::rests`], a cancel is meant for what it asks for, though it may not run yet.
    pub(super) fn works(&self) {
        self.session.lock().is_busy = true;
    }

    /// The client is told that it may ask again; a cancel that comes later means nothing.
    pub(super) fn rests(&self) {
        *self.session.lock() = Exchange::default();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.lock().remove(&self.process);
    }
}
