//! Days and times as the protocol writes them.

use super::columns::Misfit;
use filbert_wire::messages::page::{SqlDate, SqlDateTime, SqlTime};
use filbert_wire::{LocalDate, LocalTime};

const SECONDS_OF_DAY: i64 = 86_400;

/// A day, counted from 1970.
pub(super) fn date(day: i64) -> Result<SqlDate, Misfit> {
    let date = LocalDate::of_epoch_day(day).ok_or_else(|| format!("day {day} is outside of the calendar"))?;
    // Months and days fit: there are at most 31.
    Ok(SqlDate { year: date.year(), month: date.month() as i8, day: date.day() as i8 })
}

/// Nanoseconds since midnight.
pub(super) fn time(nanos: i64) -> Result<SqlTime, Misfit> {
    let time = u64::try_from(nanos).ok().and_then(LocalTime::of_nano_of_day);
    let time = time.ok_or_else(|| format!("{nanos} ns after midnight is not within a day"))?;
    Ok(SqlTime {
        hour: time.hour() as i8,
        minute: time.minute() as i8,
        second: time.second() as i8,
        nanos: time.nano() as i32,
    })
}

/// A moment, counted from 1970 in parts of a second.
pub(super) fn date_time(count: i64, per_second: i64) -> Result<SqlDateTime, Misfit> {
    let (seconds, parts) = (count.div_euclid(per_second), count.rem_euclid(per_second));
    let (day, second) = (seconds.div_euclid(SECONDS_OF_DAY), seconds.rem_euclid(SECONDS_OF_DAY));
    let nanos = second * 1_000_000_000 + parts * (1_000_000_000 / per_second);
    Ok(SqlDateTime { date: date(day)?, time: time(nanos)? })
}
