//! Front doors: how programs in other languages reach the grid of a member.
//!
//! One module per protocol. Each has a *door*: settings first, then it is opened and listens on the `io` stage.
#![forbid(unsafe_code)]

mod counters;
mod entrance;
mod guesses;
pub mod hazelcast;
pub mod http;
mod listing;
mod open_door;
pub mod postgres;
mod tables;
mod users;

pub use open_door::OpenDoor;
