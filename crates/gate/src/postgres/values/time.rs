//! Dates and times as text, over the whole range that 64 bits have: no calendar crate prints all of it.

use bytes::{BufMut, BytesMut};
use std::fmt::Write;

/// Days from 1970 to 2000, where PostgreSQL begins to count.
pub(super) const EPOCH_DAYS: i32 = 10_957;

/// The same in microseconds.
pub(super) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * DAY_MICROS;

pub(super) const DAY_MICROS: i64 = 86_400_000_000;

/// Year, month and day of a day since 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, u32, u32) {
    // Years begin in March here, so that the odd day of a leap year is the last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month + 2) / 5 + 1) as u32;
    let month = (if month < 10 { month + 3 } else { month - 9 }) as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes a date; the years before the first end with BC, and there is no year 0.
pub(super) fn put_date(out: &mut BytesMut, days: i64) {
    put_day(out, days, |_| ());
}

fn put_day(out: &mut BytesMut, days: i64, then: impl FnOnce(&mut BytesMut)) {
    let (year, month, day) = civil(days);
    let (shown, before) = if year > 0 { (year, false) } else { (1 - year, true) };
    // Writing to memory does not fail.
    let _ = write!(out, "{shown:04}-{month:02}-{day:02}");
    then(out);
    if before {
        out.put_slice(b" BC");
    }
}

/// Writes the time of a day.
pub(super) fn put_time(out: &mut BytesMut, micros: i64) {
    let seconds = micros.div_euclid(1_000_000);
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    put_fraction(out, micros.rem_euclid(1_000_000));
}

/// Writes microseconds behind a point, without zeros at the end.
fn put_fraction(out: &mut BytesMut, micros: i64) {
    if micros != 0 {
        let digits = format!(".{micros:06}");
        out.put_slice(digits.trim_end_matches('0').as_bytes());
    }
}

/// Writes a moment, with `zone` behind the time.
pub(super) fn put_timestamp(out: &mut BytesMut, micros: i64, zone: &str) {
    put_day(out, micros.div_euclid(DAY_MICROS), |out| {
        out.put_u8(b' ');
        put_time(out, micros.rem_euclid(DAY_MICROS));
        out.put_slice(zone.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(put: impl FnOnce(&mut BytesMut)) -> String {
        let mut out = BytesMut::new();
        put(&mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn dates_are_written() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (-719_162, "0001-01-01"),
            (-719_163, "0001-12-31 BC"),
            (2_932_897, "10000-01-01"),
        ] {
            assert_eq!(said(|out| put_date(out, days)), text);
        }
        // The ends of what fits do not overflow.
        for days in [i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX / DAY_MICROS, i64::MIN / DAY_MICROS] {
            assert!(!said(|out| put_date(out, days)).is_empty());
        }
    }

    #[test]
    fn moments_are_written() {
        let moment = |micros, zone| said(|out| put_timestamp(out, micros, zone));
        assert_eq!(moment(1_700_000_000_000_000, ""), "2023-11-14 22:13:20");
        assert_eq!(moment(1_700_000_000_120_000, "+00"), "2023-11-14 22:13:20.12+00");
        assert_eq!(moment(-1, ""), "1969-12-31 23:59:59.999999");
        assert!(moment(i64::MIN, "").contains("BC"));
    }
}
