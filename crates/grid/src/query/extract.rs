//! Takes attributes out of entries: from JSON by streaming over the text, from Compact by its schema, from lists by position, and
//! `this` and `__key` from whatever reads as a value.

use super::attribute::{Attribute, PathStep};
use super::error::QueryError;
use super::json;
use filbert_wire::compact::{CompactRecord, SchemaSource};
use filbert_wire::{Data, DecodeError, FromData, Input, Value, type_id};
use std::cell::RefCell;

/// What an attribute is in one entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Extracted {
    /// One value; null when the entry does not have the attribute.
    One(Value),
    /// What a path with `[any]` leads to.
    Many(Vec<Value>),
}

impl Extracted {
    /// The values, of which there may be one, none or many.
    pub fn values(&self) -> &[Value] {
        match self {
            Extracted::One(value) => std::slice::from_ref(value),
            Extracted::Many(values) => values,
        }
    }
}

/// An entry as queries see it: key and value in their serialized form, read as far as needed.
///
/// ```
/// use filbert_grid::query::{Entry, Extracted};
/// use filbert_wire::{Json, ToData, Value, compact::NO_SCHEMAS};
/// use std::collections::BTreeMap;
///
/// let (key, value) = (1.to_data()?, Json(BTreeMap::from([("age", 36)])).to_data()?);
/// let entry = Entry::new(&key, &value, NO_SCHEMAS);
/// assert_eq!(entry.extract(&"age".parse()?)?, Extracted::One(Value::Long(36)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Entry<'a> {
    key: &'a [u8],
    value: &'a [u8],
    schemas: &'a dyn SchemaSource,
    /// The last attribute that was asked for: the parts of a predicate often look at the same one.
    last: RefCell<Option<(Attribute, Extracted)>>,
}

impl<'a> Entry<'a> {
    /// The entry of `key` and `value`, whose Compact schemas are in `schemas`.
    pub fn new(key: &'a Data, value: &'a Data, schemas: &'a dyn SchemaSource) -> Self {
        Self::of_bytes(key.as_bytes(), value.as_bytes(), schemas)
    }

    /// The same from the bytes of the two, as a store holds them, header included.
    pub fn of_bytes(key: &'a [u8], value: &'a [u8], schemas: &'a dyn SchemaSource) -> Self {
        Self { key, value, schemas, last: RefCell::new(None) }
    }

    /// Its key, in bytes of its own.
    pub fn key(&self) -> Data {
        copied(self.key)
    }

    /// Its value, in bytes of its own.
    pub fn value(&self) -> Data {
        copied(self.value)
    }

    /// The bytes of its key.
    pub fn key_bytes(&self) -> &'a [u8] {
        self.key
    }

    /// The bytes of its value.
    pub fn value_bytes(&self) -> &'a [u8] {
        self.value
    }

    /// Where the schemas of Compact objects are found.
    pub fn schemas(&self) -> &'a dyn SchemaSource {
        self.schemas
    }

    /// What the attribute is in this entry. Missing parts give null; a value in a form that only its serializer knows (Portable,
    /// pickled Python) has attributes that cannot be read, which is an error.
    pub fn extract(&self, attribute: &Attribute) -> Result<Extracted, QueryError> {
        let bytes = if attribute.is_of_key() { self.key } else { self.value };
        extract(bytes, attribute, self.schemas)
    }

    /// Gives `look` what the attribute is; the same attribute twice in a row is read once.
    pub(crate) fn look<T>(
        &self,
        attribute: &Attribute,
        look: impl FnOnce(&Extracted) -> T,
    ) -> Result<T, QueryError> {
        let mut last = self.last.borrow_mut();
        match &*last {
            Some((known, extracted)) if known == attribute => Ok(look(extracted)),
            _ => {
                let extracted = self.extract(attribute)?;
                let found = look(&extracted);
                *last = Some((attribute.clone(), extracted));
                Ok(found)
            }
        }
    }
}

impl std::fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.key())
            .field("value", &self.value())
            .finish_non_exhaustive()
    }
}

