//! Values between Arrow and PostgreSQL: which type a column has for a client, and how a value is written and read, as text and in binary.

mod decode;
mod encode;
mod interval;
mod numeric;
mod oid;
mod time;
mod zone;

pub(super) use decode::{binaries_as, decode, items_of_text, read_as, texts_as};
pub(super) use encode::RowEncoder;
pub(super) use oid::{PgType, Shown, TEXT, TYPES, pg_type, type_by_name, type_by_oid};
pub(super) use zone::Zone;
