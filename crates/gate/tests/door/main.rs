//! The door for Hazelcast clients, seen from a socket.

#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

mod closing;
mod compatibility;
mod hostile;
mod line;
mod listening;
mod login;
mod messages;
mod pressure;
mod rights;
