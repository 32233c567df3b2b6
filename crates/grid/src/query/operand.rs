//! `Operand`: the value that a predicate compares attributes with, in every form that it may be compared in.
//!
//! Hazelcast converts the given value to the attribute's type before it compares: the text `"30"` is the number 30 for an attribute that is a
//! number. Which type an attribute has is known only entry by entry, so the forms are made once, when the predicate is.
//!
//! Numbers are compared by their exact value. Hazelcast turns the given number into the attribute's type first and may lose a fraction on
//! the way; and where a text cannot be converted it fails the query, while here the entry just does not match.

use filbert_wire::Value;
use std::cmp::Ordering;

/// A value to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    value: Value,
    /// The same as number, boolean, text and so on; never of the kind of `value`.
    forms: Vec<Value>,
}

impl Operand {
    /// The value to compare with.
    pub fn new(value: Value) -> Self {
        let forms = match &value {
            Value::String(text) => forms_of_text(text),
            other => text_of(other).map(Value::String).into_iter().collect(),
        };
        Self { value, forms }
    }

    /// The value as it was given.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Whether it is null: equal to attributes that are null or missing, and to no other.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// The order of an attribute and this value; `None` when they have none, as with null on either side.
    pub(crate) fn order(&self, attribute: &Value) -> Option<Ordering> {
        if attribute.is_null() || self.is_null() {
            return None;
        }
        attribute.compare(&self.value).or_else(|| self.forms.iter().find_map(|form| attribute.compare(form)))
    }

    /// Whether an attribute equals this value; null equals null.
    pub(crate) fn equals(&self, attribute: &Value) -> bool {
        (attribute.is_null() && self.is_null()) || self.order(attribute) == Some(Ordering::Equal)
    }

    /// All forms in which attributes may equal it, one per kind: what an index is asked for.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.value).chain(&self.forms)
    }
}

/// Several values to compare with, found by binary search.
#[derive(Debug, Clone, PartialEq)]
pub struct Operands {
    list: Vec<Operand>,
    /// All forms of all of them.
    sorted: Vec<Value>,
}

impl Operands {
    /// As they were given.
    pub fn as_slice(&self) -> &[Operand] {
        &self.list
    }

    /// Whether an attribute equals one of them.
    pub(crate) fn contain(&self, attribute: &Value) -> bool {
        self.sorted.binary_search_by(|form| form.total_cmp(attribute)).is_ok()
    }

    /// The forms in which an attribute may equal one of them, each once.
    pub(crate) fn forms(&self) -> &[Value] {
        &self.sorted
    }
}

impl FromIterator<Operand> for Operands {
    fn from_iter<I: IntoIterator<Item = Operand>>(operands: I) -> Self {
        let list: Vec<_> = operands.into_iter().collect();
        let mut sorted: Vec<_> = list.iter().flat_map(Operand::forms).cloned().collect();
        sorted.sort_by(Value::total_cmp);
        sorted.dedup_by(|left, right| left.total_cmp(right).is_eq());
        Self { list, sorted }
    }
}

macro_rules! operands {
    ($($type:ty => $value:expr;)*) => {$(
        impl From<$type> for Operand {
            fn from(value: $type) -> Self {
                Self::new($value(value))
            }
        }
    )*};
}

operands! {
    Value => |value| value;
    bool => Value::Bool;
    i32 => Value::Int;
    i64 => Value::Long;
    f64 => Value::Double;
    String => Value::String;
    &str => |text: &str| Value::String(text.to_owned());
}

/// What a text means to attributes that are no text.
fn forms_of_text(text: &str) -> Vec<Value> {
    let mut forms = Vec::new();
    let trimmed = text.trim();
    if let Ok(number) = trimmed.parse() {
        forms.push(Value::Long(number));
    } else if trimmed.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) {
        forms.extend(trimmed.parse().ok().map(Value::Double));
    }
    if trimmed.eq_ignore_ascii_case("true") || trimmed.eq_ignore_ascii_case("false") {
        forms.push(Value::Bool(trimmed.eq_ignore_ascii_case("true")));
    }
    if let Ok(uuid) = uuid::Uuid::try_parse(trimmed) {
        forms.push(Value::Uuid(uuid));
    }
    let mut units = text.encode_utf16();
    if let (Some(unit), None) = (units.next(), units.next()) {
        forms.push(Value::Char(unit));
    }
    forms
}

/// What a number or boolean means to attributes that are text.
fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::Byte(number) => number.to_string(),
        Value::Short(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        // With a decimal point, as Java writes it.
        Value::Float(number) => format!("{number:?}"),
        Value::Double(number) => format!("{number:?}"),
        Value::BigInteger(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Uuid(uuid) => uuid.to_string(),
        Value::Char(unit) => char::from_u32((*unit).into())?.to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::String(text.into())
    }

    #[test]
    fn text_is_converted_to_the_kind_of_the_attribute() {
        let thirty = Operand::new(text("30"));
        assert!(
            thirty.equals(&Value::Int(30))
                && thirty.equals(&Value::Double(30.0))
                && thirty.equals(&text("30"))
        );
        assert!(!thirty.equals(&text("30.0")));
        assert!(Operand::new(text("TRUE")).equals(&Value::Bool(true)));
        assert_eq!(Operand::new(text("x")).order(&Value::Int(1)), None);
        assert!(Operand::new(Value::Int(5)).equals(&text("5")));
    }

    #[test]
    fn null_equals_null_only() {
        let null = Operand::new(Value::Null);
        assert!(null.equals(&Value::Null) && !null.equals(&Value::Int(0)));
        assert_eq!(null.order(&Value::Null), None);
        assert!(!Operand::new(Value::Int(0)).equals(&Value::Null));
    }
}
