//! Intervals as text, in PostgreSQL's style: `1 year 2 mons 3 days 04:05:06.789`.

use std::fmt;

const MICROS_OF_DAY: i64 = 86_400_000_000;

/// A span of time whose parts do not add up: a month has no number of days.
///
/// ```
/// use filbert_sql::Interval;
/// let interval = Interval { months: 14, days: 3, micros: 14_706_789_000 };
/// assert_eq!(interval.to_string(), "1 year 2 mons 3 days 04:05:06.789");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Months, of which twelve are a year.
    pub months: i32,
    /// Days, however long each of them is.
    pub days: i32,
    /// Microseconds of a day, or more.
    pub micros: i64,
}

impl Interval {
    /// Makes an interval of whole days of 24 hours, and the rest.
    ///
    /// ```
    /// use filbert_sql::Interval;
    /// assert_eq!(Interval::of_micros(31_535_911_000_000).to_string(), "364 days 23:58:31");
    /// ```
    pub fn of_micros(micros: i64) -> Self {
        // No 64-bit number of microseconds has more days than 32 bits hold.
        let days = i32::try_from(micros / MICROS_OF_DAY).unwrap_or_default();
        Self { months: 0, days, micros: micros % MICROS_OF_DAY }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for (number, unit) in [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")] {
            if number != 0 {
                let space = if is_first { "" } else { " " };
                let plural = if number == 1 { "" } else { "s" };
                write!(f, "{space}{number} {unit}{plural}")?;
                is_first = false;
            }
        }
        if self.micros == 0 && !is_first {
            return Ok(());
        }
        let space = if is_first { "" } else { " " };
        let sign = if self.micros < 0 { "-" } else { "" };
        let (seconds, micros) =
            (self.micros.unsigned_abs() / 1_000_000, self.micros.unsigned_abs() % 1_000_000);
        write!(f, "{space}{sign}{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
        match micros {
            0 => Ok(()),
            _ => f.write_str(format!(".{micros:06}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_as_postgres_does() {
        for (months, days, micros, text) in [
            (0, 0, 0, "00:00:00"),
            (14, 3, 14_706_789_000, "1 year 2 mons 3 days 04:05:06.789"),
            (0, -1, 0, "-1 days"),
            (0, 0, -1, "-00:00:00.000001"),
            (1, 1, 3_600_000_000, "1 mon 1 day 01:00:00"),
            (0, 0, i64::MIN, "-2562047788:00:54.775808"),
        ] {
            assert_eq!(Interval { months, days, micros }.to_string(), text);
        }
    }

    #[test]
    fn microseconds_are_days_and_a_rest() {
        for (micros, text) in [
            (0, "00:00:00"),
            (86_400_000_000, "1 day"),
            (-86_400_000_001, "-1 days -00:00:00.000001"),
            (i64::MAX, "106751991 days 04:00:54.775807"),
        ] {
            assert_eq!(Interval::of_micros(micros).to_string(), text);
        }
    }
}
