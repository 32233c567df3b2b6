//! The lock-free parts under Filbert's stages, and the only lock-free `unsafe` code of the project.
//!
//! Everything here is a small protocol between threads, written once, argued on its own page in `docs/design/`, and
//! checked by a loom model in `tests/loom.rs` (`RUSTFLAGS="--cfg filbert_loom" cargo test -p filbert-sync --release
//! --test loom`). Nothing here creates a thread, reads a clock other than [`Ticks`], or knows what a stage is.
//!
//! | Part | What it is for |
//! |---|---|
//! | [`Parker`] | one thread sleeps until another wakes it; a wake-up before the sleep is kept |
//! | [`Latch`] | opens once; probed or waited for |
//! | [`Gate`] | lets work in until it is closed, and tells when the last of it has left |
//! | [`idle`] | who works, searches, sleeps; wakes a sleeper when there is something for it |
//! | [`Duty`] | one runner at a time for work that lies elsewhere; no work is left lying |
//! | [`processor`] | which processor a thread is on, and the way to another one |
//! | [`Running`] | what a worker is doing right now, readable by others without stopping it |
//! | [`Ticks`] | a timestamp cheap enough for every operation |
//! | [`conveyor`] | single-producer single-consumer queues that wake the other side |
//! | [`deal`] | the items of a vector to several others; between no threads, but as unsafe as the rest |
//! | [`prefetch`] | memory that is asked for before it is needed |
//! | [`strand`] | a mailbox whose holder is alone: submit, claim, take, release |
//! | [`task_state`] | the states of a polled task: a wake-up during a run is never lost |
//! | [`join_slot`] | the hand-over of one half of a fork to a thief, and of its result back |
//! | [`process_memory`] | an allocator that counts, and what asks whether the process has too much |
//! | [`pending`] | the count of a completer: the last child to finish continues the parent |

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")
)]

mod primitives;

pub mod conveyor;
mod deal;
mod duty;
mod gate;
pub mod idle;
pub mod join_slot;
mod latch;
mod parker;
pub mod pending;
mod prefetch;
pub mod process_memory;
pub mod processor;
mod running;
pub mod strand;
pub mod task_state;
mod ticks;

pub use deal::deal;
pub use duty::Duty;
pub use gate::{Gate, Pass};
pub use latch::Latch;
pub use parker::Parker;
pub use prefetch::{prefetch, prefetch_at};
pub use running::{Running, RunningTask};
pub use ticks::Ticks;
