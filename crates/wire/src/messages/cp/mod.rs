//! The structures of the CP subsystem: each message says the group that its structure is in.

pub mod atomic_long;
pub mod atomic_ref;
pub mod fenced_lock;
pub mod group;
pub mod latch;
pub mod semaphore;
pub mod session;
