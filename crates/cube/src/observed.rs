//! What is seen of a step while it runs: for explanations, which tell what was and not what was meant to be.
//!
//! Whoever computes a part of a step notes its own stage; whoever spreads slices anew says so. When the step is done, both are taken.
//! Threads: any.

use filbert_pool::{StageKind, current};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// All stages, each of which has a bit of its own.
const KINDS: [StageKind; 13] = [
    StageKind::Application,
    StageKind::Dedicated,
    StageKind::Executor,
    StageKind::Maintenance,
    StageKind::Mixed,
    StageKind::Event,
    StageKind::Generic,
    StageKind::Io,
    StageKind::Partition,
    StageKind::Query,
    StageKind::Fragment,
    StageKind::Flow,
    StageKind::Cpu,
];

/// What was seen since it was last taken; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stages: AtomicU32,
    is_spread_anew: AtomicBool,
}

impl Observed {
    /// Notes the stage of the calling thread.
    pub(crate) fn note_stage(&self) {
        self.note(current().kind);
    }

    /// Notes a stage that worked elsewhere.
    pub(crate) fn note(&self, stage: StageKind) {
        let bit = KINDS.iter().position(|kind| *kind == stage).unwrap_or(0);
        // Most see what was noted before, and write nothing.
        if self.shared.stages.load(Ordering::Relaxed) & 1 << bit == 0 {
            self.shared.stages.fetch_or(1 << bit, Ordering::Relaxed);
        }
    }

    /// Notes that slices went from one partition to others.
    pub(crate) fn note_spread_anew(&self) {
        self.shared.is_spread_anew.store(true, Ordering::Relaxed);
    }

    /// Adds the stages that another one saw.
    pub(crate) fn add(&self, other: &Self) {
        self.shared.stages.fetch_or(other.shared.stages.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The stages, as an explanation names them, and whether slices were spread anew.
    pub(crate) fn take(&self) -> (String, bool) {
        let bits = self.shared.stages.swap(0, Ordering::Relaxed);
        let seen = KINDS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let names: Vec<String> = seen.map(|(_, kind)| kind.to_string()).collect();
        (names.join(", "), self.shared.is_spread_anew.swap(false, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_taken_once() {
        let observed = Observed::default();
        observed.note_stage();
        observed.note(StageKind::Cpu);
        observed.clone().note_spread_anew();
        assert_eq!(observed.take(), ("application, cpu".to_owned(), true));
        assert_eq!(observed.take(), (String::new(), false));
    }
}
