//! Numbers without a machine size: Java's BigInteger and BigDecimal.
//!
//! They are kept as they travel, two's complement bytes, because a data grid moves them far more often than it calculates. What
//! queries need is here: order, digits, and the way to `i128`. A big-number library was rejected: it would be a dependency for two
//! comparisons. The length is limited, since writing out n digits takes n² steps and the bytes may come from anybody.

use std::{cmp::Ordering, fmt};

/// How many bytes a [`BigInteger`] may have: some 9,800 decimal digits.
pub const MAX_NUMBER_BYTES: usize = 4096;

/// A number of more than [`MAX_NUMBER_BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a number of {length} bytes; at most {MAX_NUMBER_BYTES} are taken")]
pub struct NumberTooLong {
    /// How many bytes it has.
    pub length: usize,
}

/// A whole number of any size up to [`MAX_NUMBER_BYTES`].
///
/// ```
/// use filbert_wire::BigInteger;
///
/// let number = BigInteger::from(-129);
/// assert_eq!(number.as_be_bytes(), [0xff, 0x7f]);
/// assert_eq!((number.to_i128(), number.to_string()), (Some(-129), "-129".to_owned()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BigInteger {
    /// Two's complement, big-endian, as short as can be, never empty.
    bytes: Box<[u8]>,
}

impl BigInteger {
    /// The number with this two's complement form; superfluous leading bytes are dropped.
    pub fn from_be_bytes(bytes: &[u8]) -> Result<Self, NumberTooLong> {
        let mut shortest = bytes;
        while let [first, second, ..] = shortest {
            // A leading byte says nothing when it repeats the sign of the next.
            if (*first == 0 && *second < 0x80) || (*first == 0xff && *second >= 0x80) {
                shortest = &shortest[1..];
            } else {
                break;
            }
        }
        match shortest.len() {
            0 => Ok(Self { bytes: Box::new([0]) }),
            length if length > MAX_NUMBER_BYTES => Err(NumberTooLong { length }),
            _ => Ok(Self { bytes: shortest.into() }),
        }
    }

    /// Two's complement, big-endian, as short as can be.
    pub fn as_be_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number, if it fits.
    pub fn to_i128(&self) -> Option<i128> {
        let free = 16_usize.checked_sub(self.bytes.len())?;
        let mut wide = [if self.is_negative() { 0xff } else { 0 }; 16];
        wide[free..].copy_from_slice(&self.bytes);
        Some(i128::from_be_bytes(wide))
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.bytes[0] >= 0x80
    }

    /// The decimal digits of the absolute value, as text; "0" for zero.
    fn magnitude(&self) -> String {
        if let Some(number) = self.to_i128() {
            return number.unsigned_abs().to_string();
        }
        let mut words = self.magnitude_words();
        let mut chunks = Vec::new();
        while !words.is_empty() {
            let mut rest = 0_u64;
            for word in &mut words {
                let dividend = rest << 32 | u64::from(*word);
                *word = (dividend / CHUNK) as u32;
                rest = dividend % CHUNK;
            }
            chunks.push(rest);
            let leading = words.iter().take_while(|word| **word == 0).count();
            words.drain(..leading);
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:09}"));
        }
        text
    }

    /// The absolute value in words, the most significant first.
    fn magnitude_words(&self) -> Vec<u32> {
        let mut bytes = self.bytes.to_vec();
        if self.is_negative() {
            let mut carry = true;
            for byte in bytes.iter_mut().rev() {
                let (negated, overflowed) = (!*byte).overflowing_add(u8::from(carry));
                (*byte, carry) = (negated, overflowed);
            }
        }
        let (head, words) = bytes.as_rchunks::<4>();
        let head = head.iter().fold(0, |word: u32, byte| word << 8 | u32::from(*byte));
        std::iter::once(head).chain(words.iter().map(|word| u32::from_be_bytes(*word))).collect()
    }
}

/// The largest power of ten below 2^32: digits are split off nine at a time.
const CHUNK: u64 = 1_000_000_000;

impl From<i128> for BigInteger {
    fn from(number: i128) -> Self {
        // Sixteen bytes are never too long.
        Self::from_be_bytes(&number.to_be_bytes()).unwrap_or_else(|_| Self { bytes: Box::new([0]) })
    }
}

