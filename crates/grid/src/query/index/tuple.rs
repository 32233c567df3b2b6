//! `IndexTuple`: the values of an index's attributes in one entry, each equal, ordered and hashed as predicates see it ([`IndexKey`]).
//!
//! Values of different kinds stand apart: all numbers, then all texts, and so on. A range never leaves its kind, as no number is greater
//! or less than a text; the edges of kinds are parts of their own, which no entry has.

use filbert_wire::{IndexKey, Value};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The values of an index's attributes in one entry.
#[derive(Debug, Clone)]
pub(super) struct IndexTuple(Parts);

#[derive(Debug, Clone)]
enum Parts {
    One(Part),
    Many(Box<[Part]>),
}

/// One value, or an edge between values.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Value(IndexKey),
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

impl IndexTuple {
    pub(super) fn one(value: Value) -> Self {
        Self(Parts::One(Part::value(value)))
    }

    pub(super) fn many(values: impl IntoIterator<Item = Value>) -> Self {
        Self(Parts::Many(values.into_iter().map(Part::value).collect()))
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
}

impl Part {
    pub(super) fn value(value: Value) -> Self {
        Part::Value(IndexKey(value))
    }

    /// Kind, and place in the kind: at its start, inside, at its end.
    fn place(&self) -> (u8, u8) {
        match self {
            Part::Value(IndexKey(value)) => (kind(value), 1),
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
            (Part::Value(left), Part::Value(right)) => left.cmp(right),
            (Part::AfterPrefix(prefix), Part::Value(IndexKey(value))) => after_prefix(prefix, value),
            (Part::Value(IndexKey(value)), Part::AfterPrefix(prefix)) => {
                after_prefix(prefix, value).reverse()
            }
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

impl Ord for IndexTuple {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(other.parts())
    }
}

impl PartialOrd for IndexTuple {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for IndexTuple {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for IndexTuple {}

impl Hash for IndexTuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for part in self.parts() {
            let (kind, place) = part.place();
            state.write_u8(kind);
            state.write_u8(place);
            if let Part::Value(value) = part {
                value.hash(state);
            }
        }
    }
}
