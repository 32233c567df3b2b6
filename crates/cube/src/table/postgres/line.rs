//! A connection of the blocking driver, and the reins by which what it does is stopped from elsewhere.
//!
//! The driver has a small runtime of its own in every connection, which may neither run nor end on a thread that runs futures. Everything
//! that waits for the server is therefore done on threads of `mixed` that may wait; what has to be closed elsewhere is closed in place,
//! which tokio allows on the threads of `mixed`.

use super::tls::Tls;
use super::url::Place;
use crate::error::CubeError;
use filbert_pool::WeakStages;
use postgres::{CancelToken, Client};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::runtime::{Handle, RuntimeFlavor};

/// A connection, closed when it is dropped, wherever that is.
pub(super) struct Line(Option<Client>);

impl Line {
    /// Connects. Waits.
    pub(super) fn open(place: &Place) -> Result<Self, postgres::Error> {
        place.config.connect(place.tls.clone()).map(|client| Self(Some(client)))
    }
}

impl Deref for Line {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.0.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl DerefMut for Line {
    fn deref_mut(&mut self) -> &mut Client {
        self.0.as_mut().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            in_place(client, drop);
        }
    }
}

/// Does something that waits, on a thread that may run futures.
fn in_place<T>(with: T, work: impl FnOnce(T)) {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Err(_) => work(with),
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| work(with)),
        Ok(_) => {
            // A runtime of somebody else's, on whose only thread nothing may wait. The server sees it when the program ends.
            tracing::warn!("a connection to PostgreSQL could not be closed on this thread");
            std::mem::forget(with);
        }
    }
}

/// Stops what a connection does.
pub(super) struct Reins {
    state: Mutex<State>,
    tls: Tls,
    stages: WeakStages,
}

#[derive(Default)]
struct State {
    token: Option<CancelToken>,
    /// The server computes.
    is_busy: bool,
    /// Nobody wants the answer any more.
    is_over: bool,
}

impl Reins {
    pub(super) fn new(tls: Tls, stages: WeakStages) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), tls, stages })
    }

    /// From here on the connection can be stopped.
    pub(super) fn hold(&self, line: &Line) {
        self.state().token = Some(line.cancel_token());
    }

    /// Lets the server compute, unless nobody wants it.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, CubeError> {
        let is_over = {
            let mut state = self.state();
            state.is_busy = true;
            state.is_over
        };
        let done = if is_over { Err(CubeError::Cancelled) } else { Ok(work()) };
        self.state().is_busy = false;
        done
    }

    /// Tells the server to stop, if it computes. Does not wait where that can be helped.
    pub(super) fn pull(self: &Arc<Self>) {
        let token = {
            let mut state = self.state();
            state.is_over = true;
            state.token.clone().filter(|_| state.is_busy)
        };
        let Some(token) = token else { return };
        let cancel = |(token, tls): (CancelToken, Tls)| {
            if let Err(error) = token.cancel_query(tls) {
                tracing::warn!(%error, "a query of PostgreSQL could not be cancelled");
            }
        };
        let with = (token, self.tls.clone());
        let again = with.clone();
        let submitted = match self.stages.upgrade() {
            Some(stages) => stages.mixed().submit("cancel query of PostgreSQL", move || cancel(with)).ok(),
            None => None,
        };
        match submitted {
            Some(submitted) => submitted.detach(),
            None => in_place(again, cancel),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Pulls the reins when it is dropped.
pub(super) struct PullOnDrop(pub(super) Arc<Reins>);

impl Drop for PullOnDrop {
    fn drop(&mut self) {
        self.0.pull();
    }
}
