//! A connection of the blocking driver, and how what it does is stopped from elsewhere.
//!
//! The driver has a small runtime of its own in every connection, which may neither run nor end on a thread that runs futures. Everything
//! that waits for the server is therefore done on threads of `mixed` that may wait; what has to be closed elsewhere is closed in place,
//! which tokio allows on the threads of `mixed`, or there.
//!
//! The server is told to stop by a message of its own, which it forgets if it comes between two statements. While it connects there is
//! nothing to be told: the stream is cut at once.

use super::super::reins::{self, Puller};
use super::super::waiting::Waiting;
use super::rope::Rope;
use super::url::Place;
use crate::error::CubeError;
use filbert_pool::WeakStages;
use postgres::{CancelToken, Client};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

const CLOSING: Waiting = Waiting {
    task: "close PostgreSQL",
    // The server sees it when the program ends.
    lost: "a connection to PostgreSQL could not be closed on this thread",
};

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
            CLOSING.in_place(client, &self.stages, drop);
        }
    }
}

/// A server that computes for one query.
pub(super) struct Server {
    place: Place,
    rope: Arc<Rope>,
    /// None while it connects.
    token: OnceLock<CancelToken>,
}

/// Stops what a server does.
pub(super) type Reins = reins::Reins<Server>;

/// For a query that is not connected yet.
pub(super) fn new_reins(place: Place, stages: WeakStages) -> Arc<Reins> {
    Reins::of(Server { place, rope: Arc::default(), token: OnceLock::new() }, stages)
}

impl Puller for Server {
    const STOPPING: Waiting = Waiting {
        task: "cancel query of PostgreSQL",
        lost: "a query of PostgreSQL could not be cancelled on this thread",
    };

    fn can_hear(&self) -> bool {
        self.token.get().is_some()
    }

    fn tell(&self) -> bool {
        let Some(token) = self.token.get() else { return false };
        let told = token.cancel_query(self.place.knot(&Arc::default()));
        if let Err(error) = &told {
            tracing::warn!(%error, "a query of PostgreSQL could not be cancelled");
        }
        told.is_ok()
    }

    fn cut(&self) {
        self.rope.cut();
    }
}

impl Reins {
    /// Connects. Waits.
    pub(super) fn open(&self) -> Result<Result<Line, postgres::Error>, CubeError> {
        let Server { place, rope, token } = &self.puller;
        self.during(|| {
            let client = place.config.connect(place.knot(rope))?;
            rope.fasten();
            // It connects once.
            let _ = token.set(client.cancel_token());
            Ok(Line { client: Some(client), stages: self.stages.clone() })
        })
    }
}
