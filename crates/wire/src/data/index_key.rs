//! `IndexKey`: a value as the key of an index, hashed or sorted.

use super::{ToData, Value, compare::Number};
use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

/// A value that is equal, ordered and hashed as predicates see it: the int 1, the double 1.0 and the decimal 1.00 are one key. The
/// order is [`Value::total_cmp`].
///
/// ```
/// use filbert_wire::{IndexKey, Value};
/// use std::collections::HashMap;
///
/// let index = HashMap::from([(IndexKey(Value::Int(1)), "one")]);
/// assert_eq!(index.get(&IndexKey(Value::Double(1.0))), Some(&"one"));
/// ```
#[derive(Debug, Clone)]
pub struct IndexKey(
    /// The value.
    pub Value,
);

impl PartialEq for IndexKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for IndexKey {}

impl Ord for IndexKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for IndexKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (&self.0, Number::of(&self.0)) {
            (_, Some(number)) => hash_number(&number, state),
            (Value::String(text), _) => text.hash(state),
            // What cannot be written is all one key: equal to nothing that can.
            (value, _) => value.to_data().ok().hash(state),
        }
    }
}

fn hash_number<H: Hasher>(number: &Number<'_>, state: &mut H) {
    const SAFE: f64 = 9_007_199_254_740_992.0;
    match number {
        Number::Whole(number) => number.hash(state),
        Number::Float(number) if number.is_nan() => f64::NAN.to_bits().hash(state),
        Number::Float(number) if number.is_infinite() => number.to_bits().hash(state),
        // Most floating-point keys are small whole numbers, which need no digits. -0.0 is a key of its own; it may share a hash.
        Number::Float(number) if number.fract() == 0.0 && number.abs() < SAFE => {
            (*number as i64).hash(state);
        }
        other => {
            let digits = other.digits();
            match digits.to_i64() {
                Some(whole) => whole.hash(state),
                None => digits.hash(state),
            }
        }
    }
}
