//! On which partition a whole structure lives: lists, queues, topics and the like, which are not spread by key.

use super::{PartitionId, murmur};

/// The partition of the structure of that name. Only what follows the first `@` counts, if there is one, so `orders@7` and `invoices@7`
/// live together; clients compute it from the same bytes, those of the string's `Data`.
///
/// ```
/// use filbert_wire::{ToData, partition_of_name};
///
/// assert_eq!(partition_of_name("orders@7"), partition_of_name("7"));
/// assert_eq!(partition_of_name("orders"), "orders".to_data()?.partition());
/// # Ok::<(), filbert_wire::EncodeError>(())
/// ```
pub fn partition_of_name(name: &str) -> PartitionId {
    let key = name.split_once('@').map_or(name, |(_, key)| key);
    let mut payload = Vec::with_capacity(4 + key.len());
    payload.extend_from_slice(&(key.len() as u32).to_be_bytes());
    payload.extend_from_slice(key.as_bytes());
    PartitionId::of_hash(murmur::hash(&payload))
}
