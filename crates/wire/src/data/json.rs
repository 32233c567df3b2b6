//! `Json`: every serde type as a HazelcastJsonValue, which all clients read and whose fields predicates reach.

use super::{DecodeError, EncodeError, FromData, Input, Output, ToData, output::to_length, type_id::JSON};
use serde::{Serialize, de::DeserializeOwned};

/// A serde value that travels as JSON text. For structures without a schema, and for types that Hazelcast lacks; a struct that is
/// stored by the million is smaller and faster as [`Compact`](macro@crate::Compact).
///
/// ```
/// use filbert_wire::{FromData, Json, ToData};
/// use std::collections::BTreeMap;
///
/// let stock = BTreeMap::from([("apples", 3_u64), ("pears", 5)]);
/// let data = Json(stock).to_data()?;
/// assert_eq!(&data.payload()[4..], br#"{"apples":3,"pears":5}"#);
/// let Json(stock) = Json::<BTreeMap<String, u64>>::from_data(&data)?;
/// assert_eq!(stock["pears"], 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json<T>(
    /// The value.
    pub T,
);

impl<T: Serialize> ToData for Json<T> {
    fn type_id(&self) -> i32 {
        JSON
    }

    fn payload_size(&self) -> usize {
        // Known only once it is written; most are small.
        64
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        let start = out.position();
        out.zeros(4);
        serde_json::to_writer(out.buffer(), &self.0)
            .map_err(|error| EncodeError::Json { message: error.to_string() })?;
        let length = to_length(out.position() - start - 4)?;
        out.overwrite(start, length);
        Ok(())
    }
}

impl<T: DeserializeOwned> FromData for Json<T> {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        if type_id != JSON {
            return Err(DecodeError::WrongType { expected: "a JSON value", found: type_id });
        }
        let text = input.text()?.ok_or(DecodeError::UnexpectedNull { expected: "a JSON value" })?;
        let value =
            serde_json::from_str(text).map_err(|error| DecodeError::Json { message: error.to_string() })?;
        Ok(Self(value))
    }
}
