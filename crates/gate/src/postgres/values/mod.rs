//! Values between Arrow and PostgreSQL: which type a column has for a client, and how a value is written and read, as text and in binary.

mod decode;
mod encode;
mod interval;
mod numeric;
mod oid;
mod time;

pub(super) use decode::{decode, read_as};
pub(super) use encode::RowEncoder;
pub(super) use oid::{PgType, Shown, TEXT, TYPES, pg_type, type_by_name, type_by_oid};
