//! A value that somebody wrote, as its column has it: what is written is never read as another value.
//!
//! A text can say more than a column has. A number of twenty digits is no double, and half a second is no time of a column of seconds; a cast
//! would take the nearest one, and answer for it. So a number with other digits than its double is refused. A time between two that a column can
//! have equals none of them, and as a bound it lies right above the earlier one.

use crate::coordinate::{Coordinate, is_date_or_time, logical_type, wanted};
use crate::error::CubeError;
use crate::filter::{Comparison, Literal};
use arrow::datatypes::{DataType, TimeUnit};

/// From here on doubles are whole numbers, but not all of them.
const FIRST_GAP: f64 = 9_007_199_254_740_992.0;

/// The negative of the least whole number of 64 bits, which is written as a number and a sign.
const OF_LEAST: f64 = 9_223_372_036_854_775_808.0;

/// What a text is as a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Number {
    /// This one.
    Is(Coordinate),
    /// None that there is; the nearest double is another one.
    Near(f64),
    /// No number.
    No,
}

impl Number {
    /// Digits are a whole number or the double that has the same digits in its shortest form. With an exponent, they are that double.
    pub(crate) fn of(text: &str) -> Self {
        if let Ok(whole) = text.parse() {
            return Self::Is(Coordinate::Int(whole));
        }
        match text.parse::<f64>() {
            Ok(_) if !text.bytes().any(|byte| byte.is_ascii_digit()) => Self::No,
            Ok(number) if is_written(number, text) => Self::Is(Coordinate::Float(number)),
            Ok(number) => Self::Near(number),
            Err(_) => Self::No,
        }
    }

    /// What to write in place of a text whose nearest double is this one.
    pub(crate) fn advice(near: f64) -> String {
        if near.is_infinite() {
            format!("it is beyond all doubles, which end at {:e}", f64::MAX)
        } else if near == 0.0 {
            "it is nearer to 0 than all doubles; write 0".to_owned()
        } else {
            format!("it has more digits than numbers have here; write a double, such as {near:e}")
        }
    }
}

/// True when a text is written as a double and not as a number near it.
fn is_written(number: f64, text: &str) -> bool {
    let (is, written) = (number.abs(), digits(text));
    let is_shortest = || digits(&format!("{is:e}")) == written;
    let is_exact = || digits(&format!("{is:.0}")) == written;
    // Among whole numbers of 64 bits a double is the number that it is, and not the shorter one that is written for it.
    let is_among_whole = (FIRST_GAP..2.0 * OF_LEAST).contains(&is) && !text.contains(['e', 'E']);
    match is_among_whole {
        true => is_exact() && (is == OF_LEAST || is_shortest()),
        false => number.is_finite() && is_shortest(),
    }
}

/// The digits of a number from the first to the last that is not 0, and how many of them stand before the point.
fn digits(text: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let before = before.trim_start_matches(['+', '-']);
    let all = format!("{before}{after}");
    let from_first = all.trim_start_matches('0');
    let significant = from_first.trim_end_matches('0');
    if significant.is_empty() {
        return Some((String::new(), 0));
    }
    let zeros = (all.len() - from_first.len()) as i64;
    let point = exponent.parse::<i64>().ok()?.checked_add(before.len() as i64)?.checked_sub(zeros)?;
    Some((significant.to_owned(), point))
}

impl Coordinate {
    /// The value that somebody wrote; nothing when no value of the type equals it. One that is no date or time is an error where the column
    /// has these, not an empty answer, and so is a number that there is not where it has numbers.
    pub(crate) fn typed_in(
        &self,
        column: &str,
        data_type: &DataType,
    ) -> Result<Option<Coordinate>, CubeError> {
        let logical = logical_type(data_type);
        let typed = self.number_in(column, data_type)?.typed(data_type);
        if typed.is_none() && is_date_or_time(&logical) && self.moment(&logical).is_none() {
            return Err(self.wrong_in(column, data_type));
        }
        Ok(typed)
    }

