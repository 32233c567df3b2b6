//! Decimal numbers on their way into a column, which has one scale for all of them.
//!
//! A column that nobody gave digits has 38 of them, in 128 bits, or 76 in 256 where those that were
//! looked at need more. Such numbers have scales of their own in the map; [`without_zeros`] finds a
//! number's own scale again, as the shortest that loses no digit.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, i256};
use filbert_wire::{BigInteger, Decimal};

/// Bytes of the widest number that columns hold.
const WIDEST_BYTES: usize = 32;

/// Digits of a number that no column holds: it is enough to know that they are too many.
const TOO_MANY: u32 = 1_000;

/// True for the type of decimal numbers that have scales of their own: nobody said with how many
/// digits, so there are all that fit.
///
/// ```
/// use arrow::datatypes::DataType;
///
/// assert!(filbert_sql::has_own_scales(&DataType::Decimal128(38, 6)));
/// assert!(!filbert_sql::has_own_scales(&DataType::Decimal128(10, 2)));
/// ```
pub fn has_own_scales(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal128(DECIMAL128_MAX_PRECISION, _) | DataType::Decimal256(DECIMAL256_MAX_PRECISION, _)
    )
}

/// Takes the zeros away from the end of a number's fraction: the digits that stay, and how many of
/// them stand behind the point.
///
/// ```
/// use arrow::datatypes::i256;
///
/// assert_eq!(filbert_sql::without_zeros(i256::from(2_500), 3), (i256::from(25), 1));
/// assert_eq!(filbert_sql::without_zeros(i256::from(480), 0), (i256::from(480), 0));
/// ```
pub fn without_zeros(mut unscaled: i256, mut scale: i8) -> (i256, i8) {
    const TEN: i256 = i256::from_i128(10);
    while scale > 0 {
        let shorter = unscaled.wrapping_div(TEN);
        if shorter.wrapping_mul(TEN) != unscaled {
            break;
        }
        (unscaled, scale) = (shorter, scale - 1);
    }
    (unscaled, scale)
}

/// The stored number for digits of a column.
pub(super) fn stored(unscaled: i256, scale: i8) -> Decimal {
    match BigInteger::from_be_bytes(&unscaled.to_be_bytes()) {
        Ok(digits) => Decimal::from_parts(digits, scale.into()),
        Err(_) => unreachable!("{WIDEST_BYTES} bytes are few"),
    }
}

/// The digits of a stored number before its point and behind it.
pub(super) fn digits(number: &Decimal) -> (u32, u32) {
    let all = match number.unscaled().as_be_bytes().len() {
        ..=WIDEST_BYTES => number.unscaled().to_string().trim_start_matches('-').len() as u32,
        _ => TOO_MANY,
    };
    let behind = number.scale().max(0) as u32;
    let zeros = number.scale().min(0).unsigned_abs();
    (all.saturating_add(zeros).saturating_sub(behind).min(TOO_MANY), behind.min(TOO_MANY))
}

/// A number in 256 bits, where it fits.
fn wide(number: &BigInteger) -> Option<i256> {
    let bytes = number.as_be_bytes();
    let sign = if number.is_negative() { 0xff } else { 0 };
    let mut whole = [sign; WIDEST_BYTES];
    let start = WIDEST_BYTES.checked_sub(bytes.len())?;
    whole[start..].copy_from_slice(bytes);
    Some(i256::from_be_bytes(whole))
}

/// The digits of a number with `to` of them behind the point; nothing when one other than zero
/// would be lost, or there are too many.
pub(super) fn scaled(number: &BigInteger, from: i32, to: i8) -> Option<i256> {
    match number.to_i128().and_then(|number| scaled_128(number, from, to)) {
        Some(number) => Some(i256::from_i128(number)),
        None => scaled_256(wide(number)?, from, to),
    }
}

/// As [`scaled`], of what 128 bits hold.
fn scaled_128(unscaled: i128, from: i32, to: i8) -> Option<i128> {
    if unscaled == 0 {
        return Some(0);
    }
    let digits = i32::from(to).checked_sub(from)?;
    let factor = 10_i128.checked_pow(digits.unsigned_abs())?;
    if digits >= 0 {
        unscaled.checked_mul(factor)
    } else {
        (unscaled % factor == 0).then(|| unscaled / factor)
    }
}

fn scaled_256(unscaled: i256, from: i32, to: i8) -> Option<i256> {
    let digits = i32::from(to).checked_sub(from)?;
    let factor = i256::from_i128(10).checked_pow(digits.unsigned_abs())?;
    if digits >= 0 {
        return unscaled.checked_mul(factor);
    }
    let shorter = unscaled.checked_div(factor)?;
    (shorter.checked_mul(factor)? == unscaled).then_some(shorter)
}

/// The number, if it has at most so many digits.
pub(super) fn within(number: i256, precision: u8) -> Option<i256> {
    let fits = match number.to_i128() {
        Some(number) => {
            10_u128.checked_pow(precision.into()).is_none_or(|limit| number.unsigned_abs() < limit)
        }
        None => i256::from_i128(10)
            .checked_pow(precision.into())
            .is_none_or(|limit| number < limit && number > limit.wrapping_neg()),
    };
    fits.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_keep_their_digits_or_are_refused() {
        let long = "-12345678901234567890123456789012345678901";
        let wide_number = i256::from_string(long).unwrap();
        let number = stored(wide_number, 3);
        assert_eq!(number.to_string(), "-12345678901234567890123456789012345678.901");
        assert_eq!(digits(&number), (38, 3));
        assert_eq!(scaled(number.unscaled(), 3, 3), Some(wide_number));
        assert_eq!(scaled(number.unscaled(), 3, 5), Some(wide_number.wrapping_mul(i256::from(100))));
        assert_eq!(scaled(number.unscaled(), 3, 2), None, "a digit would be lost");
        assert_eq!((within(wide_number, 41), within(wide_number, 40)), (Some(wide_number), None));

        let small = |unscaled: i128, scale| digits(&Decimal::new(unscaled, scale));
        assert_eq!(small(48, 0), (2, 0));
        assert_eq!(small(5, 3), (0, 3));
        assert_eq!(small(-5, -3), (4, 0));
        assert_eq!(small(1, i32::MIN), (TOO_MANY, 0));
        assert_eq!(scaled(&BigInteger::from(1), i32::MIN, 2), None);
        assert_eq!(scaled(&BigInteger::from(0), i32::MAX, 2), Some(i256::ZERO));
        let huge = BigInteger::from_be_bytes(&[1; 100]).unwrap();
        assert_eq!(scaled(&huge, 0, 0), None);
        assert_eq!(digits(&Decimal::from_parts(huge, 0)), (TOO_MANY, 0));
    }

    #[test]
    fn a_number_without_zeros_is_the_same_number() {
        let short = |unscaled: i128, scale| {
            let (unscaled, scale) = without_zeros(i256::from_i128(unscaled), scale);
            stored(unscaled, scale).to_string()
        };
        assert_eq!(short(480_000, 4), "48");
        assert_eq!(short(-2_500, 3), "-2.5");
        assert_eq!(short(480, 0), "480");
        assert_eq!(short(0, 9), "0");
        assert_eq!(short(1_205, 2), "12.05");
    }
}
