//! What a door counts, beside what its connections count: read by whoever asks, written by all sessions.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares the counts of a door: `DoorCounts` for whoever reads, `Counters` for the sessions.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the door has seen so far.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct DoorCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: $crate::counters::Counter,)*
        }

        impl Counters {
            pub(super) fn read(&self) -> DoorCounts {
                DoorCounts { $($name: self.$name.read(),)* }
            }
        }
    };
}
pub(crate) use counters;

/// One count: a number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
