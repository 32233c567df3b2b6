//! The partition that a structure with one strand lives on.

use filbert_wire::{Data, PartitionId};

/// Type id of a string.
const STRING: i32 = -11;

/// The partition of a structure's name. Of `name@key` only what is behind the first `@` counts, so that a structure can be put where a key
/// of a map is.
pub(crate) fn partition_of_name(name: &str) -> PartitionId {
    let key = name.split_once('@').map_or(name, |(_, key)| key);
    let mut payload = (key.len() as u32).to_be_bytes().to_vec();
    payload.extend_from_slice(key.as_bytes());
    Data::new(STRING, &payload).partition()
}
