//! The format of a measure's numbers in tables for people, as spreadsheets write it: `#,##0.00`, `0.0%`.
//!
//! A few formats are known: thousands separated or not, a fixed number of decimals, percent or not. Colours, currencies and other parts of
//! the formats of spreadsheets are refused, so that no format is taken for something else. Programs get numbers, not texts.

use crate::error::CubeError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A format of numbers: separators of thousands, a fixed number of decimals, percent.
///
/// ```
/// use filbert_cube::NumberFormat;
///
/// let format: NumberFormat = "#,##0.00".parse()?;
/// assert_eq!(format.write(-56_721_927.260_000_005), "-56,721,927.26");
/// assert_eq!("0.0%".parse::<NumberFormat>()?.write(0.125), "12.5%");
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NumberFormat {
    has_thousands: bool,
    decimals: u8,
    is_percent: bool,
}

impl NumberFormat {
    /// The most decimals of a format: a double has no more digits than these.
    pub const MOST_DECIMALS: u8 = 15;

    /// A format of so many decimals and nothing else.
    pub fn decimals(decimals: u8) -> Self {
        Self { has_thousands: false, decimals: decimals.min(Self::MOST_DECIMALS), is_percent: false }
    }

    /// Changes the number of decimals.
    #[must_use]
    pub fn with_decimals(self, decimals: u8) -> Self {
        Self { decimals: decimals.min(Self::MOST_DECIMALS), ..self }
    }

    /// Writes a number; `inf` and `NaN` as they are.
    pub fn write(&self, number: f64) -> String {
        if !number.is_finite() {
            return number.to_string();
        }
        let number = if self.is_percent { number * 100.0 } else { number };
        let digits = rounded_digits(number.abs(), self.decimals.into());
        // What is rounded to nothing has no sign.
        let is_negative = number < 0.0 && digits.contains(|digit: char| ('1'..='9').contains(&digit));
        self.written(is_negative, &digits)
    }

    /// Writes a whole number with all of its digits, also of one that no double has.
    pub fn write_whole(&self, number: i64) -> String {
        let mut digits = number.unsigned_abs().to_string();
        if self.is_percent && number != 0 {
            digits += "00";
        }
        if self.decimals > 0 {
            digits += &format!(".{}", "0".repeat(self.decimals.into()));
        }
        self.written(number < 0, &digits)
    }

    fn written(&self, is_negative: bool, digits: &str) -> String {
        let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
        let mut text = String::from(if is_negative { "-" } else { "" });
        for (at, digit) in whole.chars().enumerate() {
            if self.has_thousands && at > 0 && (whole.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        text += decimals;
        text += if self.is_percent { "%" } else { "" };
        text
    }
}

impl FromStr for NumberFormat {
    type Err = CubeError;

    fn from_str(text: &str) -> Result<Self, CubeError> {
        let unknown = || CubeError::InvalidFormat { format: text.to_owned() };
        let (number, is_percent) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
        let (whole, decimals) = match number.split_once('.') {
            None => (number, 0),
            Some((whole, zeros)) => {
                let is_known = !zeros.is_empty()
                    && zeros.len() <= usize::from(Self::MOST_DECIMALS)
                    && zeros.bytes().all(|byte| byte == b'0');
                (whole, if is_known { zeros.len() as u8 } else { return Err(unknown()) })
            }
        };
        let has_thousands = match whole {
            "0" => false,
            "#,##0" => true,
            _ => return Err(unknown()),
        };
        Ok(Self { has_thousands, decimals, is_percent })
    }
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.has_thousands { "#,##0" } else { "0" })?;
        if self.decimals > 0 {
            write!(f, ".{}", "0".repeat(self.decimals.into()))?;
        }
        f.write_str(if self.is_percent { "%" } else { "" })
    }
}

impl TryFrom<String> for NumberFormat {
    type Error = CubeError;

    fn try_from(text: String) -> Result<Self, CubeError> {
        text.parse()
    }
}

impl From<NumberFormat> for String {
    fn from(format: NumberFormat) -> Self {
        format.to_string()
    }
}

/// Writes a finite number that is not negative with so many decimals. Halves are rounded up, as spreadsheets and SQL do; what is half is told
/// by the shortest text of the double, which is the number that people see: 2.675 is 2.68 with two decimals.
pub(crate) fn rounded_digits(number: f64, decimals: usize) -> String {
    let text = number.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let mut digits: Vec<u8> =
        whole.bytes().chain(rest.bytes().chain(std::iter::repeat(b'0')).take(decimals)).collect();
    if rest.as_bytes().get(decimals).is_some_and(|next| *next >= b'5') {
        let mut place = digits.len();
        loop {
            match place.checked_sub(1) {
                None => {
                    digits.insert(0, b'1');
                    break;
                }
                Some(before) if digits[before] == b'9' => {
                    digits[before] = b'0';
                    place = before;
                }
                Some(before) => {
                    digits[before] += 1;
                    break;
                }
            }
        }
    }
    let whole = digits.len() - decimals;
    let mut text: String = digits.into_iter().map(char::from).collect();
    if decimals > 0 {
        text.insert(whole, '.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: &str, number: f64) -> String {
        format.parse::<NumberFormat>().unwrap().write(number)
    }

    #[test]
    fn numbers_are_written_as_their_format_says() {
        for (format, number, text) in [
            ("0", 2.5, "3"),
            ("0", 99.5, "100"),
            ("0.0", -342.25, "-342.3"),
            ("0.00", 2.675, "2.68"),
            ("0.00", 9.999, "10.00"),
            ("0.00", 1e-7, "0.00"),
            ("0", 1_234_567.9, "1234568"),
            ("#,##0", 999.6, "1,000"),
            ("#,##0.00", -41_453_280.1, "-41,453,280.10"),
            ("#,##0.00", 123.0, "123.00"),
            ("0.0%", -0.1234, "-12.3%"),
            ("#,##0%", 12.345, "1,235%"),
            ("0.00", -0.001, "0.00"),
            ("0.00", -0.0, "0.00"),
            ("0.00", f64::INFINITY, "inf"),
        ] {
            assert_eq!(written(format, number), text, "{format} of {number}");
        }
    }

    #[test]
    fn whole_numbers_keep_all_digits() {
        let format: NumberFormat = "#,##0.0".parse().unwrap();
        assert_eq!(format.write_whole(i64::MIN), "-9,223,372,036,854,775,808.0");
        assert_eq!("0%".parse::<NumberFormat>().unwrap().write_whole(3), "300%");
        assert_eq!("0%".parse::<NumberFormat>().unwrap().write_whole(0), "0%");
    }

    #[test]
    fn formats_are_texts_and_others_are_refused() {
        for text in ["0", "0.00", "#,##0", "#,##0.000", "0%", "#,##0.0%"] {
            assert_eq!(text.parse::<NumberFormat>().unwrap().to_string(), text);
        }
        for text in ["", "%", "0.", "0,00", "#.##", "0.0#", "$0", "00", "0.0000000000000000"] {
            let refused = text.parse::<NumberFormat>().unwrap_err().to_string();
            assert!(refused.contains("is not known; write 0, 0.00, #,##0"), "{text}: {refused}");
        }
    }
}
