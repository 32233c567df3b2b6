//! Listeners of one structure, called on the `event` stage.
//!
//! Each listener has a topic of its own there: it hears its events in the order in which they arose, and one that is slow holds up
//! nobody but itself. When there is no room for a listener, whoever publishes is slowed for the offer time-out at most; then the event
//! is dropped for this listener, and counted for it.
//!
//! Events of structures that hold keys and values count in the memory of the grid until the last listener has heard them. Where those
//! that wait take their part of it already, further ones are dropped at once, and counted: places alone bound nothing when a
//! value has a megabyte.
//!
//! Rejected: one topic for all listeners of a structure. A listener that is slow then delays the others, and drops their events.

use crate::memory::{MemoryAccount, TakenEvent};
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

/// The events that wait take all that they may.
struct NoRoom;

/// What an event takes for each of its listeners, roughly: its place on the stage, and the call.
const CALL_BYTES: usize = 256;

/// How the memory of events is counted.
struct Counting<E> {
    memory: Arc<MemoryAccount>,
    weigh: fn(&E) -> usize,
}

/// An event while it waits for its listeners.
struct Told<E> {
    event: E,
    /// None where whoever publishes counts it.
    _taken: Option<TakenEvent>,
}

/// The listeners of one structure.
pub struct Listeners<E: Send + Sync + 'static> {
    stage: EventStage,
    name: String,
    /// Made with the first listener: most structures never have one.
    source: OnceLock<EventSource>,
    entries: RwLock<Entries<E>>,
    counting: Option<Counting<E>>,
}

impl<E: Send + Sync + 'static> Listeners<E> {
    /// None yet; `name` is that of the structure where drops are reported: `map/orders`.
    pub fn new(stage: &EventStage, name: &str) -> Self {
        let entries = RwLock::new(Arc::new([]) as Entries<E>);
        let (stage, name) = (stage.clone(), name.to_owned());
        Self { stage, name, source: OnceLock::new(), entries, counting: None }
    }

    /// The same for events that count in `memory`, with so many bytes each as `weigh` says.
    pub(crate) fn counted(
        stage: &EventStage,
        name: &str,
        memory: &Arc<MemoryAccount>,
        weigh: fn(&E) -> usize,
    ) -> Self {
        let counting = Some(Counting { memory: Arc::clone(memory), weigh });
        Self { counting, ..Self::new(stage, name) }
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
        let event = event();
        let Ok(taken) = self.take(&entries, &event) else { return };
        let told = Arc::new(Told { event, _taken: taken });
        for entry in entries.iter().filter(|entry| (entry.wants)(&told.event)) {
            let (told, listener) = (Arc::clone(&told), Arc::clone(&entry.listener));
            offered(entry.topic.offer_without_waiting("grid.event", move || {
                if let Err(message) = caught(|| listener(&told.event)) {
                    tracing::warn!(message, "a listener panicked");
                }
            }));
        }
    }

    /// Counts the memory of an event; where there is no room for it, it counts as dropped for each listener that wants it.
    fn take(&self, entries: &Entries<E>, event: &E) -> Result<Option<TakenEvent>, NoRoom> {
        let Some(Counting { memory, weigh }) = &self.counting else { return Ok(None) };
        let wanting = || entries.iter().filter(|entry| (entry.wants)(event));
        let bytes = match wanting().count() {
            0 => return Ok(None),
            calls => weigh(event).saturating_add(calls * CALL_BYTES),
        };
        let taken = memory.take_event(bytes);
        if taken.is_none() {
            wanting().for_each(|entry| entry.topic.count_dropped());
        }
        taken.map(Some).ok_or(NoRoom)
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
