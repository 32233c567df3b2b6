//! What several topics are counted under: those of the listeners of one structure.

use super::topic::Topic;
use super::{EventStage, TopicSnapshot};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Topics that are reported together: each listener of a structure has one, so that one which is slow holds up nobody else, and the
/// reports name the structure. A handle that is cheap to clone.
#[derive(Clone)]
pub struct EventSource {
    stage: EventStage,
    core: Arc<SourceCore>,
}

/// What is known of a source beside its topics.
#[derive(Debug)]
pub(super) struct SourceCore {
    name: Arc<str>,
    /// Events of topics that are gone.
    delivered: AtomicU64,
    dropped: AtomicU64,
}

impl EventSource {
    pub(super) fn new(stage: &EventStage, name: &str) -> Self {
        let core =
            SourceCore { name: Arc::from(name), delivered: AtomicU64::new(0), dropped: AtomicU64::new(0) };
        Self { stage: stage.clone(), core: Arc::new(core) }
    }

    pub(super) fn core(&self) -> &Arc<SourceCore> {
        &self.core
    }

    /// A new topic, for one listener; it is gone when the handle and its last event are. Its events stay counted.
    pub fn topic(&self) -> Topic {
        self.stage.topic_of(&self.core)
    }

    /// What its topics say of themselves, together.
    pub fn snapshot(&self) -> TopicSnapshot {
        self.stage.snapshot_of(&self.core)
    }
}

impl SourceCore {
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// A topic is gone, which has had so many events.
    pub(super) fn count(&self, delivered: u64, dropped: u64) {
        self.delivered.fetch_add(delivered, Ordering::Relaxed);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    /// What it counted of topics that are gone.
    pub(super) fn snapshot(&self) -> TopicSnapshot {
        TopicSnapshot {
            name: self.name.to_string(),
            queued: 0,
            delivered: self.delivered.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }
}

impl std::fmt::Debug for EventSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EventSource").field(&self.core.name).finish()
    }
}
