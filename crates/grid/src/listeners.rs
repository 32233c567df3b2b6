//! Listeners of one structure, called on the `event` stage.
//!
//! Each listener has a topic of its own there: it hears its events in the order in which they arose, and one that is slow holds up
//! nobody but itself. When there is no room for a listener, whoever publishes is slowed for the offer time-out at most; then the event
//! is dropped for this listener, and counted for it.
//!
//! Rejected: one topic for all listeners of a structure. A listener that is slow then delays the others, and drops their events.

use crate::operation::{Target, Turn};
use filbert_pool::{EventSource, EventStage, Offer, SubmitError, Topic, TopicSnapshot, caught};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use uuid::Uuid;

type Listener<E> = Arc<dyn Fn(&E) + Send + Sync>;
type Wants<E> = Box<dyn Fn(&E) -> bool + Send + Sync>;
/// Replaced as a whole when it changes, so that an event under way keeps those it was meant for.
type Entries<E> = Arc<[Arc<Entry<E>>]>;

struct Entry<E> {
    id: Uuid,
    /// Asked by whoever publishes: must be short.
    wants: Wants<E>,
    listener: Listener<E>,
    topic: Topic,
}

/// The listeners of one structure.
pub struct Listeners<E: Send + Sync + 'static> {
    stage: EventStage,
    name: String,
    /// Made with the first listener: most structures never have one.
    source: OnceLock<EventSource>,
    entries: RwLock<Entries<E>>,
}

impl<E: Send + Sync + 'static> Listeners<E> {
    /// None yet; `name` is that of the structure where drops are reported: `map/orders`.
    pub fn new(stage: &EventStage, name: &str) -> Self {
        let entries = RwLock::new(Arc::new([]) as Entries<E>);
        Self { stage: stage.clone(), name: name.to_owned(), source: OnceLock::new(), entries }
    }

    /// Adds a listener under `id`.
    pub fn add(&self, id: Uuid, listener: impl Fn(&E) + Send + Sync + 'static) {
        self.add_for(id, |_| true, listener);
    }

    /// Adds a listener under `id` that hears of what `wants` takes. That is asked on the thread that publishes, so it must be short.
    pub fn add_for(
        &self,
        id: Uuid,
        wants: impl Fn(&E) -> bool + Send + Sync + 'static,
        listener: impl Fn(&E) + Send + Sync + 'static,
    ) {
        let topic = self.source.get_or_init(|| self.stage.source(&self.name)).topic();
        let added = Entry { id, wants: Box::new(wants), listener: Arc::new(listener), topic };
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        *entries = entries.iter().cloned().chain([Arc::new(added)]).collect();
    }

    /// Removes a listener; false when there was none. An event that is under way may still reach it.
    pub fn remove(&self, id: Uuid) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let (removed, left): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(|entry| entry.id == id);
        *entries = left.into();
        // Before they are dropped: what that sets free is handed on, to whoever waits for room.
        drop(entries);
        !removed.is_empty()
    }

    /// True when nobody listens: then an event need not be made.
    pub fn is_empty(&self) -> bool {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Gives `event` to all who listen now; from inside an operation, whose answer waits for room.
    pub fn publish<T: Target>(&self, turn: &mut Turn<'_, T>, event: impl FnOnce() -> E) {
        self.tell(event, |offer| {
            // Refused only when the member ends: then nobody hears anything any more.
            if let Ok(offer) = offer {
                turn.offered(offer);
            }
        });
    }

    /// Gives `event` to all who listen now; for threads that run no operation. Nobody waits for room.
    pub fn offer(&self, event: impl FnOnce() -> E) {
        self.tell(event, |offer| {
            if let Ok(Offer::Pending(offered)) = offer {
                offered.detach();
            }
        });
    }

    fn tell(&self, event: impl FnOnce() -> E, mut offered: impl FnMut(Result<Offer, SubmitError>)) {
        let entries = Arc::clone(&self.entries.read().unwrap_or_else(PoisonError::into_inner));
        if entries.is_empty() {
            return;
        }
        let event = Arc::new(event());
        for entry in entries.iter().filter(|entry| (entry.wants)(&event)) {
            let (event, listener) = (Arc::clone(&event), Arc::clone(&entry.listener));
            offered(entry.topic.offer_without_waiting("grid.event", move || {
                if let Err(message) = caught(|| listener(&event)) {
                    tracing::warn!(message, "a listener panicked");
                }
            }));
        }
    }

    /// What became of the events so far, each counted once for each listener that was to hear it; nothing before the first listener.
    pub(crate) fn deliveries(&self) -> Option<TopicSnapshot> {
        self.source.get().map(EventSource::snapshot)
    }
}

impl<E: Send + Sync + 'static> std::fmt::Debug for Listeners<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listeners").field("name", &self.name).finish_non_exhaustive()
    }
}
