//! The types of PostgreSQL that are served, and which of them an Arrow type is shown as.

use crate::postgres::catalog::OID_EXTENSION;
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};

/// A type as clients know it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::postgres) struct PgType {
    pub(in crate::postgres) oid: u32,
    /// As `pg_type` has it.
    pub(in crate::postgres) name: &'static str,
    /// As SQL has it.
    pub(in crate::postgres) sql_name: &'static str,
    /// Bytes of a value in binary; -1 when that varies.
    pub(in crate::postgres) size: i16,
    /// The oid of arrays of it; 0 when there are none.
    pub(in crate::postgres) array: u32,
    /// The letter of its category.
    pub(in crate::postgres) category: &'static str,
}

const fn new(
    oid: u32,
    name: &'static str,
    sql_name: &'static str,
    size: i16,
    array: u32,
    category: &'static str,
) -> PgType {
    PgType { oid, name, sql_name, size, array, category }
}

impl PgType {
    /// What PostgreSQL calls the function that reads it in binary (`recv`), writes it so (`send`), reads its text (`in`) or writes that (`out`).
    pub(in crate::postgres) fn function(&self, verb: &str) -> String {
        // Not all of its names are made alike.
        let apart =
            ["date", "time", "timestamp", "timestamptz", "interval", "numeric", "uuid", "json", "jsonb"];
        let between = if apart.contains(&self.name) { "_" } else { "" };
        format!("{}{between}{verb}", self.name)
    }
}

pub(super) const BOOL: PgType = new(16, "bool", "boolean", 1, 1000, "B");
pub(super) const BYTEA: PgType = new(17, "bytea", "bytea", -1, 1001, "U");
const CHAR: PgType = new(18, "char", "\"char\"", 1, 1002, "Z");
const NAME: PgType = new(19, "name", "name", 64, 1003, "S");
pub(super) const INT8: PgType = new(20, "int8", "bigint", 8, 1016, "N");
pub(super) const INT2: PgType = new(21, "int2", "smallint", 2, 1005, "N");
pub(super) const INT4: PgType = new(23, "int4", "integer", 4, 1007, "N");
pub(in crate::postgres) const TEXT: PgType = new(25, "text", "text", -1, 1009, "S");
const OID: PgType = new(26, "oid", "oid", 4, 1028, "N");
pub(super) const JSON: PgType = new(114, "json", "json", -1, 199, "U");
pub(super) const FLOAT4: PgType = new(700, "float4", "real", 4, 1021, "N");
pub(super) const FLOAT8: PgType = new(701, "float8", "double precision", 8, 1022, "N");
const UNKNOWN: PgType = new(705, "unknown", "unknown", -2, 0, "X");
const BPCHAR: PgType = new(1042, "bpchar", "character", -1, 1014, "S");
const VARCHAR: PgType = new(1043, "varchar", "character varying", -1, 1015, "S");
pub(super) const DATE: PgType = new(1082, "date", "date", 4, 1182, "D");
pub(super) const TIME: PgType = new(1083, "time", "time without time zone", 8, 1183, "D");
pub(super) const TIMESTAMP: PgType = new(1114, "timestamp", "timestamp without time zone", 8, 1115, "D");
pub(super) const TIMESTAMPTZ: PgType = new(1184, "timestamptz", "timestamp with time zone", 8, 1185, "D");
pub(super) const INTERVAL: PgType = new(1186, "interval", "interval", 16, 1187, "T");
pub(super) const NUMERIC: PgType = new(1700, "numeric", "numeric", -1, 1231, "N");
pub(super) const UUID: PgType = new(2950, "uuid", "uuid", 16, 2951, "U");
const JSONB: PgType = new(3802, "jsonb", "jsonb", -1, 3807, "U");

/// All of them, arrays aside.
pub(in crate::postgres) const TYPES: [&PgType; 23] = [
    &BOOL,
    &BYTEA,
    &CHAR,
    &NAME,
    &INT8,
    &INT2,
    &INT4,
    &TEXT,
    &OID,
    &JSON,
    &FLOAT4,
    &FLOAT8,
    &UNKNOWN,
    &BPCHAR,
    &VARCHAR,
    &DATE,
    &TIME,
    &TIMESTAMP,
    &TIMESTAMPTZ,
    &INTERVAL,
    &NUMERIC,
    &UUID,
    &JSONB,
];

