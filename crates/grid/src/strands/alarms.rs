//! The timers that are set for one target.
//!
//! A timer cannot be taken back. One whose moment is passed over, because an earlier one was needed meanwhile, still comes, and so need
//! not be set anew when the earlier one is over. Rejected: to remember the next one only. Then each short wait beside a long one sets
//! the timer of the long one again, and an hour of them leaves a timer each.

use std::collections::BTreeSet;
use std::time::Duration;

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

    /// The timer that was set for `due` came.
    pub(crate) fn came(&mut self, due: Duration) {
        self.set.remove(&due);
    }
}
