//! Tables in memory, made by `CREATE TABLE`: how their rows are changed.

mod change;
mod numbered;

pub(crate) use change::ChangeTables;
