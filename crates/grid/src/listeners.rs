//! Listeners of one structure, called on the `event` stage.
//!
//! Each structure is a topic of its own there: its events are heard in the order in which they arose, and one whose listeners are slow
//! holds up nobody else. When there is no room, whoever publishes is slowed for the offer time-out at most; then the event is dropped
//! and counted for this structure.

use crate::operation::{Target, Turn};
use filbert_pool::{EventStage, Offer, SubmitError, Topic, caught};
use std::sync::{Arc, RwLock};
use uuid::Uuid;

type Listener<E> = Arc<dyn Fn(&E) + Send + Sync>;
/// Replaced as a whole when it changes, so that an event under way keeps those it was meant for.
type Entries<E> = Arc<[(Uuid, Listener<E>)]>;

/// The listeners of one structure.
pub struct Listeners<E: Send + 'static> {
    topic: Topic,
    entries: RwLock<Entries<E>>,
}

impl<E: Send + 'static> Listeners<E> {
    /// None yet; `source` names the structure where drops are reported: `map/orders`.
    pub fn new(stage: &EventStage, source: &str) -> Self {
        Self { topic: stage.topic(source), entries: RwLock::new(Arc::new([])) }
    }

    /// Adds a listener under `id`.
    pub fn add(&self, id: Uuid, listener: impl Fn(&E) + Send + Sync + 'static) {
        let mut entries = self.entries.write().unwrap_or_else(|broken| broken.into_inner());
        let added: (Uuid, Listener<E>) = (id, Arc::new(listener));
        *entries = entries.iter().cloned().chain([added]).collect();
    }

    /// Removes a listener; false when there was none. An event that is under way may still reach it.
    pub fn remove(&self, id: Uuid) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(|broken| broken.into_inner());
        let before = entries.len();
        *entries = entries.iter().filter(|(known, _)| *known != id).cloned().collect();
        entries.len() < before
    }

    /// True when nobody listens: then an event need not be made.
    pub fn is_empty(&self) -> bool {
        self.entries.read().unwrap_or_else(|broken| broken.into_inner()).is_empty()
    }

    /// Gives `event` to all who listen now; from inside an operation, whose answer waits for room.
    pub fn publish<T: Target>(&self, turn: &mut Turn<'_, T>, event: impl FnOnce() -> E) {
        // Refused only when the member ends: then nobody hears anything any more.
        if let Ok(offer) = self.offer(event) {
            turn.offered(offer);
        }
    }

    /// Gives `event` to all who listen now.
    pub fn offer(&self, event: impl FnOnce() -> E) -> Result<Offer, SubmitError> {
        let listeners = Arc::clone(&self.entries.read().unwrap_or_else(|broken| broken.into_inner()));
        if listeners.is_empty() {
            return Ok(Offer::Accepted);
        }
        let event = event();
        self.topic.offer("grid.event", move || {
            for (_, listener) in &*listeners {
                // One listener's panic is no reason for the others to miss the event.
                if let Err(message) = caught(|| listener(&event)) {
                    tracing::warn!(message, "a listener panicked");
                }
            }
        })
    }
}

impl<E: Send + 'static> std::fmt::Debug for Listeners<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listeners").field("topic", &self.topic.name()).finish_non_exhaustive()
    }
}
