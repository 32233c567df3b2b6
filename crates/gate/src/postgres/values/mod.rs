//! Values between Arrow and PostgreSQL: which type a column has for a client, and how a value is written and read, as text and in binary.

mod decode;
mod encode;
mod interval;
mod numeric;
mod oid;
mod time;

pub(super) use decode::decode;
pub(super) use encode::RowEncoder;
pub(super) use oid::{Shown, TYPES, pg_type, type_by_oid};
