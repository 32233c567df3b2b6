//! SQL through the door for Hazelcast clients, seen from a socket. A process of its own: tests of the door measure memory.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

#[path = "../door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;
mod statements;
