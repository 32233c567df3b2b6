//! The timers that are set for one target.
//!
//! A timer cannot be taken back. One whose moment is passed over, because an earlier one was needed meanwhile, still comes, and so need
//! not be set anew when the earlier one is over. Rejected: to remember the next one only. Then each short wait beside a long one sets
//! the timer of the long one again, and an hour of them leaves a timer each.

use std::collections::BTreeSet;
use std::time::Duration;

/// From so many timers on, those of one target are set for round moments.
const MANY: usize = 32;

/// Nobody waits for a shorter time than this long enough to be rounded: such timers are over soon.
const SOON: Duration = Duration::from_millis(10);

/// The moments for which timers are set.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    set: BTreeSet<Duration>,
}

impl Alarms {
    /// True when a timer must be set for `next`; false when one comes by then anyway.
    pub(crate) fn must_set(&mut self, next: Duration) -> bool {
        let comes_by_then = self.set.first().is_some_and(|first| *first <= next);
        !comes_by_then && self.set.insert(next)
    }

    /// As [`Self::must_set`], where anyone may ask for ever earlier moments and take each back: the moment to set a timer for, `next` or
    /// a little before it. When many are set already it is a round one, which shortens the time to the first timer by a 32nd at least:
    /// so there are some hundreds, and not as many as were asked for.
    pub(crate) fn set_about(&mut self, next: Duration, now: Duration) -> Option<Duration> {
        let moment = if self.set.len() < MANY { next } else { round(next, now) };
        self.must_set(moment).then_some(moment)
    }

    /// The timer that was set for `due` came.
    pub(crate) fn came(&mut self, due: Duration) {
        self.set.remove(&due);
    }
}

/// The last multiple of a power of two of nanoseconds that is not after `next`. The power is a 32nd to a 16th of the time until then, so
/// that two moments of one power are that far apart, and a multiple of it is one of each smaller power as well.
fn round(next: Duration, now: Duration) -> Duration {
    let pause = next.saturating_sub(now);
    if pause < SOON {
        return next;
    }
    let power = (pause.as_nanos() / 16).ilog2();
    let late = next.as_nanos() % (1 << power);
    next.saturating_sub(Duration::from_nanos(u64::try_from(late).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strands::FARTHEST;

    #[test]
    fn ever_earlier_moments_set_few_timers_and_none_too_late() {
        let (mut alarms, mut now) = (Alarms::default(), Duration::from_secs(77));
        let mut next = now + FARTHEST;
        while next > now {
            if let Some(moment) = alarms.set_about(next, now) {
                assert!(moment > now && moment <= next, "{moment:?} for {next:?} at {now:?}");
            }
            assert!(alarms.set.first().is_some_and(|first| *first <= next));
            next -= Duration::from_millis(7);
            now += Duration::from_nanos(300);
        }
        assert!(alarms.set.len() < 600, "{}", alarms.set.len());
    }

    #[test]
    fn few_timers_are_set_for_their_moments() {
        let (mut alarms, second) = (Alarms::default(), Duration::from_secs(1));
        assert_eq!(alarms.set_about(second * 9, second), Some(second * 9));
        assert_eq!(alarms.set_about(second * 10, second), None);
        assert_eq!(alarms.set_about(second * 3, second), Some(second * 3));
        alarms.came(second * 3);
        assert_eq!(alarms.set_about(second * 9, second), None);
    }
}
