//! Connections over real sockets on this machine, through the public interface.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]
#![forbid(unsafe_code)]

mod ending;
mod limits;
mod line;
mod order;
mod pressure;
mod tls;
