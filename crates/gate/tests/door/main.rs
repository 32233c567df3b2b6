//! The door for Hazelcast clients, seen from a socket.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod busy;
mod closing;
mod compatibility;
mod executors;
#[path = "../../../grid/tests/map/history.rs"]
#[allow(dead_code, reason = "shared with the tests of maps, which use more of it")]
mod history;
mod hostile;
mod interceptors;
mod iteration;
mod journal;
mod large;
mod lengths;
#[allow(dead_code, reason = "shared with the tests of SQL, which use more of it")]
mod line;
mod linearizability;
mod listening;
mod login;
mod messages;
mod metadata;
mod near_caches;
mod rights;
mod structures;
