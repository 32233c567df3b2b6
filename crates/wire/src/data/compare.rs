//! How values are ordered, as Hazelcast's predicates and sorted indexes do.
//!
//! Numbers of all kinds stand on one line, whatever their type: whole numbers and floating-point numbers are compared exactly, never by
//! rounding one to the other. Hazelcast refuses to compare an int with a BigDecimal; here that works as well.

use super::{BigInteger, Decimal, ToData, Value, number::Digits};
use std::cmp::Ordering;

impl Value {
    /// The order of two values, if they have one: numbers among each other, strings, booleans, chars, UUIDs, dates. Values of other
    /// kinds are equal or have no order, and null is equal to null only.
    ///
    /// As in Java, strings are ordered by UTF-16 code units, UUIDs by their signed halves, -0.0 comes before 0, and NaN after all
    /// other numbers and equal to itself.
    ///
    /// ```
    /// use filbert_wire::{Decimal, Value};
    /// use std::cmp::Ordering::{Equal, Less};
    ///
    /// assert_eq!(Value::Int(1).compare(&Value::Double(1.5)), Some(Less));
    /// assert_eq!(Value::Decimal(Decimal::new(10, 2)).compare(&Value::Double(0.1)), Some(Equal));
    /// assert_eq!(Value::Int(1).compare(&Value::String("1".into())), None);
    /// ```
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (Number::of(self), Number::of(other)) {
            return Some(left.compare(&right));
        }
        Some(match (self, other) {
            (Self::String(left), Self::String(right)) => compare_text(left, right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Char(left), Self::Char(right)) => left.cmp(right),
            (Self::Uuid(left), Self::Uuid(right)) => {
                let halves = |uuid: &uuid::Uuid| {
                    let (high, low) = uuid.as_u64_pair();
                    (high as i64, low as i64)
                };
                halves(left).cmp(&halves(right))
            }
            (Self::LocalDate(left), Self::LocalDate(right)) => left.cmp(right),
            (Self::LocalTime(left), Self::LocalTime(right)) => left.cmp(right),
            (Self::LocalDateTime(left), Self::LocalDateTime(right)) => left.cmp(right),
            (Self::OffsetDateTime(left), Self::OffsetDateTime(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            _ if self.identical(other) => Ordering::Equal,
            _ => return None,
        })
    }

    /// Whether the two are written with the same bytes. Unlike `==`, NaN is itself, and -0.0 is not 0.0.
    fn identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => left.to_bits() == right.to_bits(),
            (Self::Double(left), Self::Double(right)) => left.to_bits() == right.to_bits(),
            (Self::FloatArray(left), Self::FloatArray(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.to_bits() == r.to_bits())
            }
            (Self::DoubleArray(left), Self::DoubleArray(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.to_bits() == r.to_bits())
            }
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.identical(r))
            }
            _ => self == other,
        }
    }

    /// Whether a predicate takes the two for equal: 1 and 1.0 are, whatever their types.
    pub fn same(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Equal)
    }

    /// An order of all values, for sorting and for indexes: as [`Value::compare`] where that has an answer; null first, then kind by
    /// kind; what has no order of its own, by its bytes.
    pub fn total_cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| {
            let bytes = |value: &Self| value.to_data().map(|data| data.identity().to_vec());
            self.compare(other).unwrap_or_else(|| match (bytes(self), bytes(other)) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                // Nested too deeply to be written: after all others.
                (left, right) => left.is_err().cmp(&right.is_err()),
            })
        })
    }

    /// Kinds that have an order among themselves share a rank.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            _ if Number::of(self).is_some() => 2,
            Self::Char(_) => 3,
            Self::String(_) => 4,
            Self::Uuid(_) => 5,
            Self::Date(_) => 6,
            Self::LocalDate(_) => 7,
            Self::LocalTime(_) => 8,
            Self::LocalDateTime(_) => 9,
            Self::OffsetDateTime(_) => 10,
            Self::Json(_) => 11,
            _ => 12,
        }
    }
}

