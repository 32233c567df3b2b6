//! `Data` as a field of what travels between members: its bytes, as they are. And partitions: their numbers, if there are such.

use super::{Data, PartitionId};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Data;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the bytes of a serialized value")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Data, E> {
        Data::from_bytes(bytes.to_vec()).map_err(E::custom)
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Data, E> {
        Data::from_bytes(bytes).map_err(E::custom)
    }

    /// Formats without bytes of their own (JSON) write a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Data, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        Data::from_bytes(bytes).map_err(A::Error::custom)
    }
}

impl Serialize for PartitionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.number())
    }
}

impl<'de> Deserialize<'de> for PartitionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| D::Error::custom(format!("there is no partition {number}")))
    }
}
