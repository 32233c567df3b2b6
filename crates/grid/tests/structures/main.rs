//! The smaller structures, from outside: what they answer against a simple model, who waits and who is told, and that what happens to a
//! number happens in one order.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod atomics;
mod counters;
mod durable;
mod ending;
#[path = "../map/history.rs"]
#[allow(dead_code, reason = "maps can do more than numbers")]
mod history;
mod multi_map;
mod owned;
mod reliable_topic;
mod ringbuffer;
mod scheduled;
mod scheduled_model;
mod set;
#[path = "../tasks/mod.rs"]
mod tasks;

use filbert_wire::Data;

/// A number as a long of Hazelcast.
fn long(number: usize) -> Data {
    Data::new(-8, &(number as u64).to_be_bytes())
}

/// The number again.
fn number(data: &Data) -> usize {
    u64::from_be_bytes(data.payload().try_into().expect("a long has eight bytes")) as usize
}
