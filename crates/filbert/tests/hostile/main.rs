//! A member in a process of its own against clients that mean harm: it lives on, in bounded memory, and a bystander is served.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod bystander;
mod deaf;
mod frames;
#[path = "../../../gate/tests/door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;
mod mutation;
#[allow(dead_code, reason = "shared with the tests of commands, which use more of it")]
mod process;
mod slow;