    /// The same for a bound, with the comparison that it then is. Nothing is less or greater than what is of another kind, so that is an
    /// error. Whole numbers have bounds that are none of them.
    pub(crate) fn bound_in(
        &self,
        comparison: Comparison,
        column: &str,
        data_type: &DataType,
    ) -> Result<(Comparison, Coordinate), CubeError> {
        let value = self.number_in(column, data_type)?;
        value.bound(comparison, data_type).ok_or_else(|| match logical_type(data_type) {
            DataType::Int64 => self.wrong_in(column, &DataType::Float64),
            _ => self.wrong_in(column, data_type),
        })
    }

    /// A bound as a column of this type has it; nothing when it is of another kind.
    pub(crate) fn bound(
        &self,
        comparison: Comparison,
        data_type: &DataType,
    ) -> Option<(Comparison, Coordinate)> {
        let logical = logical_type(data_type);
        if let Some(typed) = self.typed(data_type) {
            return Some((comparison, typed));
        }
        if is_date_or_time(&logical) {
            // It lies above its floor and below all that comes after.
            let (floor, _) = self.moment(&logical)?;
            return Some(match comparison {
                Comparison::Less | Comparison::AtMost => (Comparison::AtMost, floor),
                Comparison::Greater | Comparison::AtLeast => (Comparison::Greater, floor),
            });
        }
        matches!((self, logical), (Self::Float(_), DataType::Int64)).then(|| (comparison, self.clone()))
    }

    /// A text as a number where the column has numbers; a number that there is not is an error.
    pub(crate) fn number_in(&self, column: &str, data_type: &DataType) -> Result<Coordinate, CubeError> {
        let is_number = matches!(logical_type(data_type), DataType::Int64 | DataType::Float64);
        match self {
            Self::Text(text) if is_number => match Number::of(text) {
                Number::Is(number) => Ok(number),
                Number::No => Ok(self.clone()),
                Number::Near(near) => Err(CubeError::InvalidValue {
                    column: column.to_owned(),
                    value: Literal(self).to_string(),
                    wanted: format!("number that can be compared: {}", Number::advice(near)),
                }),
            },
            other => Ok(other.clone()),
        }
    }

    /// The greatest date or time of a type that is not above a text, and whether the text lies above it.
    pub(crate) fn moment(&self, temporal: &DataType) -> Option<(Coordinate, bool)> {
        let Self::Text(text) = self else { return None };
        let digits = match temporal {
            // Digits alone would be seconds since midnight.
            DataType::Time32(_) | DataType::Time64(_) if !text.contains(':') => return None,
            DataType::Time32(unit) | DataType::Time64(unit) => digits_of(*unit),
            // What is longer has a time, of which Arrow reads all or nothing; as it does where there is only a time.
            _ if *temporal == DataType::Date32 || text.len() <= "2026-03-31".len() => {
                self.days()?;
                0
            }
            DataType::Timestamp(unit, _) => digits_of(*unit),
            _ => digits_of(TimeUnit::Millisecond),
        };
        // Arrow leaves out the digits that the unit does not have, also before 1970.
        let (_, fraction) = text.split_once('.').unwrap_or_default();
        let mut finer = fraction.bytes().take_while(u8::is_ascii_digit).skip(digits);
        Some((self.as_cast(temporal)?, finer.any(|digit| digit != b'0')))
    }

    /// What is said of a value that no column of this type has.
    pub(crate) fn wrong_in(&self, column: &str, data_type: &DataType) -> CubeError {
        let wanted = wanted(data_type);
        CubeError::InvalidValue { column: column.to_owned(), value: Literal(self).to_string(), wanted }
    }
}

