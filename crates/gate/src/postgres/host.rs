//! What all sessions of a door share: the engine, who may come in, and who can be cancelled.

use super::counters::Counters;
use super::failure::Failure;
use super::scram::{Passwords, Refused};
use super::settings::PostgresSettings;
use crate::hazelcast::Rights;
use filbert_pool::{Stages, WorkStealing};
use filbert_sql::{QueryCanceller, Sql, SqlError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use subtle::ConstantTimeEq;

/// Bytes of the key that cancels; the protocol has room for four.
const KEY_BYTES: usize = 4;

/// The member as its PostgreSQL clients see it.
pub(super) struct Host {
    pub(super) sql: Sql,
    /// Where long texts and large values are taken apart.
    fragment: WorkStealing,
    pub(super) settings: PostgresSettings,
    pub(super) passwords: Passwords,
    pub(super) counters: Counters,
    cancellable: Mutex<HashMap<i32, Arc<Cancellable>>>,
}

/// A session as a cancel request finds it.
pub(super) struct Cancellable {
    key: [u8; KEY_BYTES],
    running: Mutex<Option<QueryCanceller>>,
}

/// The place of a session among those that can be cancelled; given back when it is dropped.
pub(super) struct Place {
    host: Arc<Host>,
    pub(super) process: i32,
    session: Arc<Cancellable>,
}

impl Host {
    pub(super) fn new(stages: &Stages, sql: Sql, settings: PostgresSettings) -> Result<Self, Refused> {
        let passwords = Passwords::new(&settings.users)?;
        let fragment = stages.fragment().clone();
        Ok(Self {
            sql,
            fragment,
            settings,
            passwords,
            counters: Counters::default(),
            cancellable: Mutex::default(),
        })
    }

    /// What a user who has logged in may do.
    pub(super) fn rights(&self, user: &str) -> Rights {
        if self.settings.users.is_empty() {
            return Rights::everything();
        }
        let known = self.settings.users.iter().find(|known| known.name == user);
        known.map(|known| known.may.clone()).unwrap_or_default()
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
            && let Some(running) = &*session.running()
        {
            // Refused when the stages shut down only, which ends queries as well.
            let _ = running.cancel().map(filbert_pool::Called::detach);
        }
    }
}

impl Cancellable {
    fn running(&self) -> MutexGuard<'_, Option<QueryCanceller>> {
        self.running.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Place {
    /// A number that no other session has, and a key that nobody guesses.
    pub(super) fn take(host: &Arc<Host>) -> Result<Self, Refused> {
        let mut key = [0; KEY_BYTES];
        host.passwords.fill(&mut key)?;
        let session = Arc::new(Cancellable { key, running: Mutex::default() });
        let mut all = host.lock();
        let process = loop {
            let mut number = [0; 4];
            host.passwords.fill(&mut number)?;
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
        *self.session.running() = query;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.lock().remove(&self.process);
    }
}
