//! Bounds how often strangers can make a member write to its log.
//!
//! A client with a wrong certificate tries again each second, and an attacker a thousand times. The first few lines of a minute say all
//! there is; the rest is counted and told with the next line. The counters of the door see every case.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time after which lines are written again.
const PERIOD: Duration = Duration::from_secs(60);

/// A number of lines that a log may have in a minute.
#[derive(Debug)]
pub(crate) struct LogBudget {
    lines: u32,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    since: Duration,
    lines: u32,
    left_out: u64,
}

impl LogBudget {
    /// Makes a budget of so many lines a minute.
    pub(crate) const fn new(lines: u32) -> Self {
        Self { lines, spent: Mutex::new(Spent { since: Duration::ZERO, lines: 0, left_out: 0 }) }
    }

    /// Takes one line. Returns how many were left out since the last one, or `None` when this one is to be left out too.
    pub(crate) fn take(&self, now: Duration) -> Option<u64> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if now >= spent.since + PERIOD {
            (spent.since, spent.lines) = (now, 0);
        }
        if spent.lines == self.lines {
            spent.left_out += 1;
            return None;
        }
        spent.lines += 1;
        Some(std::mem::take(&mut spent.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_minute_is_left_out_and_counted() {
        let budget = LogBudget::new(2);
        let at = Duration::from_secs;
        assert_eq!((budget.take(at(5)), budget.take(at(6))), (Some(0), Some(0)));
        assert_eq!((budget.take(at(7)), budget.take(at(59))), (None, None));
        assert_eq!((budget.take(at(60)), budget.take(at(61)), budget.take(at(62))), (Some(2), Some(0), None));
    }
}