/// How many digits after the point the seconds of a unit have.
fn digits_of(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_one_that_is_written_or_refused() {
        let float = |value: f64| Number::Is(Coordinate::Float(value));
        assert_eq!(Number::of("9007199254740993"), Number::Is(Coordinate::Int(9_007_199_254_740_993)));
        for (text, number) in [
            ("0.1", 0.1),
            ("-0.10", -0.1),
            ("00.30000000000000004", 0.300_000_000_000_000_04),
            ("1e19", 1e19),
            ("10000000000000000000", 1e19),
            ("1E+23", 1e23),
            ("100000000000000000000000", 1e23),
            ("0.00", 0.0),
            ("0e999", 0.0),
            ("150e-2", 1.5),
            ("9007199254740992.0", 9_007_199_254_740_992.0),
            ("9223372036854775808", OF_LEAST),
            ("9.223372036854776e18", OF_LEAST),
            ("5e-324", 5e-324),
        ] {
            assert_eq!(Number::of(text), float(number), "{text}");
        }
        for text in [
            "18446744073709551614",
            "18446744073709551616",
            "9223372036854776000",
            "72057594037927940.0",
            "12345678901234567.12",
            "-12345678901234567.12",
            "9007199254740993.0",
            "0.1000000000000000055511151231257827",
            "1e400",
            "1e-400",
        ] {
            assert!(matches!(Number::of(text), Number::Near(_)), "{text}");
        }
        for text in ["nan", "-inf", "infinity", "", "x", "1x", " 1", "2026-03-31"] {
            assert_eq!(Number::of(text), Number::No, "{text}");
        }
    }

    /// The shortest form of every double is read back, as filters are written with it.
    #[test]
    fn a_double_is_read_back() {
        let mut bits = 0x0123_4567_89ab_cdef_u64;
        for _ in 0..10_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            for value in [f64::from_bits(bits), (bits >> 10) as f64, (bits >> 32) as f64 / 1_000.0] {
                if value.is_finite() {
                    assert_eq!(Number::of(&format!("{value:?}")), Number::Is(Coordinate::Float(value)));
                }
            }
        }
    }

    #[test]
    fn a_time_that_is_finer_than_its_column_lies_above_one_of_it() {
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let bound = |comparison, text: &str, of: &DataType| {
            Coordinate::from(text).bound_in(comparison, "at", of).unwrap()
        };
        let half = "1969-12-31T23:59:58.5";
        assert_eq!(Coordinate::from(half).typed_in("at", &seconds).unwrap(), None);
        let floor = Coordinate::from("1969-12-31T23:59:58");
        for comparison in [Comparison::Less, Comparison::AtMost] {
            assert_eq!(bound(comparison, half, &seconds), (Comparison::AtMost, floor.clone()));
        }
        for comparison in [Comparison::Greater, Comparison::AtLeast] {
            assert_eq!(bound(comparison, half, &seconds), (Comparison::Greater, floor.clone()));
        }
        for (text, of, exact) in [
            ("09:30:00.000", DataType::Time32(TimeUnit::Second), true),
            ("09:30:00.001", DataType::Time32(TimeUnit::Second), false),
            ("9:30:00.5 PM", DataType::Time32(TimeUnit::Millisecond), true),
            ("09:30:00.0005", DataType::Time32(TimeUnit::Millisecond), false),
            ("09:30:00.0000000001", DataType::Time64(TimeUnit::Nanosecond), false),
            (
                "2026-03-31T09:30:00.123456Z",
                DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
                true,
            ),
            (
                "2026-03-31T09:30:00.1234+01:00",
                DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into())),
                false,
            ),
            ("2026-03-31T09:30:00.1234", DataType::Date64, false),
        ] {
            let typed = Coordinate::from(text).typed_in("at", &of).unwrap();
            assert_eq!(typed.is_some(), exact, "{text} as {of}");
        }
        for text in ["34200", "+34200", "0930"] {
            let error = Coordinate::from(text).typed_in("opens", &DataType::Time32(TimeUnit::Second));
            assert!(error.unwrap_err().to_string().contains("is no time of a day"), "{text}");
        }
    }
}
