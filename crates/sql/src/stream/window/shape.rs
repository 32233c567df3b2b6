//! Which windows a time is in.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;

/// Windows that one time may be in.
const MOST_WINDOWS: i64 = 1_000;

/// The size of windows, the step from one to the next, and how much later than the latest a row may come: all in the unit of the
/// column that they are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Hash)]
pub(super) struct WindowShape {
    size: i64,
    step: i64,
    lag: i64,
}

impl WindowShape {
    /// Of windows over a column of that type, or what is wrong.
    pub(super) fn new(
        time: &DataType,
        size: &ScalarValue,
        step: &ScalarValue,
        lag: &ScalarValue,
    ) -> Result<Self, String> {
        let (size, step, lag) = (units(time, size)?, units(time, step)?, units(time, lag)?);
        if size <= 0 || step <= 0 || lag < 0 {
            return Err(
                "the size and the step of a window must be more than nothing, and rows cannot be early"
                    .to_owned(),
            );
        }
        if step > size {
            return Err("the step from one window to the next must not be more than their size".to_owned());
        }
        if (size - 1) / step + 1 > MOST_WINDOWS {
            return Err(format!("a row would be in more than {MOST_WINDOWS} windows; take larger steps"));
        }
        Ok(Self { size, step, lag })
    }

    pub(super) fn size(&self) -> i64 {
        self.size
    }

    /// In how many windows a time is at most.
    pub(super) fn most_windows(&self) -> usize {
        usize::try_from((self.size - 1) / self.step + 1).unwrap_or(1)
    }

    /// Where the windows of a time begin, the latest first. There are none at the ends of what a number can say.
    pub(super) fn starts(&self, time: i64) -> impl Iterator<Item = i64> + use<> {
        let Self { size, step, .. } = *self;
        let latest = time.checked_sub(time.rem_euclid(step));
        std::iter::successors(latest, move |start| start.checked_sub(step))
            .take_while(move |start| start.checked_add(size).is_some_and(|end| end > time))
    }

    /// What nobody waits for any more when that time was seen.
    pub(super) fn watermark(&self, time: i64) -> i64 {
        time.saturating_sub(self.lag)
    }
}

impl std::fmt::Display for WindowShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "size={}, step={}, lag={}", self.size, self.step, self.lag)
    }
}

/// Whether a column of that type can be the time of windows.
pub(super) fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..)) || data_type.is_integer()
}

/// A length of time, or of numbers, in units of such a column.
fn units(time: &DataType, length: &ScalarValue) -> Result<i64, String> {
    let wrong = || format!("{length} is no length in a column of type {time}");
    if let Ok(ScalarValue::Int64(Some(number))) = length.cast_to(&DataType::Int64)
        && length.data_type().is_integer()
    {
        // Nothing is nothing in every unit.
        return if time.is_integer() || number == 0 {
            Ok(number)
        } else {
            Err(format!("{}; write INTERVAL '...'", wrong()))
        };
    }
    let DataType::Timestamp(unit, _) = time else { return Err(format!("{}; write a number", wrong())) };
    let nanos: i128 = match length {
        ScalarValue::IntervalMonthDayNano(Some(parts)) if parts.months == 0 => {
            i128::from(parts.days) * 86_400_000_000_000 + i128::from(parts.nanoseconds)
        }
        ScalarValue::IntervalDayTime(Some(parts)) => {
            i128::from(parts.days) * 86_400_000_000_000 + i128::from(parts.milliseconds) * 1_000_000
        }
        ScalarValue::IntervalMonthDayNano(Some(_)) | ScalarValue::IntervalYearMonth(Some(_)) => {
            return Err("months have no length; write days".to_owned());
        }
        _ => return Err(wrong()),
    };
    let unit: i128 = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    if nanos % unit != 0 {
        return Err(format!("{length} is finer than a column of type {time}"));
    }
    i64::try_from(nanos / unit).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(size: i64, step: i64, lag: i64) -> Result<WindowShape, String> {
        WindowShape::new(&DataType::Int64, &size.into(), &step.into(), &lag.into())
    }

    #[test]
    fn a_time_is_in_the_windows_that_hold_it() {
        let tumble = numbers(10, 10, 0).unwrap();
        for (time, start) in [(0, 0), (9, 0), (10, 10), (-1, -10), (-10, -10)] {
            assert_eq!(tumble.starts(time).collect::<Vec<_>>(), [start], "{time}");
        }
        let hop = numbers(10, 4, 0).unwrap();
        assert_eq!(hop.most_windows(), 3);
        for time in -50..50_i64 {
            let starts: Vec<_> = hop.starts(time).collect();
            let mut expected: Vec<_> =
                (-100..100).filter(|start| start % 4 == 0 && *start <= time && time < start + 10).collect();
            expected.reverse();
            assert_eq!(starts, expected, "{time}");
        }
        assert_eq!(tumble.starts(i64::MAX).count() + tumble.starts(i64::MIN).count(), 0, "no overflow");
    }

    #[test]
    fn lengths_are_in_units_of_the_column() {
        let second = ScalarValue::new_interval_mdn(0, 0, 1_500_000_000);
        let day = ScalarValue::new_interval_mdn(0, 1, 0);
        let column = |unit| DataType::Timestamp(unit, None);
        assert_eq!(units(&column(TimeUnit::Millisecond), &second), Ok(1_500));
        assert_eq!(units(&column(TimeUnit::Second), &day), Ok(86_400));
        assert!(units(&column(TimeUnit::Second), &second).unwrap_err().contains("finer"));
        let month = ScalarValue::new_interval_mdn(1, 0, 0);
        assert!(units(&column(TimeUnit::Second), &month).unwrap_err().contains("write days"));
        assert!(units(&column(TimeUnit::Second), &5_i64.into()).unwrap_err().contains("INTERVAL"));
        assert!(units(&DataType::Int64, &second).unwrap_err().contains("write a number"));
    }

    #[test]
    fn shapes_that_make_no_sense_are_refused() {
        assert!(numbers(0, 1, 0).is_err() && numbers(10, 0, 0).is_err() && numbers(10, 10, -1).is_err());
        assert!(numbers(10, 11, 0).unwrap_err().contains("step"));
        assert!(numbers(1_000_000, 1, 0).unwrap_err().contains("1000 windows"));
        assert!(numbers(i64::MAX, i64::MAX, i64::MAX).is_ok());
    }
}
