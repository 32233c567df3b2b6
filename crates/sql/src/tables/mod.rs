//! Tables in memory, made by `CREATE TABLE`: what they hold, and how their rows are changed.

mod change;
mod content;
mod create;
mod declared;
mod described;
mod insert;
mod memory;
mod numbered;
mod ruled;
mod rules;
mod select_into;
mod serial;

pub(crate) use change::ChangeTables;
pub(crate) use content::TableContent;
pub(crate) use create::{create_table, has_query};
pub(crate) use declared::Declared;
pub(crate) use described::columns_of;
pub(crate) use memory::TableMemory;
pub(crate) use ruled::{is_in_memory, truncate};
pub(crate) use select_into::select_into;