/// A type, or an array of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Shown {
    One(&'static PgType),
    Array(&'static PgType),
}

impl Shown {
    pub(in crate::postgres) fn oid(self) -> u32 {
        match self {
            Self::One(one) => one.oid,
            Self::Array(of) => of.array,
        }
    }

    pub(in crate::postgres) fn size(self) -> i16 {
        match self {
            Self::One(one) => one.size,
            Self::Array(_) => -1,
        }
    }
}

/// The type of that oid.
pub(in crate::postgres) fn type_by_oid(oid: u32) -> Option<Shown> {
    TYPES.into_iter().find_map(|known| match oid {
        0 => None,
        _ if known.oid == oid => Some(Shown::One(known)),
        _ if known.array == oid => Some(Shown::Array(known)),
        _ => None,
    })
}

/// The type that is called so, in lower case, by the names of the catalog or those of SQL; `[]` behind it is an array.
pub(in crate::postgres) fn type_by_name(name: &str) -> Option<Shown> {
    let item = name.strip_suffix("[]").map(str::trim_end);
    let name = item.unwrap_or(name);
    let name = match name {
        "int" => "int4",
        "decimal" | "dec" => "numeric",
        "float" => "float8",
        "string" => "text",
        "char varying" => "varchar",
        "char" => "bpchar",
        other => other.strip_prefix("pg_catalog.").unwrap_or(other),
    };
    let of = TYPES.into_iter().find(|known| known.name == name || known.sql_name == name)?;
    match item {
        None => Some(Shown::One(of)),
        Some(_) => (of.array != 0).then_some(Shown::Array(of)),
    }
}

/// What a column is shown as.
pub(in crate::postgres) fn pg_type(field: &Field) -> Shown {
    let extension = field.extension_type_name();
    match (extension, field.data_type()) {
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => Shown::One(&UUID),
        (Some("arrow.json"), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => Shown::One(&JSON),
        (Some(OID_EXTENSION), DataType::Int32) => Shown::One(&OID),
        (_, data_type) => shown(data_type),
    }
}

/// What a type is shown as when nothing more is known than the type.
pub(super) fn shown(data_type: &DataType) -> Shown {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => match shown(item.data_type()) {
            Shown::One(of) if *of != JSON => Shown::Array(of),
            // Lists of lists and of objects are JSON: an array of PostgreSQL has no rows of unequal lengths.
            _ => Shown::One(&JSON),
        },
        other => Shown::One(one(other)),
    }
}

fn one(data_type: &DataType) -> &'static PgType {
    match data_type {
        DataType::Boolean => &BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => &INT2,
        DataType::Int32 | DataType::UInt16 => &INT4,
        DataType::Int64 | DataType::UInt32 => &INT8,
        DataType::Float16 | DataType::Float32 => &FLOAT4,
        DataType::Float64 => &FLOAT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => &NUMERIC,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            &BYTEA
        }
        DataType::Date32 | DataType::Date64 => &DATE,
        DataType::Time32(_) | DataType::Time64(_) => &TIME,
        DataType::Timestamp(_, None) => &TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => &TIMESTAMPTZ,
        DataType::Interval(_) | DataType::Duration(_) => &INTERVAL,
        DataType::Dictionary(_, value) => one(value),
        DataType::RunEndEncoded(_, values) => one(values.data_type()),
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => &JSON,
        _ => &TEXT,
    }
}

/// The Arrow type that values of a PostgreSQL type are read as.
pub(super) fn arrow_type(of: &PgType) -> DataType {
    match of.oid {
        16 => DataType::Boolean,
        17 => DataType::Binary,
        20 => DataType::Int64,
        21 => DataType::Int16,
        23 => DataType::Int32,
        26 => DataType::Int64,
        700 => DataType::Float32,
        701 => DataType::Float64,
        1082 => DataType::Date32,
        1083 => DataType::Time64(TimeUnit::Microsecond),
        1114 => DataType::Timestamp(TimeUnit::Microsecond, None),
        1184 => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        1186 => DataType::Interval(IntervalUnit::MonthDayNano),
        _ => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn types_are_found_by_their_oid() {
        for known in TYPES {
            assert_eq!(type_by_oid(known.oid), Some(Shown::One(known)));
            if known.array != 0 {
                assert_eq!(type_by_oid(known.array), Some(Shown::Array(known)));
            }
        }
        for (name, oid) in [
            ("int", 23),
            ("bigint", 20),
            ("timestamp with time zone", 1184),
            ("text[]", 1009),
            ("pg_catalog.int2", 21),
            ("double precision []", 1022),
        ] {
            assert_eq!(type_by_name(name).map(Shown::oid), Some(oid), "{name}");
        }
        assert_eq!(type_by_name("unknown[]"), None);
        assert_eq!(type_by_name("nonsense"), None);
        assert_eq!(type_by_oid(0), None);
        assert_eq!(type_by_oid(99_999), None);
    }

    #[test]
    fn lists_are_arrays_and_lists_of_lists_are_json() {
        let list = |item: DataType| DataType::List(Arc::new(Field::new("item", item, true)));
        assert_eq!(shown(&list(DataType::Int32)).oid(), 1007);
        assert_eq!(shown(&list(list(DataType::Int32))), Shown::One(&JSON));
        assert_eq!(
            shown(&DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))),
            Shown::One(&TEXT)
        );
    }
}
