//! Which leaves are read anew, and which rest because that failed.
//!
//! A table that does not answer would be asked again by every query that finds old leaves. So a leaf whose refresh failed rests: a second,
//! then twice as long after each failure that follows, but never longer than it lives. Leaves of one refresh rest together, and hold
//! up any other one that has some of them.
//!
//! It stays small: what ran to its end is gone, what rests is forgotten when it is new again or would have expired. Threads: whoever holds
//! the lock around it.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// How long leaves rest after the first failure.
const FIRST_REST: Duration = Duration::from_secs(1);

/// What is known of leaves that a refresh has, or had without success; all times by the clock of the stages.
#[derive(Debug)]
pub(crate) struct Renewals<K> {
    known: HashMap<K, Known>,
}

#[derive(Debug, Clone, Copy)]
enum Known {
    /// A refresh has it. With how the last one failed, for the case that nobody tries.
    Runs(Option<Failed>),
    Failed(Failed),
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    /// Nobody begins another one before.
    rests_until: Duration,
    /// How long that is, or was.
    rest: Duration,
    /// When the leaf is of no use any more.
    expires: Duration,
}

impl<K> Default for Renewals<K> {
    fn default() -> Self {
        Self { known: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Renewals<K> {
    /// Begins to read leaves anew: how long they rest if that fails. Nothing when one of them runs or rests.
    pub(crate) fn begin(&mut self, leaves: &[K], now: Duration) -> Option<Duration> {
        let known = || leaves.iter().filter_map(|leaf| self.known.get(leaf));
        if known().any(|known| known.is_in_the_way(now)) {
            return None;
        }
        let rest = known().filter_map(Known::next_rest).max().unwrap_or(FIRST_REST);
        self.known.retain(|_, known| !known.has_expired(now));
        for leaf in leaves {
            let before = self.known.get(leaf).and_then(Known::failed);
            self.known.insert(leaf.clone(), Known::Runs(before));
        }
        Some(rest)
    }

    /// They were read.
    pub(crate) fn end(&mut self, leaves: &[K]) {
        leaves.iter().for_each(|leaf| _ = self.known.remove(leaf));
    }

    /// Nobody tried to read them: all is as it was before.
    pub(crate) fn give_back(&mut self, leaves: &[K]) {
        for leaf in leaves {
            if let Some(failed) = self.known.remove(leaf).as_ref().and_then(Known::failed) {
                self.known.insert(leaf.clone(), Known::Failed(failed));
            }
        }
    }

    /// They could not be read, and rest for so long or until they expire.
    pub(crate) fn fail(&mut self, leaves: &[K], now: Duration, rest: Duration, expires: Duration) {
        let rests_until = now.saturating_add(rest).min(expires);
        let failed = Known::Failed(Failed { rests_until, rest, expires });
        self.known.extend(leaves.iter().map(|leaf| (leaf.clone(), failed)));
    }

    /// A query read this leaf: what failed before says nothing of it any more. A refresh that runs goes on.
    pub(crate) fn is_new(&mut self, leaf: &K) {
        match self.known.get_mut(leaf) {
            Some(Known::Runs(before)) => *before = None,
            Some(Known::Failed(_)) => _ = self.known.remove(leaf),
            None => {}
        }
    }
}

impl Known {
    fn is_in_the_way(&self, now: Duration) -> bool {
        match self {
            Self::Runs(_) => true,
            Self::Failed(failed) => now < failed.rests_until,
        }
    }

    /// How the last refresh failed, if it did.
    fn failed(&self) -> Option<Failed> {
        match self {
            Self::Runs(before) => *before,
            Self::Failed(failed) => Some(*failed),
        }
    }

    fn next_rest(&self) -> Option<Duration> {
        self.failed().map(|failed| failed.rest.saturating_mul(2))
    }

    fn has_expired(&self, now: Duration) -> bool {
        matches!(self, Self::Failed(failed) if now >= failed.expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPIRES: Duration = Duration::from_secs(60);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_failed_rests_twice_as_long_each_time_but_not_beyond_its_end() {
        let mut renewals = Renewals::default();
        let mut now = Duration::ZERO;
        for expected in [1, 2, 4, 8, 16, 29] {
            let rest = renewals.begin(&["a"], now).unwrap();
            assert_eq!(renewals.begin(&["a"], now), None, "it runs");
            renewals.fail(&["a"], now, rest, EXPIRES);
            let last = now + seconds(expected) - Duration::from_millis(1);
            assert_eq!(renewals.begin(&["a", "b"], last), None, "it rests");
            now += seconds(expected);
        }
        assert_eq!(now, EXPIRES);
        assert!(renewals.begin(&["a"], now).is_some());
    }

    #[test]
    fn what_was_read_rests_no_longer() {
        let mut renewals = Renewals::default();
        let now = seconds(5);
        for _ in 0..2 {
            let rest = renewals.begin(&["a", "b"], now).unwrap();
            assert_eq!(rest, FIRST_REST);
            renewals.fail(&["a", "b"], now, rest, EXPIRES);
            renewals.is_new(&"a");
            assert_eq!(renewals.begin(&["b"], now), None);
            assert_eq!(renewals.begin(&["a"], now), Some(FIRST_REST));
            renewals.is_new(&"a");
            assert_eq!(renewals.begin(&["a"], now), None, "it still runs");
            renewals.end(&["a", "b"]);
        }
    }

    #[test]
    fn who_does_not_try_shortens_no_rest() {
        let mut renewals = Renewals::default();
        let mut now = Duration::ZERO;
        for expected in [1, 2, 4] {
            // A query that has the right to a refresh, and ends before it.
            renewals.begin(&["a"], now).unwrap();
            renewals.give_back(&["a"]);
            let rest = renewals.begin(&["a"], now).unwrap();
            assert_eq!(rest, seconds(expected));
            renewals.fail(&["a"], now, rest, EXPIRES);
            now += rest;
        }
        assert_eq!(renewals.known.len(), 1);
        renewals.begin(&["b"], now).unwrap();
        renewals.give_back(&["b"]);
        assert_eq!(renewals.known.len(), 1, "nothing is known of what was never tried");
    }

    #[test]
    fn what_has_expired_is_forgotten() {
        let mut renewals = Renewals::default();
        for leaf in 0..1_000 {
            let now = seconds(leaf);
            let rest = renewals.begin(&[leaf], now).unwrap();
            renewals.fail(&[leaf], now, rest, now + seconds(10));
        }
        assert!(renewals.known.len() <= 10, "{}", renewals.known.len());
    }
}
