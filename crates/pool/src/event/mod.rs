//! The `event` stage: topics on strands, a shared capacity with a reserve for each topic, and drops that are counted.
//!
//! Each topic has a strand of its own: its events are delivered in order, a slow listener holds up its own topic only (the
//! others are taken over), and a flood on one topic cannot take the room of another: up to its *reserve* a topic always finds
//! room; beyond that, topics share the rest.
//!
//! An offer that finds no room waits its turn, up to the offer time-out, then it is dropped and counted. At most 1,000 offers of a
//! topic wait, or as many as its reserve if that is more; one beyond is dropped at once. A level A thread waits inside [`Topic::offer`]. A thread of level B or C never waits: it gets [`Offer::Pending`], on which the
//! response of the invocation can be held back.
//!
//! ```text
//!  offer -> room? -> topic's strand -> listener
//!             \-> waiting offers of the topic (FIFO) -> room came: accepted
//!             |                                      -> time-out: dropped, counted
//!             \-> too many wait: dropped, counted
//! ```
//!
//! All accounts are behind one lock, held for the length of a post; the events themselves run outside it. Rejected: an
//! atomic count per topic and one for the stage. "Within its reserve or in the shared rest" is one decision over both.

mod accounts;
mod source;
mod topic;

#[cfg(test)]
mod tests;

pub use source::EventSource;
pub use topic::{Offer, Offered, Topic};

use self::accounts::Accounts;
use self::source::SourceCore;
use self::topic::{TopicCore, Waiting};
use crate::context::StageId;
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::rules::StageKind;
use crate::striped::{Striped, StripedSettings};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// The fewest offers of one topic that may wait for room at a time; a larger reserve allows as many. One more is dropped at once, and
/// not after the time-out: what waits takes memory, and who publishes a million events in one operation would fill it with them.
const WAITING_AT_LEAST: usize = 1_000;

/// How the event stage is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSettings {
    /// Its threads.
    pub threads: usize,
    /// How many events may wait, over all topics.
    pub capacity: usize,
    /// How many of these places are kept for each topic; all topics together never get more than half of the capacity.
    pub reserved_per_topic: usize,
    /// How long an offer waits for room.
    pub offer_timeout: Duration,
    /// How long a listener may keep its thread before others take the topics that wait behind it; `None` switches it off.
    pub takeover: Option<Duration>,
    /// A listener that takes longer is reported; `None` reports none.
    pub slow_limit: Option<Duration>,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            threads: 5,
            capacity: 1_000_000,
            reserved_per_topic: 1_000,
            offer_timeout: Duration::from_millis(250),
            takeover: Some(Duration::from_millis(2)),
            slow_limit: Some(Duration::from_millis(100)),
        }
    }
}

/// What a topic says of itself at one moment.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TopicSnapshot {
    /// Its name.
    pub name: String,
    /// Events accepted and not yet begun.
    pub queued: usize,
    /// Events given to the listener, also when it panicked.
    pub delivered: u64,
    /// Events that found no room in time, or were cancelled by the stage's end.
    pub dropped: u64,
}

/// The `event` stage: [topics](Topic), each in order, in a common room. A handle that is cheap to clone.
///
/// A slow listener holds up its own topic only. All topics share one capacity, but a flood on one cannot take the room of
/// another: up to its *reserve* (`event.reserved_per_topic`) a topic always finds room. Beyond that an event waits for room up
/// to `event.offer_timeout_ms`; then it is dropped, and counted per topic.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let prices = stages.event().topic("prices");
/// prices.submit("price", || println!("42"))?.wait()?;
/// assert_eq!(stages.event().topics()[0].delivered, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EventStage {
    shared: Arc<Shared>,
}

struct Shared {
    env: Arc<Env>,
    striped: Striped,
    engine: Arc<dyn Engine>,
    settings: EventSettings,
    state: Mutex<State>,
}

struct State {
    accounts: Accounts,
    ledgers: HashMap<usize, Ledger>,
    by_name: HashMap<Arc<str>, (usize, Weak<TopicCore>)>,
    /// What several topics are reported under.
    sources: Vec<Weak<SourceCore>>,
    /// Topics with waiting offers; the first is the next to get shared room.
    rotation: VecDeque<usize>,
    closed: bool,
}

/// What is known of one topic.
struct Ledger {
    name: Arc<str>,
    delivered: u64,
    dropped: u64,
    waiting: VecDeque<Waiting>,
    timer_armed: bool,
    /// What it is reported with.
    source: Option<Arc<SourceCore>>,
}

impl TopicSnapshot {
    fn add(&mut self, other: &Self) {
        self.queued += other.queued;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
    }
}

impl Ledger {
    fn snapshot(&self, queued: usize) -> TopicSnapshot {
        TopicSnapshot {
            name: self.name.to_string(),
            queued,
            delivered: self.delivered,
            dropped: self.dropped,
        }
    }
}

impl EventStage {
    /// Starts the stage: its threads, or its place in the simulation.
    pub(crate) fn start(env: &Arc<Env>, settings: EventSettings) -> Self {
        let id = StageId::of(StageKind::Event);
        let striped_settings = StripedSettings {
            threads: settings.threads,
            mailbox_capacity: settings.capacity,
            strands: 1,
            takeover: settings.takeover,
            overload: None,
            slow_limit: settings.slow_limit,
        };
        let striped = Striped::start(env, id, striped_settings);
        let state = State {
            accounts: Accounts::new(settings.capacity, settings.reserved_per_topic),
            ledgers: HashMap::new(),
            by_name: HashMap::new(),
            sources: Vec::new(),
            rotation: VecDeque::new(),
            closed: false,
        };
        let engine = striped.engine();
        let env = Arc::clone(env);
        Self { shared: Arc::new(Shared { env, striped, engine, settings, state: Mutex::new(state) }) }
    }

