//! The door for Hazelcast clients, seen from a socket.

mod closing;
mod compatibility;
mod hostile;
mod line;
mod listening;
mod login;
mod messages;
mod pressure;
mod rights;
