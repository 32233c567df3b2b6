//! Bounded single-producer single-consumer queues that wake the other side.
//!
//! ```text
//!   Sender ──► [ lane ] ──► Receiver            one queue
//!
//!   Sender ──► [ lane ] ──┐
//!   Sender ──► [ lane ] ──┼──► Conveyor         many queues, one receiver, one bell
//!   Sender ──► [ lane ] ──┘
//! ```
//!
//! A *lane* is a ring between two threads; a [`Conveyor`] is a bundle of lanes with one receiver. Neither ever blocks:
//! a side that can not go on leaves a `std::task::Waker` and sleeps as it likes (a polled task, a future, a
//! [`Parker`](crate::Parker)). The pattern is always the same, and never loses a wake-up:
//!
//! ```
//! use filbert_sync::{Parker, conveyor};
//! use std::{sync::Arc, task::Waker, thread};
//!
//! let (mut sender, mut receiver) = conveyor::lane(4);
//! let producer = thread::spawn(move || {
//!     for number in 0..3u32 {
//!         sender.try_send(number).unwrap();
//!     }
//! });
//! let parker = Arc::new(Parker::new());
//! let waker = Waker::from(Arc::clone(&parker));
//! let mut seen = Vec::new();
//! while receiver.receive_into(&mut seen, 16).is_ok() {
//!     if !receiver.ready_or_wake(&waker) {
//!         parker.park();
//!     }
//! }
//! assert_eq!(seen, [0, 1, 2]);
//! # producer.join().unwrap();
//! ```
//!
//! Why batches: seeing that the other side sleeps costs a sequentially consistent fence (about 9 ns). It is paid once per
//! call, so `send_slice`, `send_vec`, `send_from`, `receive_into` and `drain` pay it once per batch.
//!
//! Closing: a dropped sender lets the receiver take the rest and then see [`Closed`]; a dropped receiver makes every send
//! return [`Closed`] and leaves the unsent items with the caller. Items that are still queued when the receiver goes are
//! dropped with it; one that is sent in that very moment is dropped with the sender.
//!
//! | File | What |
//! |---|---|
//! | `ring.rs` | the slots and the two positions, and why touching them is sound |
//! | `bell.rs` | one side asleep, the other ringing: the wake-up protocol |
//! | `sender.rs`, `receiver.rs` | the two ends of a lane |
//! | `bundle.rs` | [`Conveyor`] |
//!
//! Rejected: `rtrb` as the ring (its positions are private, so a wake-up would need a second word and a second cache line
//! per batch); a bell per lane of a conveyor (a receiver of 16 lanes would register 16 times and be woken 16 times);
//! unbounded lanes (nothing is unbounded silently).

mod bell;
mod bundle;
mod receiver;
mod ring;
mod sender;

#[cfg(all(test, not(filbert_loom)))]
mod tests;

pub use bundle::Conveyor;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::primitives::Arc;

/// The queue size of an edge when nobody says otherwise (Jet's default).
pub const DEFAULT_CAPACITY: usize = 1024;

/// A queue of exactly `capacity` items between one sender and one receiver.
///
/// # Panics
/// When `capacity` is 0: such a lane could never move anything.
pub fn lane<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let ring = Arc::new(ring::Ring::new(capacity, Arc::new(bell::Bell::new())));
    (Sender::new(Arc::clone(&ring)), Receiver::new(ring, true))
}

/// The other side is gone, and nothing is left to take from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// Why an item was not sent; it comes back with the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendError<T> {
    /// No room now.
    Full(T),
    /// The receiver is gone.
    Closed(T),
}

/// Why there is no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveError {
    /// Nothing there now.
    Empty,
    /// The sender is gone and everything it sent has been taken.
    Closed,
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the other side of the lane is gone")
    }
}

impl std::error::Error for Closed {}

impl<T> std::fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SendError::Full(_) => "Full",
            SendError::Closed(_) => "Closed",
        })
    }
}

impl<T> std::fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SendError::Full(_) => "the lane is full",
            SendError::Closed(_) => "the receiver of the lane is gone",
        })
    }
}

impl<T> std::error::Error for SendError<T> {}

impl std::fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ReceiveError::Empty => "the lane is empty",
            ReceiveError::Closed => "the sender of the lane is gone and nothing is left",
        })
    }
}

impl std::error::Error for ReceiveError {}
