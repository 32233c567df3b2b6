//! Projections: what is given of each entry, instead of all of it.

use super::aggregate::MapEntry;
use super::attribute::Attribute;
use super::error::QueryError;
use super::extract::{Entry, Extracted};
use super::identified::{self, PROJECTIONS, read_class, write_class};
use filbert_wire::compact::SchemaSource;
use filbert_wire::{Data, EncodeError, Input, Output, ToData, Value, type_id};

const SINGLE: i32 = 0;
const MULTI: i32 = 1;
const IDENTITY: i32 = 2;
const WHAT: &str = "projection";

/// What is given of each entry.
///
/// ```
/// use filbert_grid::query::{Entry, Projection};
/// use filbert_wire::{FromData, Json, ToData, compact::NO_SCHEMAS};
/// use std::collections::BTreeMap;
///
/// let (key, value) = (1.to_data()?, Json(BTreeMap::from([("age", 36)])).to_data()?);
/// let age = Projection::Single("age".parse()?);
/// let projected = age.project(&Entry::new(&key, &value, NO_SCHEMAS))?;
/// assert_eq!(i64::from_data(&projected)?, 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Projection {
    /// One attribute.
    Single(Attribute),
    /// Several attributes, as a list.
    Multi(Vec<Attribute>),
    /// The whole entry.
    Identity,
}

impl Projection {
    /// The projection that a client sent.
    pub fn from_data(data: &Data, schemas: &dyn SchemaSource) -> Result<Self, QueryError> {
        let failed = QueryError::decode(WHAT);
        let mut input = Input::with_schemas(data.payload(), schemas);
        let class = read_class(WHAT, PROJECTIONS, data.type_id(), &mut input)?;
        let attribute = |input: &mut Input<'_>| {
            let attribute: Attribute = input.text().map_err(&failed)?.unwrap_or_default().parse()?;
            if attribute.is_multiple() {
                return Err(QueryError::BadArgument {
                    what: WHAT,
                    problem: format!(
                        "{attribute} leads to several values; name one by its number instead of [any]"
                    ),
                });
            }
            Ok(attribute)
        };
        let projection = match class {
            SINGLE => Projection::Single(attribute(&mut input)?),
            MULTI => {
                let count = input.length("a list of attributes", 4).map_err(&failed)?.unwrap_or(0);
                let attributes = (0..count).map(|_| attribute(&mut input)).collect::<Result<Vec<_>, _>>()?;
                if attributes.is_empty() {
                    return Err(QueryError::BadArgument {
                        what: WHAT,
                        problem: "it names no attribute".to_owned(),
                    });
                }
                Projection::Multi(attributes)
            }
            IDENTITY => Projection::Identity,
            class => return Err(QueryError::UnknownClass { what: WHAT, factory: PROJECTIONS, class }),
        };
        input.finish().map_err(&failed)?;
        Ok(projection)
    }

    /// What is given of this entry.
    pub fn project(&self, entry: &Entry<'_>) -> Result<Data, QueryError> {
        let one = |attribute: &Attribute| -> Result<Value, QueryError> {
            Ok(match entry.extract(attribute)? {
                Extracted::One(value) => value,
                Extracted::Many(values) => Value::List(values),
            })
        };
        Ok(match self {
            Projection::Single(attribute) => one(attribute)?.to_data()?,
            Projection::Multi(attributes) => {
                let values = attributes.iter().map(one).collect::<Result<_, _>>()?;
                ObjectArray(values).to_data()?
            }
            Projection::Identity => MapEntry { key: entry.key(), value: entry.value() }.to_data()?,
        })
    }
}

identified::travels_as_data!(Projection);

impl ToData for Projection {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        40
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        match self {
            Projection::Single(attribute) => {
                write_class(out, PROJECTIONS, SINGLE);
                out.prefixed(attribute.as_str().as_bytes())
            }
            Projection::Multi(attributes) => {
                write_class(out, PROJECTIONS, MULTI);
                out.length(attributes.len())?;
                attributes.iter().try_for_each(|attribute| out.prefixed(attribute.as_str().as_bytes()))
            }
            Projection::Identity => {
                write_class(out, PROJECTIONS, IDENTITY);
                Ok(())
            }
        }
    }
}

/// Several values as Java's array of objects, which is what Hazelcast gives.
struct ObjectArray(Vec<Value>);

impl ToData for ObjectArray {
    fn type_id(&self) -> i32 {
        type_id::OBJECT_ARRAY
    }

    fn payload_size(&self) -> usize {
        4 + self.0.iter().map(|value| 4 + value.payload_size()).sum::<usize>()
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        self.0.write_payload(out)
    }
}
