//! Objects of Hazelcast's own classes (IdentifiedDataSerializable): a flag byte, factory and class id, and what the class writes.
//! Predicates, aggregators, projections and some results travel like that.

use super::error::QueryError;
use filbert_wire::{Data, Input, Output, type_id};

/// Factory of predicates.
pub(crate) const PREDICATES: i32 = -20;
/// Factory of aggregators, and of the set that one of them gives.
pub(crate) const AGGREGATORS: i32 = -29;
/// Factory of projections.
pub(crate) const PROJECTIONS: i32 = -30;
/// Factory of what maps exchange.
pub(crate) const MAPS: i32 = -4;

/// The bit that tells these objects from Java's own DataSerializable.
const IDENTIFIED: u8 = 1;
/// The bit that says that two bytes of version follow.
const VERSIONED: u8 = 2;

/// Reads the header of an object of one of the factory's classes, and gives the class id.
pub(crate) fn read_class(
    what: &'static str,
    factory: i32,
    found_type: i32,
    input: &mut Input<'_>,
) -> Result<i32, QueryError> {
    let (found, class) = read_header(what, found_type, input)?;
    if found != factory {
        return Err(QueryError::UnknownClass { what, factory: found, class });
    }
    Ok(class)
}

/// Reads the header of an object, and gives factory and class id.
pub(crate) fn read_header(
    what: &'static str,
    found_type: i32,
    input: &mut Input<'_>,
) -> Result<(i32, i32), QueryError> {
    let wrong = || filbert_wire::DecodeError::WrongType { expected: what, found: found_type };
    let failed = QueryError::decode(what);
    if found_type != type_id::DATA_SERIALIZABLE {
        return Err(failed(wrong()));
    }
    let flags: u8 = input.get().map_err(&failed)?;
    if flags & IDENTIFIED == 0 {
        return Err(failed(wrong()));
    }
    let (factory, class) = (input.get().map_err(&failed)?, input.get().map_err(&failed)?);
    if flags & VERSIONED != 0 {
        input.bytes("a version", 2).map_err(&failed)?;
    }
    Ok((factory, class))
}

/// Writes the header of an object.
pub(crate) fn write_class(out: &mut Output, factory: i32, class: i32) {
    out.put(IDENTIFIED);
    out.put(factory);
    out.put(class);
}

/// Writes an object within another: its type id and its payload.
pub(crate) fn write_object(out: &mut Output, object: &Data) {
    out.put(object.type_id());
    out.payload_of(object);
}

/// Writes a string that may be null.
pub(crate) fn write_text(out: &mut Output, text: Option<&str>) -> Result<(), filbert_wire::EncodeError> {
    write_bytes(out, text.map(str::as_bytes))
}

/// Writes bytes that may be null.
pub(crate) fn write_bytes(out: &mut Output, bytes: Option<&[u8]>) -> Result<(), filbert_wire::EncodeError> {
    match bytes {
        Some(bytes) => out.prefixed(bytes),
        None => {
            out.put(-1_i32);
            Ok(())
        }
    }
}

/// Makes a type travel inside operations as the bytes that clients know.
macro_rules! travels_as_data {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let data = filbert_wire::ToData::to_data(self).map_err(serde::ser::Error::custom)?;
                data.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let data = filbert_wire::Data::deserialize(deserializer)?;
                <$type>::from_data(&data, filbert_wire::compact::NO_SCHEMAS).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use travels_as_data;
