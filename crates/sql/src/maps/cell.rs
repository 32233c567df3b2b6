//! One stored value on its way into a column; text is borrowed from the entry where it can be.

use filbert_wire::{BigInteger, Value};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// One stored value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(Cow<'a, str>),
    Value(Value),
}

impl Cell<'_> {
    pub(crate) const NULL: Cell<'static> = Cell::Value(Value::Null);

    /// The value in memory of its own.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Cell::Text(text) => Value::String(text.into_owned()),
            Cell::Value(value) => value,
        }
    }
}

/// Puts the members of a JSON object that are wanted into their cells and goes over the others. JSON that is no object has no members.
pub(crate) fn pick_members<'a>(
    json: &'a str,
    wanted: &[(String, usize)],
    cells: &mut [Cell<'a>],
) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_any(Members { wanted, cells })?;
    reader.end()
}

/// All members of a JSON object; nothing when it is no object.
pub(crate) fn all_members(json: &str) -> Result<Option<Vec<(String, Cell<'_>)>>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let members = reader.deserialize_any(AllMembers)?;
    reader.end()?;
    Ok(members)
}

/// Answers for JSON that is no object.
macro_rules! no_object {
    ($nothing:expr) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok($nothing)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON")
        }
    };
}

struct Members<'w, 'c, 'de> {
    wanted: &'w [(String, usize)],
    cells: &'c mut [Cell<'de>],
}

impl<'de> Visitor<'de> for Members<'_, '_, 'de> {
    type Value = ();

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(place) = members.next_key_seed(Wanted(self.wanted))? {
            match place {
                Some(place) => self.cells[place] = members.next_value_seed(ReadCell)?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    no_object!(());
}

struct AllMembers;

impl<'de> Visitor<'de> for AllMembers {
    type Value = Option<Vec<(String, Cell<'de>)>>;

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            found.push((name, members.next_value_seed(ReadCell)?));
        }
        Ok(Some(found))
    }

    no_object!(None);
}

/// Whether a member is wanted, and for which cell.
struct Wanted<'w>(&'w [(String, usize)]);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Option<usize>, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Wanted<'_> {
    type Value = Option<usize>;

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().find(|(wanted, _)| wanted == name).map(|(_, place)| *place))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
}

/// The value of a member; objects and lists within become JSON text.
struct ReadCell;

impl<'de> DeserializeSeed<'de> for ReadCell {
    type Value = Cell<'de>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Cell<'de>, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadCell {
    type Value = Cell<'de>;

    fn visit_bool<E: Error>(self, value: bool) -> Result<Cell<'de>, E> {
        Ok(Cell::Value(Value::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Value(Value::Long(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell<'de>, E> {
        let wide = || Value::BigInteger(BigInteger::from(i128::from(value)));
        Ok(Cell::Value(i64::try_from(value).map_or_else(|_| wide(), Value::Long)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Cell<'de>, E> {
        Ok(Cell::Value(Value::Double(value)))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::NULL)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Cell<'de>, A::Error> {
        let json = serde_json::Value::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(Cell::Value(Value::Json(json.to_string())))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Cell<'de>, A::Error> {
        let json = serde_json::Value::deserialize(MapAccessDeserializer::new(members))?;
        Ok(Cell::Value(Value::Json(json.to_string())))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(json: &str, names: &[&str]) -> Vec<Value> {
        let wanted: Vec<_> =
            names.iter().enumerate().map(|(place, name)| ((*name).to_owned(), place)).collect();
        let mut cells = vec![Cell::NULL; names.len()];
        pick_members(json, &wanted, &mut cells).unwrap();
        cells.into_iter().map(Cell::into_value).collect()
    }

    #[test]
    fn wanted_members_are_found_wherever_they_are() {
        let json = r#"{"a":1,"skip":{"b":[1,2,{"a":9}]},"b":"x","c":{"d":[true,null]},"e":1.5,"f":18446744073709551615}"#;
        assert_eq!(picked(json, &["b", "a"]), [Value::String("x".into()), Value::Long(1)]);
        assert_eq!(picked(json, &["c", "none"]), [Value::Json(r#"{"d":[true,null]}"#.into()), Value::Null]);
        assert_eq!(picked(json, &["e"]), [Value::Double(1.5)]);
        assert_eq!(picked(json, &["f"]), [Value::BigInteger(BigInteger::from(u64::MAX as i128))]);
        assert_eq!(picked(r#"{"a":"\u00e4"}"#, &["a"]), [Value::String("ä".into())]);
    }

    #[test]
    fn json_that_is_no_object_has_no_members_and_what_is_no_json_is_an_error() {
        for json in ["1", "null", "\"a\"", "[{\"a\":1}]", "true", "1.5"] {
            assert_eq!(picked(json, &["a"]), [Value::Null]);
            assert_eq!(all_members(json).unwrap(), None);
        }
        for json in ["", "{", "{\"a\":1}x", "{\"a\"}"] {
            assert!(pick_members(json, &[("a".into(), 0)], &mut [Cell::NULL]).is_err(), "{json}");
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(pick_members(&format!("{{\"a\":{deep}}}"), &[("a".into(), 0)], &mut [Cell::NULL]).is_err());
    }
}