/// The bytes before the payload, which begins with the type id's end.
const HEADER: usize = 8;

/// How the payload of a serialized value is to be read.
pub(crate) fn type_of(bytes: &[u8]) -> i32 {
    let id = bytes.get(4..HEADER).and_then(|id| id.try_into().ok());
    id.map_or(type_id::NULL, i32::from_be_bytes)
}

fn payload(bytes: &[u8]) -> &[u8] {
    bytes.get(HEADER..).unwrap_or_default()
}

/// A serialized value in bytes of its own; null when it is too short to be one.
pub(crate) fn copied(bytes: &[u8]) -> Data {
    Data::from_bytes(bytes.to_vec()).unwrap_or_else(|_| Data::new(type_id::NULL, &[]))
}

/// Reads a serialized value; what has no form that is known here stays as it is.
pub(crate) fn read(bytes: &[u8], schemas: &dyn SchemaSource) -> Result<Value, DecodeError> {
    let mut input = Input::with_schemas(payload(bytes), schemas);
    match Value::read_payload(type_of(bytes), &mut input) {
        Ok(value) if input.left() == 0 => Ok(value),
        // Rare, and worth a copy: the reader of whole values knows what to make of it.
        _ => Value::from_data_with(&copied(bytes), schemas),
    }
}

fn extract(bytes: &[u8], attribute: &Attribute, schemas: &dyn SchemaSource) -> Result<Extracted, QueryError> {
    let steps = attribute.steps();
    if type_of(bytes) == type_id::JSON {
        let text = Input::new(payload(bytes)).text().map_err(QueryError::decode("JSON value"))?;
        return Ok(json::find(text.unwrap_or("null"), steps));
    }
    let value = read(bytes, schemas).map_err(QueryError::decode("value of an entry"))?;
    let mut found = Vec::new();
    walk(value, steps, attribute, schemas, &mut found)?;
    Ok(if attribute.is_multiple() {
        Extracted::Many(found)
    } else {
        Extracted::One(found.pop().unwrap_or(Value::Null))
    })
}

/// Follows `steps` from `value` on and collects what they lead to; one level of recursion per `[any]`.
fn walk(
    mut value: Value,
    steps: &[PathStep],
    attribute: &Attribute,
    schemas: &dyn SchemaSource,
    found: &mut Vec<Value>,
) -> Result<(), QueryError> {
    for (done, step) in steps.iter().enumerate() {
        value = match (step, value) {
            (_, Value::Null) => return Ok(()),
            (_, Value::Json(text)) => {
                found.extend_from_slice(json::find(&text, &steps[done..]).values());
                return Ok(());
            }
            (PathStep::Field(name), Value::Opaque(data)) => field(&data, name, attribute, schemas)?,
            (PathStep::Item(number), value) => match items(value) {
                Some(mut items) if *number < items.len() => items.swap_remove(*number),
                _ => return Ok(()),
            },
            (PathStep::Any, value) => {
                for item in items(value).into_iter().flatten() {
                    walk(item, &steps[done + 1..], attribute, schemas, found)?;
                }
                return Ok(());
            }
            (PathStep::Field(_), _) => return Ok(()),
        };
    }
    found.push(value);
    Ok(())
}

fn field(
    data: &Data,
    name: &str,
    attribute: &Attribute,
    schemas: &dyn SchemaSource,
) -> Result<Value, QueryError> {
    if data.type_id() != type_id::COMPACT {
        let form = type_id::describe(data.type_id());
        return Err(QueryError::Unreadable { path: attribute.as_str().to_owned(), form });
    }
    let record = CompactRecord::of_data(data, schemas).map_err(QueryError::decode("Compact value"))?;
    let found = record.field(name).map_err(QueryError::decode("Compact value"))?;
    Ok(found.unwrap_or(Value::Null))
}

