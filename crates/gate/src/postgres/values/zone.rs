//! The time zone of a session: in which moments are written as text, and texts without a zone are read.

use datafusion::arrow::array::timezone::Tz;
use std::fmt::Write;
use std::sync::Arc;

/// A time zone, by the name or the offset that the engine knows it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Zone(Arc<str>);

/// Hours from Greenwich, beyond which PostgreSQL knows no zone.
const MOST_HOURS: f64 = 15.99;

impl Zone {
    /// The zone that sessions begin with.
    pub(in crate::postgres) fn utc() -> Self {
        Self("UTC".into())
    }

    /// Reads a zone as PostgreSQL does, and how it shows it: a name in any case, hours east of Greenwich, or `GMT+2`, which is two hours *west* of it.
    /// `None` for everything else; `+02:00` too, which PostgreSQL reads as west and nobody means so.
    pub(in crate::postgres) fn read(text: &str) -> Option<(Self, String)> {
        let text = text.trim();
        if let Ok(hours) = text.parse::<f64>() {
            let is_plain =
                text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
            let minutes = (hours * 60.0).round();
            return (is_plain && hours.abs() <= MOST_HOURS).then(|| Self::offset(minutes as i32));
        }
        let upper = text.to_ascii_uppercase();
        if let Some(west) = upper.strip_prefix("GMT").or_else(|| upper.strip_prefix("UTC"))
            && let Some(minutes) = minutes(west)
        {
            return Some((Self::offset(-minutes).0, text.to_owned()));
        }
        if !text.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            return None;
        }
        let known = [text.to_owned(), capitalized(text), upper]
            .into_iter()
            .find(|name| name.parse::<Tz>().is_ok())?;
        Some((Self(known.as_str().into()), known))
    }

    /// Reads what [`Zone::read`] showed.
    pub(in crate::postgres) fn read_shown(shown: &str) -> Option<Self> {
        match shown.strip_prefix('<') {
            Some(rest) => minutes(rest.split_once('>')?.0).map(|minutes| Self::offset(minutes).0),
            None => Self::read(shown).map(|(zone, _)| zone),
        }
    }

    fn offset(minutes: i32) -> (Self, String) {
        let mut shown = String::from("<");
        put_offset(&mut shown, minutes * 60);
        shown.push('>');
        put_offset(&mut shown, -minutes * 60);
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
        (Self(format!("{sign}{hours:02}:{minutes:02}").into()), shown)
    }

    /// As the engine knows it.
    pub(in crate::postgres) fn name(&self) -> &Arc<str> {
        &self.0
    }

    pub(super) fn is_utc(&self) -> bool {
        matches!(self.0.as_ref(), "UTC" | "+00:00" | "Etc/UTC")
    }
}

/// Signed hours, perhaps with minutes, as minutes.
fn minutes(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let number =
        |text: &str| text.parse::<i32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// `europe/oslo` as `Europe/Oslo`.
fn capitalized(name: &str) -> String {
    let mut begins = true;
    let letter = |letter: char| {
        let capital = if begins { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        begins = matches!(letter, '/' | '_' | '-');
        capital
    };
    name.chars().map(letter).collect()
}

/// Writes an offset from Greenwich as PostgreSQL does: minutes and seconds only where there are some.
pub(super) fn put_offset(out: &mut impl Write, seconds: i32) {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, rest) = (seconds.abs() / 3_600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    // Writing to memory does not fail.
    let _ = write!(out, "{sign}{hours:02}");
    if minutes != 0 || rest != 0 {
        let _ = write!(out, ":{minutes:02}");
    }
    if rest != 0 {
        let _ = write!(out, ":{rest:02}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_read_as_postgres_reads_them() {
        let read = |text: &str| Zone::read(text).map(|(zone, shown)| (zone.0.to_string(), shown));
        let both = |zone: &str, shown: &str| Some((zone.to_owned(), shown.to_owned()));
        assert_eq!(read("Europe/Oslo"), both("Europe/Oslo", "Europe/Oslo"));
        assert_eq!(read(" america/new_york"), both("America/New_York", "America/New_York"));
        assert_eq!(read("utc"), both("UTC", "UTC"));
        assert_eq!(read("2"), both("+02:00", "<+02>-02"));
        assert_eq!(read("-3.5"), both("-03:30", "<-03:30>+03:30"));
        assert_eq!(read("GMT-02:00"), both("+02:00", "GMT-02:00"));
        assert_eq!(read("UTC+5:30"), both("-05:30", "UTC+5:30"));
        for wrong in ["Mars/Olympus", "", "+02:00", "99", "GMT+99", "inf", "NaN", "1e1", "INTERVAL 1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn offsets_are_as_short_as_they_can_be() {
        let said = |seconds| {
            let mut out = String::new();
            put_offset(&mut out, seconds);
            out
        };
        assert_eq!([0, 7_200, -12_600, 2_588].map(said), ["+00", "+02", "-03:30", "+00:43:08"]);
    }
}
