//! Queries end to end: right answers through exchanges, limits that hold, who may run when. One program, since all ask in the same way.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod admission;
mod answers;
mod asking;
mod bounded;
mod copies;
mod fairness;
mod limits;
mod pools;
mod stuck;
mod zones;