    /// What the snapshots and the shutdown see of it.
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.shared.clone()
    }

    /// The topic of that name; all who ask for it share it, and it is gone when the last of them and its last event are.
    pub fn topic(&self, name: &str) -> Topic {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        if let Some(core) = state.by_name.get(name).and_then(|(_, topic)| topic.upgrade()) {
            return Topic::new(core);
        }
        let (id, core) = self.open(state, name);
        state.by_name.insert(Arc::clone(core.name()), (id, Arc::downgrade(&core)));
        Topic::new(core)
    }

    /// A source of events with several topics, which are reported together under its name; nobody else shares them.
    pub fn source(&self, name: &str) -> EventSource {
        let source = EventSource::new(self, name);
        let mut state = self.shared.lock();
        // Now and then, so that sources which come and go leave nothing behind.
        if state.sources.len().is_power_of_two() {
            state.sources.retain(|source| source.strong_count() > 0);
        }
        state.sources.push(Arc::downgrade(source.core()));
        drop(state);
        source
    }

    fn topic_of(&self, source: &Arc<SourceCore>) -> Topic {
        let mut guard = self.shared.lock();
        let (id, core) = self.open(&mut guard, source.name());
        if let Some(ledger) = guard.ledgers.get_mut(&id) {
            ledger.source = Some(Arc::clone(source));
        }
        drop(guard);
        Topic::new(core)
    }

    fn snapshot_of(&self, source: &Arc<SourceCore>) -> TopicSnapshot {
        let state = self.shared.lock();
        let mut all = source.snapshot();
        for (id, ledger) in &state.ledgers {
            if ledger.source.as_ref().is_some_and(|known| Arc::ptr_eq(known, source)) {
                all.add(&ledger.snapshot(state.accounts.queued(*id)));
            }
        }
        all
    }

    fn open(&self, state: &mut State, name: &str) -> (usize, Arc<TopicCore>) {
        let id = state.accounts.open();
        let name: Arc<str> = Arc::from(name);
        let strand = self.shared.striped.strand_unbounded(id as u64, &name, ());
        let core = Arc::new(TopicCore::new(Arc::clone(&self.shared), id, Arc::clone(&name), strand));
        let ledger = Ledger {
            name,
            delivered: 0,
            dropped: 0,
            waiting: VecDeque::new(),
            timer_armed: false,
            source: None,
        };
        state.ledgers.insert(id, ledger);
        (id, core)
    }

    /// What each topic and each [source](EventStage::source) says of itself, by name; those of one name together.
    pub fn topics(&self) -> Vec<TopicSnapshot> {
        let state = self.shared.lock();
        let topics = state.ledgers.iter().map(|(id, ledger)| ledger.snapshot(state.accounts.queued(*id)));
        let sources = state.sources.iter().filter_map(Weak::upgrade).map(|source| source.snapshot());
        let mut topics: Vec<_> = topics.chain(sources).collect();
        drop(state);
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        topics.dedup_by(|next, all| {
            let same = next.name == all.name;
            if same {
                all.add(next);
            }
            same
        });
        topics
    }

    /// What the stage says of itself.
    pub fn snapshot(&self) -> StageSnapshot {
        Engine::snapshot(&*self.shared)
    }
}

impl std::fmt::Debug for EventStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStage").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn id(&self) -> StageId {
        self.engine.metrics().id
    }

    /// How many offers of one topic may wait for room.
    fn waiting_limit(&self) -> usize {
        self.settings.reserved_per_topic.max(WAITING_AT_LEAST)
    }

    /// Counts and resolves offers that got no room; outside the lock, for what they own may be anything.
    fn drop_offers(&self, offers: Vec<Waiting>) {
        if !offers.is_empty() {
            self.engine.metrics().count_dropped(offers.len() as u64);
        }
        for offer in offers {
            offer.resolve(Offered::Dropped);
        }
    }
}

impl Engine for Shared {
    fn metrics(&self) -> &StageMetrics {
        self.engine.metrics()
    }

    fn has_work(&self, worker: usize) -> bool {
        self.engine.has_work(worker)
    }

    fn step(&self, worker: usize) -> bool {
        self.engine.step(worker)
    }

    fn next_deadline(&self) -> Option<u64> {
        self.engine.next_deadline()
    }

    fn snapshot(&self) -> StageSnapshot {
        let mut snapshot = self.engine.snapshot();
        snapshot.capacity = Some(self.settings.capacity);
        snapshot
    }

    fn close(&self, ending: Ending) {
        let waiting: Vec<Waiting> = {
            let mut state = self.lock();
            // Before the strands are closed: an offer that sees the stage open can post.
            state.closed = true;
            state.rotation.clear();
            let ledgers = state.ledgers.values_mut();
            ledgers
                .flat_map(|ledger| {
                    ledger.dropped += ledger.waiting.len() as u64;
                    std::mem::take(&mut ledger.waiting)
                })
                .collect()
        };
        self.drop_offers(waiting);
        self.engine.close(ending);
    }

    fn is_drained(&self) -> bool {
        self.engine.is_drained()
    }
}
