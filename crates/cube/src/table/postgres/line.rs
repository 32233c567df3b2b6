//! A connection of the blocking driver, and the reins by which what it does is stopped from elsewhere.
//!
//! The driver has a small runtime of its own in every connection, which may neither run nor end on a thread that runs futures. Everything
//! that waits for the server is therefore done on threads of `mixed` that may wait; what has to be closed elsewhere is closed in place,
//! which tokio allows on the threads of `mixed`, or there.
//!
//! The server is told to stop by a message of its own, which it forgets if it comes between two statements: it is told again until it has
//! stopped, and in the end the stream is cut. While it connects there is nothing to be told: the stream is cut at once.

use super::rope::Rope;
use super::url::Place;
use crate::error::CubeError;
use filbert_pool::{Stages, WeakStages};
use postgres::{CancelToken, Client};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};

/// How long a server has to stop before it is told again.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is told before the stream is cut.
const MOST_CANCELS: usize = 30;

/// A connection, closed when it is dropped, wherever that is.
pub(super) struct Line {
    client: Option<Client>,
    stages: WeakStages,
}

impl Deref for Line {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl DerefMut for Line {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            in_place(client, &self.stages, drop);
        }
    }
}

/// Does something that waits, on a thread that may run futures.
fn in_place<T: Send + 'static>(with: T, stages: &WeakStages, work: fn(T)) {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Err(_) => work(with),
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| work(with)),
        // A runtime of somebody else's, on whose only thread nothing may wait.
        Ok(_) => elsewhere(with, stages, work),
    }
}

/// Does something that waits on a thread of `mixed`.
fn elsewhere<T: Send + 'static>(with: T, stages: &WeakStages, work: fn(T)) {
    // It is taken out by whoever does the work: a refused closure must not drop it here.
    let kept = Arc::new(Mutex::new(Some(with)));
    let taken = Arc::clone(&kept);
    let closure = move || {
        let with = taken.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        if let Some(with) = with {
            work(with);
        }
    };
    let submitted =
        stages.upgrade().and_then(|stages: Stages| stages.mixed().submit("close PostgreSQL", closure).ok());
    match submitted {
        Some(submitted) => submitted.detach(),
        None => {
            // The server sees it when the program ends.
            tracing::warn!("a connection to PostgreSQL could not be closed on this thread");
            std::mem::forget(kept);
        }
    }
}

/// Stops what a connection does.
pub(super) struct Reins {
    state: Mutex<State>,
    /// The server does not compute any more.
    idle: Condvar,
    place: Place,
    rope: Arc<Rope>,
    stages: WeakStages,
}

#[derive(Default)]
struct State {
    /// None while it connects.
    token: Option<CancelToken>,
    /// The server computes.
    is_busy: bool,
    /// Nobody wants the answer any more.
    is_over: bool,
}

impl Reins {
    pub(super) fn new(place: Place, stages: WeakStages) -> Arc<Self> {
        let (state, idle, rope) = (Mutex::default(), Condvar::new(), Arc::default());
        Arc::new(Self { state, idle, place, rope, stages })
    }

    /// Connects. Waits.
    pub(super) fn open(&self) -> Result<Result<Line, postgres::Error>, CubeError> {
        self.during(|| {
            let client = self.place.config.connect(self.place.knot(&self.rope))?;
            self.rope.fasten();
            self.state().token = Some(client.cancel_token());
            Ok(Line { client: Some(client), stages: self.stages.clone() })
        })
    }

    /// Lets the server compute, unless nobody wants it.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, CubeError> {
        {
            let mut state = self.state();
            if state.is_over {
                return Err(CubeError::Cancelled);
            }
            state.is_busy = true;
        }
        let done = work();
        self.state().is_busy = false;
        self.idle.notify_all();
        Ok(done)
    }

    /// Tells the server to stop, if it computes. Does not wait where that can be helped.
    pub(super) fn pull(self: &Arc<Self>) {
        let token = {
            let mut state = self.state();
            state.is_over = true;
            if !state.is_busy {
                return;
            }
            state.token.clone()
        };
        let Some(token) = token else { return self.rope.cut() };
        let with = (Arc::clone(self), token);
        let stop = |(reins, token): (Arc<Self>, CancelToken)| reins.stop(&token);
        let again = with.clone();
        let submitted = self
            .stages
            .upgrade()
            .and_then(|stages| stages.mixed().submit("cancel query of PostgreSQL", move || stop(with)).ok());
        match submitted {
            Some(submitted) => submitted.detach(),
            None => in_place(again, &self.stages, stop),
        }
    }

    /// Ends the connection in the middle of an answer that is of no use. Called while the server computes; waits.
    pub(super) fn give_up(&self) {
        let token = {
            let mut state = self.state();
            state.is_over = true;
            state.token.clone()
        };
        if let Some(token) = token {
            self.tell(&token);
        }
        self.rope.cut();
    }

    /// Tells the server until it has stopped.
    fn stop(&self, token: &CancelToken) {
        for _ in 0..MOST_CANCELS {
            if !self.tell(token) {
                break;
            }
            let waited = self.idle.wait_timeout_while(self.state(), PAUSE, |state| state.is_busy);
            let (state, _) = waited.unwrap_or_else(|broken| broken.into_inner());
            if !state.is_busy {
                return;
            }
        }
        self.rope.cut();
    }

    /// Tells the server once; false when it could not be reached.
    fn tell(&self, token: &CancelToken) -> bool {
        let told = token.cancel_query(self.place.knot(&Arc::default()));
        if let Err(error) = &told {
            tracing::warn!(%error, "a query of PostgreSQL could not be cancelled");
        }
        told.is_ok()
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