impl Ord for BigInteger {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = other.is_negative().cmp(&self.is_negative());
        let by_length = self.bytes.len().cmp(&other.bytes.len());
        let by_length = if self.is_negative() { by_length.reverse() } else { by_length };
        // With equal sign and length, two's complement orders like its bytes.
        by_sign.then(by_length).then_with(|| self.bytes.cmp(&other.bytes))
    }
}

impl PartialOrd for BigInteger {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(!self.is_negative(), "", &self.magnitude())
    }
}

impl fmt::Debug for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A decimal number: an unscaled whole number divided by ten to the power of `scale`. As in Java, 1.0 and 1.00 are different values
/// (`==`) that compare as equal ([`Decimal::compare`]).
///
/// ```
/// use filbert_wire::Decimal;
///
/// let price = Decimal::new(-1250, 2);
/// assert_eq!(price.to_string(), "-12.50");
/// assert!(price.compare(&Decimal::new(-125, 1)).is_eq());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Decimal {
    unscaled: BigInteger,
    scale: i32,
}

impl Decimal {
    /// `unscaled` divided by 10^`scale`.
    pub fn new(unscaled: i128, scale: i32) -> Self {
        Self::from_parts(unscaled.into(), scale)
    }

    /// `unscaled` divided by 10^`scale`.
    pub const fn from_parts(unscaled: BigInteger, scale: i32) -> Self {
        Self { unscaled, scale }
    }

    /// The number without its decimal point.
    pub const fn unscaled(&self) -> &BigInteger {
        &self.unscaled
    }

    /// How many of the digits stand behind the decimal point; negative: how many zeros follow.
    pub const fn scale(&self) -> i32 {
        self.scale
    }

    /// The order of the numbers, whatever their scale.
    pub fn compare(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        Digits::of_decimal(self).compare(&Digits::of_decimal(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.magnitude();
        let (length, scale) = (digits.len() as i64, i64::from(self.scale));
        let exponent = length - 1 - scale;
        let text = if scale == 0 {
            digits
        } else if scale > 0 && exponent >= -6 {
            let zeros = "0".repeat((scale + 1 - length).max(0) as usize);
            let digits = zeros + &digits;
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            format!("{whole}.{fraction}")
        } else {
            // Never written out: the scale may say two thousand million zeros.
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}E{exponent:+}")
        };
        f.pad_integral(!self.unscaled.is_negative(), "", &text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A finite number as its decimal digits; equal numbers have equal ones: 0.`digits` x 10^`exponent`. The form in which numbers of all kinds are compared.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Digits {
    negative: bool,
    /// Neither leading nor trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Digits {
    fn new(negative: bool, digits: &str, exponent: i64) -> Self {
        let significant = digits.trim_start_matches('0');
        let exponent = exponent - (digits.len() - significant.len()) as i64;
        let digits = significant.trim_end_matches('0').to_owned();
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Self { negative: negative && !digits.is_empty(), exponent, digits }
    }

    pub(super) fn of_decimal(number: &Decimal) -> Self {
        let digits = number.unscaled.magnitude();
        Self::new(number.unscaled.is_negative(), &digits, digits.len() as i64 - i64::from(number.scale))
    }

    pub(super) fn of_integer(number: &BigInteger) -> Self {
        let digits = number.magnitude();
        Self::new(number.is_negative(), &digits, digits.len() as i64)
    }

    /// A finite floating-point number. Below 2^53 it stands for its shortest decimal form, so that 0.1 is the decimal 0.1 as in
    /// Hazelcast; above, for its exact value, so that it is ordered with whole numbers without a gap. Both agree where they meet.
    pub(super) fn of_float(number: f64) -> Self {
        let size = number.abs();
        if size >= 9_007_199_254_740_992.0 {
            let digits = format!("{size:.0}");
            return Self::new(number < 0.0, &digits, digits.len() as i64);
        }
        let text = format!("{size:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: String = digits.chars().filter(|sign| *sign != '.').collect();
        Self::new(number < 0.0, &digits, exponent.parse::<i64>().unwrap_or(0) + 1)
    }

    /// The number, if it is whole and fits.
    pub(super) fn to_i64(&self) -> Option<i64> {
        let zeros = usize::try_from(self.exponent).ok()?.checked_sub(self.digits.len())?;
        if self.is_zero() {
            return Some(0);
        }
        // Nineteen digits are the most that fit.
        if zeros > 19 {
            return None;
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}{}", self.digits, "0".repeat(zeros)).parse().ok()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (_, false) => 1,
            (_, true) => -1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let by_size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        if self.negative { by_size.reverse() } else { by_size }
    }
}
