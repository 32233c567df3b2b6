//! Complaints in the log about strangers: few enough that nobody fills the log by connecting, and none is lost without a number.

use std::sync::Mutex;
use std::time::Duration;

/// The time between two complaints.
const EVERY: Duration = Duration::from_secs(10);

/// Says when a complaint about a stranger may be logged.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the last one was logged.
    last: Option<Duration>,
    left_out: u64,
}

impl Complaints {
    /// Returns how many were left out before this one, when it may be logged; `None` leaves it out.
    pub(crate) fn due(&self, now: Duration) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(|broken| broken.into_inner());
        if state.last.is_some_and(|last| now.saturating_sub(last) < EVERY) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_line_with_a_number() {
        let complaints = Complaints::default();
        assert_eq!(complaints.due(Duration::from_secs(1)), Some(0));
        for _ in 0..500 {
            assert_eq!(complaints.due(Duration::from_secs(2)), None);
        }
        assert_eq!(complaints.due(Duration::from_secs(11)), Some(500));
        assert_eq!(complaints.due(Duration::from_secs(30)), Some(0));
    }
}
