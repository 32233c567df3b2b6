//! What the door counts, beside what the connections count: read by whoever asks, written by all sessions.

use std::sync::atomic::{AtomicU64, Ordering};

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
            $(pub(super) $name: Counter,)*
        }

        impl Counters {
            pub(super) fn read(&self) -> DoorCounts {
                DoorCounts { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Clients that logged in.
    logins,
    /// Logins that were refused.
    failed_logins,
    /// Messages of a type that is not served.
    unsupported,
    /// Messages that could not be decoded.
    malformed,
    /// Messages that the user had no right to.
    denied,
    /// Operations that were refused because too many of the connection wait already.
    overloaded,
}

/// One count.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