/// The items of a list or array.
fn items(value: Value) -> Option<Vec<Value>> {
    fn each<T>(items: Vec<T>, value: impl Fn(T) -> Value) -> Option<Vec<Value>> {
        Some(items.into_iter().map(value).collect())
    }
    match value {
        Value::List(items) => Some(items),
        Value::ByteArray(items) => each(items, |item| Value::Byte(item as i8)),
        Value::BoolArray(items) => each(items, Value::Bool),
        Value::CharArray(items) => each(items, Value::Char),
        Value::ShortArray(items) => each(items, Value::Short),
        Value::IntArray(items) => each(items, Value::Int),
        Value::LongArray(items) => each(items, Value::Long),
        Value::FloatArray(items) => each(items, Value::Float),
        Value::DoubleArray(items) => each(items, Value::Double),
        Value::StringArray(items) => each(items, |item| item.map_or(Value::Null, Value::String)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_wire::compact::{Compact as _, NO_SCHEMAS, Schema};
    use filbert_wire::{Array, Compact, ToData};
    use std::collections::HashMap;
    use std::sync::Arc;

    #[derive(Compact)]
    #[compact(name = "wheel")]
    struct Wheel {
        size: i32,
    }

    #[derive(Compact)]
    #[compact(name = "car")]
    struct Car {
        brand: String,
        wheels: Vec<Wheel>,
        spare: Option<Box<Wheel>>,
    }

    fn schemas() -> HashMap<i64, Arc<Schema>> {
        [Car::schema(), Wheel::schema()].map(|schema| (schema.id(), Arc::new(schema.clone()))).into()
    }

    fn of_value(value: impl ToData, path: &str) -> Result<Extracted, QueryError> {
        let (key, value, schemas) = (7.to_data().unwrap(), value.to_data().unwrap(), schemas());
        Entry::new(&key, &value, &schemas).extract(&path.parse()?)
    }

    #[test]
    fn fields_of_compact_objects_are_found_by_path() {
        let wheel = |size| Wheel { size };
        let car =
            Car { brand: "A".into(), wheels: vec![wheel(17), wheel(18)], spare: Some(Box::new(wheel(16))) };
        let data = car.to_data().unwrap();
        let of_car = |path: &str| of_value(data.clone(), path).unwrap();
        assert_eq!(of_car("brand"), Extracted::One(Value::String("A".into())));
        assert_eq!(of_car("spare.size"), Extracted::One(Value::Int(16)));
        assert_eq!(of_car("wheels[1].size"), Extracted::One(Value::Int(18)));
        assert_eq!(of_car("wheels[2].size"), Extracted::One(Value::Null));
        assert_eq!(of_car("wheels[any].size"), Extracted::Many(vec![Value::Int(17), Value::Int(18)]));
        assert_eq!(of_car("nothing"), Extracted::One(Value::Null));
        assert_eq!(of_car("__key"), Extracted::One(Value::Int(7)));
    }

    #[test]
    fn plain_values_are_this_and_have_no_attributes() {
        assert_eq!(of_value("x", "this").unwrap(), Extracted::One(Value::String("x".into())));
        assert_eq!(of_value("x", "age").unwrap(), Extracted::One(Value::Null));
        let numbers = Array(vec![1_i64, 2]);
        assert_eq!(
            of_value(numbers, "this[any]").unwrap(),
            Extracted::Many(vec![Value::Long(1), Value::Long(2)])
        );
        assert_eq!(of_value(vec!["a"], "this[0]").unwrap(), Extracted::One(Value::String("a".into())));
    }

    #[test]
    fn a_form_that_only_its_serializer_knows_is_an_error() {
        let portable = Data::new(type_id::PORTABLE, &[0; 30]);
        assert!(matches!(of_value(portable.clone(), "name"), Err(QueryError::Unreadable { .. })));
        assert!(of_value(portable, "this").is_ok());
        let unknown = Data::new(type_id::COMPACT, &[9; 30]);
        let entry = (1.to_data().unwrap(), unknown);
        let found = Entry::new(&entry.0, &entry.1, NO_SCHEMAS).extract(&"a".parse().unwrap());
        assert!(matches!(found, Err(QueryError::Decode { .. })));
    }
}