/// Java's order of strings: by UTF-16 code units. It differs from the order of code points only where a character beyond the first plane
/// (written with surrogates, D800 to DFFF) meets one of E000 to FFFF.
pub(crate) fn compare_text(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    match left.iter().zip(right).find(|(left, right)| left != right) {
        // In UTF-8, four-byte characters begin with F0 or more, and E000 to FFFF with EE or EF.
        Some((0xf0.., 0xee | 0xef)) => Ordering::Less,
        Some((0xee | 0xef, 0xf0..)) => Ordering::Greater,
        Some((left, right)) => left.cmp(right),
        None => left.len().cmp(&right.len()),
    }
}

/// A number of any kind.
pub(super) enum Number<'a> {
    Whole(i64),
    Float(f64),
    Big(&'a BigInteger),
    Decimal(&'a Decimal),
}

impl<'a> Number<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Byte(number) => Self::Whole((*number).into()),
            Value::Short(number) => Self::Whole((*number).into()),
            Value::Int(number) => Self::Whole((*number).into()),
            Value::Long(number) => Self::Whole(*number),
            Value::Float(number) => Self::Float((*number).into()),
            Value::Double(number) => Self::Float(*number),
            Value::BigInteger(number) => Self::Big(number),
            Value::Decimal(number) => Self::Decimal(number),
            _ => return None,
        })
    }

    fn compare(&self, other: &Number<'_>) -> Ordering {
        match (self, other) {
            (Self::Whole(left), Number::Whole(right)) => left.cmp(right),
            (Self::Float(left), Number::Float(right)) => compare_floats(*left, *right),
            (Self::Whole(left), Number::Float(right)) => compare_mixed(*left, *right),
            (Self::Float(left), Number::Whole(right)) => compare_mixed(*right, *left).reverse(),
            (Self::Big(left), Number::Big(right)) => left.cmp(right),
            (Self::Decimal(left), Number::Decimal(right)) => left.compare(right),
            (Self::Float(left), _) => compare_with_float(&other.digits(), *left).reverse(),
            (_, Number::Float(right)) => compare_with_float(&self.digits(), *right),
            _ => self.digits().compare(&other.digits()),
        }
    }

    /// The decimal digits; the number is finite.
    pub(super) fn digits(&self) -> Digits {
        match self {
            Self::Whole(number) => Digits::of_integer(&i128::from(*number).into()),
            Self::Float(number) => Digits::of_float(*number),
            Self::Big(number) => Digits::of_integer(number),
            Self::Decimal(number) => Digits::of_decimal(number),
        }
    }
}

/// All NaNs are one, the largest; -0.0 comes before 0.0.
fn compare_floats(left: f64, right: f64) -> Ordering {
    let one_nan = |number: f64| if number.is_nan() { f64::NAN.abs() } else { number };
    one_nan(left).total_cmp(&one_nan(right))
}

fn compare_mixed(whole: i64, float: f64) -> Ordering {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() || float >= TWO_TO_63 {
        return Ordering::Less;
    }
    if float < -TWO_TO_63 {
        return Ordering::Greater;
    }
    // In this range cutting off the fraction is exact, and the fraction decides what is left.
    // Minus zero has to stay what it is, which the subtraction in `fract` would not do.
    let (cut, fraction) = (float as i64, if float == 0.0 { float } else { float.fract() });
    whole.cmp(&cut).then(compare_floats(0.0, fraction))
}

fn compare_with_float(number: &Digits, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        Ordering::Less
    } else if float == f64::NEG_INFINITY {
        Ordering::Greater
    } else {
        let minus_zero = float == 0.0 && float.is_sign_negative();
        let by_value = number.compare(&Digits::of_float(float));
        if by_value.is_eq() && minus_zero { Ordering::Greater } else { by_value }
    }
}
