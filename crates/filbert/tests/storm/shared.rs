//! What all connections of the storm know together.

use filbert_wire::Data;
use filbert_wire::messages::structures::RaftGroupId;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64};
use uuid::Uuid;

/// Permits of the semaphore that all share.
pub(crate) const PERMITS: i32 = 10;

/// Items that a ringbuffer has room for by default.
pub(crate) const RINGBUFFER: usize = 10_000;

pub(crate) struct Shared {
    /// The member's id.
    pub(crate) member: Uuid,
    /// Operations so far.
    pub(crate) done: AtomicU64,
    /// Permits that connections hold, as far as they know.
    pub(crate) permits: AtomicI32,
    /// Whether a connection holds the lock, as far as they know, and the last fence.
    pub(crate) locked: AtomicBool,
    pub(crate) fence: AtomicI64,
}

impl Shared {
    pub(crate) fn new(member: Uuid) -> Self {
        Self {
            member,
            done: AtomicU64::new(0),
            permits: AtomicI32::new(0),
            locked: AtomicBool::new(false),
            fence: AtomicI64::new(0),
        }
    }
}

/// The group of the CP subsystem that everything is in.
pub(crate) fn group() -> RaftGroupId {
    RaftGroupId { name: "default".into(), seed: 0, id: 0 }
}

/// The number in a `Data` that holds one.
pub(crate) fn number_of(data: &Data) -> i32 {
    i32::from_be_bytes(data.payload().try_into().expect("a number"))
}
