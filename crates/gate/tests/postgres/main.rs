//! The door for PostgreSQL clients, seen from a socket. The tests with drivers that we did not write are in `tests/clients`.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod cancel;
mod catalog;
mod changes;
mod client;
mod closing;
mod copy;
mod cursors;
mod drivers;
mod errors;
mod extended;
mod hostile;
mod large;
mod limits;
mod login;
mod named;
mod psql;
mod read_only;
mod rights;
mod simple;
mod slow;
mod tools;
mod zone;
