//! Intervals on the wire: microseconds, days and months, as PostgreSQL sends them.

use bytes::{BufMut, BytesMut};
use filbert_sql::Interval;

/// Writes an interval in PostgreSQL's binary format.
pub(super) fn put_binary_interval(interval: Interval, out: &mut BytesMut) {
    out.put_i64(interval.micros);
    out.put_i32(interval.days);
    out.put_i32(interval.months);
}

/// Reads an interval in PostgreSQL's binary format.
pub(super) fn read_binary_interval(bytes: &[u8]) -> Option<Interval> {
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    let (micros, rest) = bytes.split_first_chunk()?;
    let (days, months) = rest.split_first_chunk()?;
    let months = i32::from_be_bytes(months.try_into().ok()?);
    Some(Interval { months, days: i32::from_be_bytes(*days), micros: i64::from_be_bytes(*micros) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_they_are_written() {
        for (months, days, micros) in [(0, 0, 0), (14, 3, 14_706_789_000), (-1, i32::MIN, i64::MIN)] {
            let interval = Interval { months, days, micros };
            let mut out = BytesMut::new();
            put_binary_interval(interval, &mut out);
            assert_eq!(read_binary_interval(&out), Some(interval));
        }
        assert_eq!(read_binary_interval(&[0; 15]), None);
    }
}
