//! How many queries are open: neither read to the end, nor closed, nor refused.
//!
//! One that rests needs no permit and little memory that is not counted; but its plan and its place in tables are not counted, so there is a
//! bound on their number, in all and for one session, that a program which forgets its cursors meets before the others do.

use crate::error::SqlError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The open queries of one engine.
pub(crate) struct OpenQueries {
    limit: usize,
    session_limit: usize,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    by_session: BTreeMap<u64, usize>,
}

impl OpenQueries {
    pub(crate) fn new(limit: usize, session_limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, session_limit, counts: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().all
    }

    /// One more of the session, until the answer is dropped.
    pub(crate) fn open(self: &Arc<Self>, session: u64) -> Result<Opened, SqlError> {
        let mut counts = self.lock();
        let of_session = counts.by_session.get(&session).copied().unwrap_or(0);
        let (open, whose, setting) = if counts.all >= self.limit {
            (counts.all, "the member", "sql.open_queries")
        } else if of_session >= self.session_limit {
            (of_session, "the session", "sql.session_open_queries")
        } else {
            counts.all += 1;
            counts.by_session.insert(session, of_session + 1);
            return Ok(Opened { queries: Arc::clone(self), session });
        };
        Err(SqlError::TooManyOpen { open, whose, setting })
    }
}

/// A query that is not over.
pub(crate) struct Opened {
    queries: Arc<OpenQueries>,
    session: u64,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut counts = self.queries.lock();
        counts.all -= 1;
        if let Some(of_session) = counts.by_session.get_mut(&self.session) {
            *of_session -= 1;
            if *of_session == 0 {
                counts.by_session.remove(&self.session);
            }
        }
    }
}
