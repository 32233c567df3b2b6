//! A sum of doubles that has room for every bit of every double.
//!
//! It is a whole number of units of 2^-1074, the least double, in two's complement: 2,098 bits for the largest double, and 77 more, so that
//! 2^64 of them do not overflow. Sums of whole numbers are the same in any order, so this one is too.

use crate::error::CubeError;

/// Words of 64 bits.
const WORDS: usize = 34;

/// The bits of a double's fraction.
const FRACTION_BITS: u32 = 52;

/// An exact sum of doubles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Superaccumulator {
    words: [u64; WORDS],
    /// Infinities and NaN have no bits to add: each is remembered.
    has_nan: bool,
    has_plus_infinity: bool,
    has_minus_infinity: bool,
}

impl Default for Superaccumulator {
    fn default() -> Self {
        Self { words: [0; WORDS], has_nan: false, has_plus_infinity: false, has_minus_infinity: false }
    }
}

impl Superaccumulator {
    /// Adds a double.
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.has_nan |= value.is_nan();
            self.has_plus_infinity |= value == f64::INFINITY;
            self.has_minus_infinity |= value == f64::NEG_INFINITY;
            return;
        }
        let bits = value.to_bits();
        let exponent = (bits >> FRACTION_BITS & 0x7ff) as usize;
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        // A subnormal double has the exponent of the least normal one, and no leading bit.
        let (mantissa, shift) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << FRACTION_BITS, exponent - 1),
        };
        let wide = u128::from(mantissa) << (shift % 64);
        let (first, low, high) = (shift / 64, wide as u64, (wide >> 64) as u64);
        if value.is_sign_negative() {
            self.subtract_words(first, low, high);
        } else {
            self.add_words(first, low, high);
        }
    }

    fn add_words(&mut self, first: usize, low: u64, high: u64) {
        let (sum, carry) = self.words[first].overflowing_add(low);
        self.words[first] = sum;
        let (mut next, mut more) = (first + 1, u128::from(high) + u128::from(carry));
        while more != 0 && next < WORDS {
            more += u128::from(self.words[next]);
            self.words[next] = more as u64;
            (more, next) = (more >> 64, next + 1);
        }
    }

    fn subtract_words(&mut self, first: usize, low: u64, high: u64) {
        let (difference, borrow) = self.words[first].overflowing_sub(low);
        self.words[first] = difference;
        let (mut next, mut less) = (first + 1, u128::from(high) + u128::from(borrow));
        while less != 0 && next < WORDS {
            let (difference, borrow) = u128::from(self.words[next]).overflowing_sub(less);
            self.words[next] = difference as u64;
            (less, next) = (u128::from(borrow), next + 1);
        }
    }

    /// Adds another sum.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut carry = 0;
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            let sum = u128::from(*word) + u128::from(*more) + carry;
            (*word, carry) = (sum as u64, sum >> 64);
        }
        self.has_nan |= other.has_nan;
        self.has_plus_infinity |= other.has_plus_infinity;
        self.has_minus_infinity |= other.has_minus_infinity;
    }

    /// The nearest double; of two the one whose last bit is 0. Sums beyond all doubles are infinite.
    pub(super) fn rounded(&self) -> f64 {
        match (self.has_nan, self.has_plus_infinity, self.has_minus_infinity) {
            (true, ..) | (_, true, true) => return f64::NAN,
            (_, true, _) => return f64::INFINITY,
            (_, _, true) => return f64::NEG_INFINITY,
            _ => {}
        }
        let is_negative = self.words[WORDS - 1] >> 63 == 1;
        let magnitude = if is_negative { self.negated() } else { self.words };
        let rounded = rounded(&magnitude);
        if is_negative { -rounded } else { rounded }
    }

    fn negated(&self) -> [u64; WORDS] {
        let mut carry = true;
        self.words.map(|word| {
            let (negated, overflows) = (!word).overflowing_add(u64::from(carry));
            carry = overflows;
            negated
        })
    }

    /// Bytes that [`decode`](Self::decode) reads.
    pub(super) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.has_nan)
            | u8::from(self.has_plus_infinity) << 1
            | u8::from(self.has_minus_infinity) << 2;
        let words = self.words.iter().flat_map(|word| word.to_le_bytes());
        std::iter::once(flags).chain(words).collect()
    }

    /// The sum that was encoded.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, CubeError> {
        let damaged = || CubeError::Computation {
            place: "sum".to_owned(),
            message: format!("{} bytes are no exact sum", bytes.len()),
        };
        let (flags, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (each, remainder) = rest.as_chunks::<8>();
        if each.len() != WORDS || !remainder.is_empty() {
            return Err(damaged());
        }
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(each) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(Self {
            words,
            has_nan: flags & 1 != 0,
            has_plus_infinity: flags & 2 != 0,
            has_minus_infinity: flags & 4 != 0,
        })
    }
}

/// The double nearest to so many units of 2^-1074.
fn rounded(words: &[u64; WORDS]) -> f64 {
    let Some(last) = words.iter().rposition(|word| *word != 0) else { return 0.0 };
    let highest = last * 64 + 63 - words[last].leading_zeros() as usize;
    let lowest = highest.saturating_sub(FRACTION_BITS as usize);
    let (word, offset) = (lowest / 64, lowest % 64);
    let upper = words.get(word + 1).copied().unwrap_or(0);
    let wide = u128::from(words[word]) | u128::from(upper) << 64;
    let mut mantissa = (wide >> offset) as u64 & ((2 << FRACTION_BITS) - 1);
    if lowest > 0 {
        let half = lowest - 1;
        let is_half = words[half / 64] >> (half % 64) & 1 == 1;
        let is_more = words[half / 64] & ((1 << (half % 64)) - 1) != 0
            || words[..half / 64].iter().any(|word| *word != 0);
        mantissa += u64::from(is_half && (is_more || mantissa & 1 == 1));
    }
    // Beyond the exponent of the largest double.
    if lowest >= 2_046 {
        return f64::INFINITY;
    }
    // The leading bit of the mantissa, and a carry out of it, count as one more of the exponent.
    f64::from_bits(((lowest as u64) << FRACTION_BITS) + mantissa)
}
