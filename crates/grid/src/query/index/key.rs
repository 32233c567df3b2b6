//! `IndexKey`: the values of an index's attributes in one entry, with the order and equality that predicates have: 1 as an int, a long or
//! a double is one key.
//!
//! Values of different kinds stand apart: all numbers, then all texts, and so on. A range never leaves its kind, as no number is greater
//! or less than a text; the edges of kinds are parts of their own, which no entry has.

use filbert_wire::Value;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The values of an index's attributes in one entry.
#[derive(Debug, Clone)]
pub struct IndexKey(Parts);

#[derive(Debug, Clone)]
enum Parts {
    One(Part),
    Many(Box<[Part]>),
}

/// One value, or an edge between values.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Value(Value),
    /// Before all values of a kind.
    Start(u8),
    /// After all texts that begin like this.
    AfterPrefix(Box<str>),
    /// After all values of a kind.
    End(u8),
    /// After everything.
    Last,
}

/// The kind of values without an order of their own: equal or not, nothing else.
pub(super) const UNORDERED: u8 = 11;

const TEXT: u8 = 4;

/// Values of one kind are ordered among each other, and stand together.
pub(super) fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Byte(_)
        | Value::Short(_)
        | Value::Int(_)
        | Value::Long(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::BigInteger(_)
        | Value::Decimal(_) => 2,
        Value::Char(_) => 3,
        Value::String(_) => TEXT,
        Value::Uuid(_) => 5,
        Value::Date(_) => 6,
        Value::LocalDate(_) => 7,
        Value::LocalTime(_) => 8,
        Value::LocalDateTime(_) => 9,
        Value::OffsetDateTime(_) => 10,
        _ => UNORDERED,
    }
}

impl IndexKey {
    pub(crate) fn one(value: Value) -> Self {
        Self(Parts::One(Part::Value(value)))
    }

    pub(super) fn many(values: impl IntoIterator<Item = Value>) -> Self {
        Self(Parts::Many(values.into_iter().map(Part::Value).collect()))
    }

    /// A key or an edge, from some values and perhaps one part more.
    pub(super) fn of_parts(mut parts: Vec<Part>) -> Self {
        match parts.len() {
            1 => Self(Parts::One(parts.remove(0))),
            _ => Self(Parts::Many(parts.into())),
        }
    }

    fn parts(&self) -> &[Part] {
        match &self.0 {
            Parts::One(part) => std::slice::from_ref(part),
            Parts::Many(parts) => parts,
        }
    }

    /// Its first value.
    pub(crate) fn first(&self) -> Option<&Value> {
        match self.parts().first() {
            Some(Part::Value(value)) => Some(value),
            _ => None,
        }
    }
}

impl Part {
    /// Kind, and place in the kind: at its start, inside, at its end.
    fn place(&self) -> (u8, u8) {
        match self {
            Part::Value(value) => (kind(value), 1),
            Part::Start(kind) => (*kind, 0),
            Part::AfterPrefix(_) => (TEXT, 1),
            Part::End(kind) => (*kind, 2),
            Part::Last => (u8::MAX, 0),
        }
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place()).then_with(|| match (self, other) {
            (Part::Value(left), Part::Value(right)) => {
                left.compare(right).unwrap_or_else(|| left.total_cmp(right))
            }
            (Part::AfterPrefix(prefix), Part::Value(value)) => after_prefix(prefix, value),
            (Part::Value(value), Part::AfterPrefix(prefix)) => after_prefix(prefix, value).reverse(),
            (Part::AfterPrefix(left), Part::AfterPrefix(right)) if left == right => Ordering::Equal,
            // The end of all that begins with `a` comes after the end of all that begins with `ab`.
            (Part::AfterPrefix(left), Part::AfterPrefix(right)) => {
                if left.starts_with(&**right) {
                    Ordering::Less
                } else {
                    after_prefix(left, &Value::String(right.to_string()))
                }
            }
            _ => Ordering::Equal,
        })
    }
}

fn after_prefix(prefix: &str, value: &Value) -> Ordering {
    match value {
        Value::String(text) if text.starts_with(prefix) => Ordering::Greater,
        value => Value::String(prefix.to_owned()).total_cmp(value),
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Part {}

impl Ord for IndexKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(other.parts())
    }
}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for IndexKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for IndexKey {}

impl Hash for IndexKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for part in self.parts() {
            let (kind, place) = part.place();
            state.write_u8(kind);
            state.write_u8(place);
            if let Part::Value(value) = part {
                hash_value(value, state);
            }
        }
    }
}

/// Equal numbers of all types have the same nearest double. Values of rare kinds all have one hash: correct, if slow.
fn hash_value<H: Hasher>(value: &Value, state: &mut H) {
    if let Some(number) = double(value) {
        // Also -0.0 and 0.0, which are not equal, may have one hash.
        return state.write_u64(if number.is_nan() { 0 } else { (number + 0.0).to_bits() });
    }
    match value {
        Value::Bool(value) => value.hash(state),
        Value::Char(unit) => unit.hash(state),
        Value::String(text) => text.hash(state),
        Value::Uuid(uuid) => uuid.hash(state),
        Value::Date(milliseconds) => milliseconds.hash(state),
        Value::LocalDate(date) => date.hash(state),
        Value::LocalTime(time) => time.hash(state),
        Value::LocalDateTime(moment) => moment.hash(state),
        Value::OffsetDateTime(moment) => moment.hash(state),
        Value::Json(text) => text.hash(state),
        _ => {}
    }
}

/// Any number, as near as a double comes.
pub(crate) fn double(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Byte(number) => (*number).into(),
        Value::Short(number) => (*number).into(),
        Value::Int(number) => (*number).into(),
        Value::Long(number) => *number as f64,
        Value::Float(number) => (*number).into(),
        Value::Double(number) => *number,
        Value::BigInteger(number) => number.to_string().parse().ok()?,
        Value::Decimal(number) => number.to_string().parse().ok()?,
        _ => return None,
    })
}
