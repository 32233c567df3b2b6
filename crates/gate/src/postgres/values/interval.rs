//! Intervals: months, days and microseconds, as text in the style `postgres`.

use super::time::put_fraction;
use bytes::{BufMut, BytesMut};
use std::fmt::Write;

/// A span of time whose parts do not add up: a month has no number of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Interval {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) micros: i64,
}

impl Interval {
    pub(super) fn put_binary(self, out: &mut BytesMut) {
        out.put_i64(self.micros);
        out.put_i32(self.days);
        out.put_i32(self.months);
    }

    pub(super) fn read_binary(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 16] = bytes.try_into().ok()?;
        let (micros, rest) = bytes.split_first_chunk()?;
        let (days, months) = rest.split_first_chunk()?;
        let months = i32::from_be_bytes(months.try_into().ok()?);
        Some(Self { months, days: i32::from_be_bytes(*days), micros: i64::from_be_bytes(*micros) })
    }

    pub(super) fn put_text(self, out: &mut BytesMut) {
        let begin = out.len();
        let mut part = |number: i32, unit: &str| {
            if number != 0 {
                let space = if out.len() > begin { " " } else { "" };
                let plural = if number == 1 { "" } else { "s" };
                let _ = write!(out, "{space}{number} {unit}{plural}");
            }
        };
        part(self.months / 12, "year");
        part(self.months % 12, "mon");
        part(self.days, "day");
        if self.micros != 0 || out.len() == begin {
            if out.len() > begin {
                out.put_u8(b' ');
            }
            if self.micros < 0 {
                out.put_u8(b'-');
            }
            let micros = self.micros.unsigned_abs();
            let seconds = micros / 1_000_000;
            let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
            put_fraction(out, (micros % 1_000_000) as i64);
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
            let interval = Interval { months, days, micros };
            let mut out = BytesMut::new();
            interval.put_text(&mut out);
            assert_eq!(&out[..], text.as_bytes());
            out.clear();
            interval.put_binary(&mut out);
            assert_eq!(Interval::read_binary(&out), Some(interval));
        }
        assert_eq!(Interval::read_binary(&[0; 15]), None);
    }
}
