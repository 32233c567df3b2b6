//! One stored value on its way into a column; text is borrowed from the entry where it can be.

use filbert_wire::Value;
use std::borrow::Cow;

/// One stored value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(Cow<'a, str>),
    Value(Value),
}

impl<'a> Cell<'a> {
    pub(crate) const NULL: Cell<'static> = Cell::Value(Value::Null);

    pub(crate) fn of_text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// The value in memory of its own.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Cell::Text(text) => Value::String(text.into_owned()),
            Cell::Value(value) => value,
        }
    }
}
