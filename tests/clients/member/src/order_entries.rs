//! The comparator of the fixtures.

use filbert::grid::query::EntryComparator;
use filbert::wire::{Input, Value};
use filbert::{Data, FromData};
use std::cmp::Ordering;

/// Orders entries by the text of their keys, their values or both.
pub(crate) struct OrderEntries {
    /// 0 ascending, 1 descending, else by length.
    pub(crate) order: i32,
    /// 0 by the key, 1 by the value, else by both.
    pub(crate) by: i32,
}

impl OrderEntries {
    fn text(&self, (key, value): (&Data, &Data)) -> String {
        match self.by {
            0 => text(key),
            1 => text(value),
            _ => text(key) + &text(value),
        }
    }
}

impl EntryComparator for OrderEntries {
    fn compare(&self, left: (&Data, &Data), right: (&Data, &Data)) -> Ordering {
        let (left, right) = (self.text(left), self.text(right));
        let by_units = || left.encode_utf16().cmp(right.encode_utf16());
        match self.order {
            0 => by_units(),
            1 => by_units().reverse(),
            _ => left.encode_utf16().count().cmp(&right.encode_utf16().count()),
        }
    }
}

/// What Java's `toString` gives of numbers and texts; the tests order nothing else.
fn text(data: &Data) -> String {
    match Value::read_payload(data.type_id(), &mut Input::new(data.payload())) {
        Ok(Value::String(text)) => text.to_string(),
        Ok(Value::Int(number)) => number.to_string(),
        Ok(Value::Long(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::ToData;

    fn compare(order: i32, by: i32, left: (i32, &str), right: (i32, &str)) -> Ordering {
        let data = |(key, value): (i32, &str)| (key.to_data().unwrap(), value.to_data().unwrap());
        let ((left_key, left_value), (right_key, right_value)) = (data(left), data(right));
        OrderEntries { order, by }.compare((&left_key, &left_value), (&right_key, &right_value))
    }

    #[test]
    fn orders_by_text_or_length_of_key_value_or_both() {
        assert_eq!(compare(0, 0, (10, "b"), (9, "a")), Ordering::Less);
        assert_eq!(compare(1, 0, (10, "b"), (9, "a")), Ordering::Greater);
        assert_eq!(compare(0, 1, (10, "b"), (9, "a")), Ordering::Greater);
        assert_eq!(compare(2, 1, (1, "zz"), (1, "aaa")), Ordering::Less);
        assert_eq!(compare(0, 2, (1, "2"), (12, "")), Ordering::Equal);
    }
}
