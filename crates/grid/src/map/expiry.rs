//! When an entry's time is over.
//!
//! Times are milliseconds of the member's clock. An entry has its own line here only when it can expire at all.

use crate::map::settings::MapSettings;
use filbert_store::Life;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

/// How long a written entry lives, as the caller says: milliseconds, 0 for ever, negative as the map's settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// From the write on.
    pub ttl_ms: i64,
    /// From the last use on.
    pub max_idle_ms: i64,
}

impl Lifetime {
    /// As the map's settings say.
    pub const DEFAULT: Lifetime = Lifetime { ttl_ms: -1, max_idle_ms: -1 };

    /// So many milliseconds from the write on.
    pub const fn ttl_ms(ttl_ms: i64) -> Self {
        Lifetime { ttl_ms, max_idle_ms: -1 }
    }
}

impl Default for Lifetime {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Never, in milliseconds.
const NEVER: u64 = u64::MAX;

/// The end of one entry's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// The sooner of both ends.
    due: NonZeroU64,
    ttl_end: u64,
    pub(crate) ttl_ms: u64,
    pub(crate) max_idle_ms: u64,
}

/// Milliseconds of the member's clock; zero never is.
pub(crate) fn millis(now: Duration) -> u64 {
    (now.as_millis() as u64).saturating_add(1)
}

impl Expiry {
    /// `None` when the entry lives for ever.
    pub(crate) fn new(lifetime: Lifetime, settings: &MapSettings, now: Duration) -> Option<Self> {
        let choose = |asked: i64, seconds: u64| match u64::try_from(asked) {
            Ok(0) => NEVER,
            Ok(ms) => ms,
            Err(_) if seconds == 0 => NEVER,
            Err(_) => seconds.saturating_mul(1_000),
        };
        let ttl_ms = choose(lifetime.ttl_ms, settings.ttl_seconds);
        let max_idle_ms = choose(lifetime.max_idle_ms, settings.max_idle_seconds);
        if ttl_ms == NEVER && max_idle_ms == NEVER {
            return None;
        }
        let ttl_end = millis(now).saturating_add(ttl_ms);
        let mut made = Self { due: NonZeroU64::MAX, ttl_end, ttl_ms, max_idle_ms };
        made.used(now);
        Some(made)
    }

    /// How it is stored: in calendar time, which goes on while the member is down.
    pub(crate) fn life(&self, now: Duration, unix_ms: u64) -> Life {
        let left = self.ttl_end.saturating_sub(millis(now));
        let ends_unix_ms = if self.ttl_ms == NEVER { NEVER } else { unix_ms.saturating_add(left) };
        Life { ttl_ms: self.ttl_ms, max_idle_ms: self.max_idle_ms, ends_unix_ms }
    }

    /// As it was stored; idle from now on.
    pub(crate) fn restored(life: &Life, now: Duration, unix_ms: u64) -> Self {
        let left = life.ends_unix_ms.saturating_sub(unix_ms);
        let ttl_end = if life.ends_unix_ms == NEVER { NEVER } else { millis(now).saturating_add(left) };
        let (ttl_ms, max_idle_ms) = (life.ttl_ms, life.max_idle_ms);
        let mut made = Self { due: NonZeroU64::MAX, ttl_end, ttl_ms, max_idle_ms };
        made.used(now);
        made
    }

    /// The entry was used.
    pub(crate) fn used(&mut self, now: Duration) {
        let idle_end = millis(now).saturating_add(self.max_idle_ms);
        self.due = NonZeroU64::new(self.ttl_end.min(idle_end)).unwrap_or(NonZeroU64::MIN);
    }

    pub(crate) fn is_over(&self, now: Duration) -> bool {
        self.due.get() <= millis(now)
    }

    /// When it ends, in milliseconds of the member's clock.
    pub(crate) fn due_ms(&self) -> u64 {
        self.due.get()
    }
}
