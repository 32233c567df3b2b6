//! The rows of `information_schema`.

use super::super::values::{PgType, Shown, pg_type};
use super::rows::{Cell, DATABASE, Listed, OWNER, Row, SCHEMAS, row};
use datafusion::arrow::datatypes::{DataType, Field, Schema};

fn yes(is: bool) -> &'static str {
    if is { "YES" } else { "NO" }
}

/// Everything but columns.
pub(super) fn rows(table: &str, tables: &[Listed]) -> Vec<Row> {
    match table {
        "schemata" => SCHEMAS
            .map(|(_, name)| row! { catalog_name: DATABASE, schema_name: name, schema_owner: OWNER })
            .into(),
        "tables" => tables
            .iter()
            .map(|table| {
                row! {
                    table_catalog: DATABASE, table_schema: "public", table_name: table.name.as_str(),
                    table_type: if table.is_view { "VIEW" } else { "BASE TABLE" }, is_insertable_into: yes(!table.is_view),
                    is_typed: "NO",
                }
            })
            .collect(),
        "views" => tables
            .iter()
            .filter(|table| table.is_view)
            .map(|table| {
                row! {
                    table_catalog: DATABASE, table_schema: "public", table_name: table.name.as_str(), check_option: "NONE",
                    is_updatable: "NO", is_insertable_into: "NO", is_trigger_updatable: "NO", is_trigger_deletable: "NO",
                    is_trigger_insertable_into: "NO",
                }
            })
            .collect(),
        "enabled_roles" => vec![row! { role_name: OWNER, is_grantable: "NO" }],
        _ => Vec::new(),
    }
}

/// The columns of one table.
pub(super) fn columns(table: &str, columns: &Schema) -> Vec<Row> {
    let one = |(at, field): (usize, &std::sync::Arc<Field>)| {
        let shown = pg_type(field);
        let (data_type, name) = match shown {
            Shown::One(of) => (of.sql_name, of.name.to_owned()),
            Shown::Array(of) => ("ARRAY", format!("_{}", of.name)),
        };
        let number = at as i32 + 1;
        let mut row = row! {
            table_catalog: DATABASE, table_schema: "public", table_name: table, column_name: field.name().as_str(),
            ordinal_position: number, is_nullable: yes(field.is_nullable()), data_type: data_type, udt_catalog: DATABASE,
            udt_schema: "pg_catalog", udt_name: name.as_str(), dtd_identifier: number.to_string().as_str(),
            is_self_referencing: "NO", is_identity: "NO", identity_cycle: "NO", is_generated: "NEVER", is_updatable: "YES",
        };
        if let Shown::One(of) = shown {
            row.extend(precision(of, field.data_type()));
        }
        row
    };
    columns.fields().iter().enumerate().map(one).collect()
}

/// How exact values of a type are, in the columns that say so.
fn precision(of: &PgType, data_type: &DataType) -> Vec<(&'static str, Cell)> {
    let number = |precision: i32, radix: i32, scale: Option<i32>| {
        let mut cells =
            vec![("numeric_precision", Cell::Int(precision)), ("numeric_precision_radix", Cell::Int(radix))];
        cells.extend(scale.map(|scale| ("numeric_scale", Cell::Int(scale))));
        cells
    };
    match (of.name, data_type) {
        ("int2", _) => number(16, 2, Some(0)),
        ("int4", _) => number(32, 2, Some(0)),
        ("int8", _) => number(64, 2, Some(0)),
        ("float4", _) => number(24, 2, None),
        ("float8", _) => number(53, 2, None),
        ("numeric", DataType::UInt64) => number(20, 10, Some(0)),
        (
            "numeric",
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale),
        ) => number(i32::from(*precision), 10, Some(i32::from(*scale))),
        ("date", _) => vec![("datetime_precision", Cell::Int(0))],
        ("time" | "timestamp" | "timestamptz" | "interval", _) => {
            vec![("datetime_precision", Cell::Int(6))]
        }
        ("text", _) => vec![("character_octet_length", Cell::Int(1 << 30))],
        _ => Vec::new(),
    }
}
