//! The rows of the catalog's tables.

use super::super::values::{Shown, TYPES, pg_type};
use super::super::variables::Variables;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Int16Array, Int32Array, RecordBatch, StringArray, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// What the one database is called.
pub(in crate::postgres) const DATABASE: &str = "filbert";

/// Whom everything belongs to.
pub(in crate::postgres) const OWNER: &str = "filbert";

const DATABASE_OID: i32 = 5;
pub(in crate::postgres) const OWNER_OID: i32 = 10;
const CATALOG_OID: i32 = 11;
const PUBLIC_OID: i32 = 2_200;
const INFORMATION_OID: i32 = 13_000;
const HEAP_OID: i32 = 2;
const TABLESPACE_OID: i32 = 1_663;

/// The schemas that clients see.
pub(in crate::postgres) const SCHEMAS: [(i32, &str); 3] =
    [(CATALOG_OID, "pg_catalog"), (PUBLIC_OID, "public"), (INFORMATION_OID, "information_schema")];

/// Oids below belong to the system.
const FIRST_OID: u32 = 16_384;

/// The oid of a table: the same for as long as it has its name, on every member.
pub(in crate::postgres) fn table_oid(name: &str) -> i32 {
    // FNV-1a: any hash would do, so long as it never changes.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (FIRST_OID + hash % (i32::MAX as u32 - FIRST_OID)) as i32
}

/// A value of a row.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Int(i32),
    Bool(bool),
    Text(String),
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// A row: values by the names of their columns; what is not named is null.
pub(super) type Row = HashMap<&'static str, Cell>;

macro_rules! row {
    ($($name:ident: $value:expr),* $(,)?) => {
        Row::from([$((stringify!($name), Cell::from($value))),*])
    };
}
pub(super) use row;

/// A table of users, as the catalog shows it.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) is_view: bool,
}

impl Listed {
    fn kind(&self) -> &'static str {
        if self.is_view { "v" } else { "r" }
    }
}

/// Tables, in `pg_class`.
pub(super) fn class(tables: &[Listed]) -> Vec<Row> {
    let one = |table: &Listed| {
        row! {
            oid: table_oid(&table.name), relname: table.name.as_str(), relnamespace: PUBLIC_OID, reltype: 0, reloftype: 0,
            relowner: OWNER_OID, relam: if table.is_view { 0 } else { HEAP_OID }, relfilenode: 0, reltablespace: 0, relpages: 0,
            reltuples: -1, relallvisible: 0, reltoastrelid: 0, relhasindex: false, relisshared: false, relpersistence: "p",
            relkind: table.kind(), relnatts: 0, relchecks: 0, relhasrules: false, relhastriggers: false, relhassubclass: false,
            relrowsecurity: false, relforcerowsecurity: false, relispopulated: true, relreplident: "d", relispartition: false,
            relrewrite: 0,
        }
    };
    tables.iter().map(one).collect()
}

/// The columns of one table, in `pg_attribute`.
pub(super) fn attributes(table: &str, columns: &Schema) -> Vec<Row> {
    let one = |(at, field): (usize, &Arc<datafusion::arrow::datatypes::Field>)| {
        let shown = pg_type(field);
        row! {
            attrelid: table_oid(table), attname: field.name().as_str(), atttypid: shown.oid() as i32, attstattarget: -1,
            attlen: i32::from(shown.size()), attnum: at as i32 + 1, attndims: i32::from(matches!(shown, Shown::Array(_))),
            attcacheoff: -1, atttypmod: -1, attbyval: false, attstorage: "p", attcompression: "", attalign: "i", attnotnull: !field.is_nullable(),
            atthasdef: false, atthasmissing: false, attidentity: "", attgenerated: "", attisdropped: false, attislocal: true,
            attinhcount: 0, attcollation: 0,
        }
    };
    columns.fields().iter().enumerate().map(one).collect()
}

/// The types that are served, and arrays of them.
pub(super) fn types() -> Vec<Row> {
    let mut rows = Vec::new();
    for of in TYPES {
        let mut add = |oid: u32, name: &str, size: i16, category: &str, element: u32, array: u32| {
            let function = |verb: &str| match element {
                0 => of.function(verb),
                _ => format!("array_{verb}"),
            };
            let (reads, writes) = (function("in"), function("out"));
            let (receives, sends) = (function("recv"), function("send"));
            rows.push(row! {
                oid: oid as i32, typname: name, typnamespace: CATALOG_OID, typowner: OWNER_OID, typlen: i32::from(size),
                typbyval: (1..=8).contains(&size), typtype: if of.name == "unknown" { "p" } else { "b" }, typcategory: category,
                typispreferred: false, typisdefined: true, typdelim: ",", typrelid: 0, typelem: element as i32,
                typarray: array as i32, typinput: reads.as_str(), typoutput: writes.as_str(),
                typreceive: receives.as_str(), typsend: sends.as_str(), typbasetype: 0, typtypmod: -1, typndims: 0, typcollation: 0,
                typnotnull: false,
            });
        };
        add(of.oid, of.name, of.size, of.category, 0, of.array);
        if of.array != 0 {
            add(of.array, &format!("_{}", of.name), -1, "A", of.oid, 0);
        }
    }
    rows
}

/// The pseudo-type of PostgreSQL for what follows from the arguments.
const ANY_OID: i32 = 2_276;

/// Functions, in `pg_proc`: names and what they are, `f` plain, `a` an aggregate, `w` of windows. What they take is said by their errors.
pub(super) fn functions<'n>(all: impl Iterator<Item = (&'n str, &'static str)>) -> Vec<Row> {
    let one = |(name, kind): (&str, &'static str)| {
        row! {
            oid: table_oid(&format!("{kind} {name}")), proname: name, pronamespace: CATALOG_OID, proowner: OWNER_OID, prolang: 12,
            prokind: kind, prosrc: name, proretset: false, prorettype: ANY_OID, proargtypes: "", pronargs: 0, provolatile: "v",
            proisstrict: false, prosecdef: false, proleakproof: false, procost: 1, prorows: 0, proparallel: "s", provariadic: 0,
            prosupport: 0,
        }
    };
    all.map(one).collect()
}

/// Everything else that has rows.
pub(super) fn others(table: &str, tables: &[Listed]) -> Vec<Row> {
    let listed = |views: bool| tables.iter().filter(move |table| table.is_view == views);
    match table {
        "pg_namespace" => SCHEMAS
            .map(|(oid, name)| row! { oid: oid, nspname: name, nspowner: OWNER_OID })
            .into(),
        "pg_database" => vec![row! {
            oid: DATABASE_OID, datname: DATABASE, datdba: OWNER_OID, encoding: 6, datlocprovider: "c", datistemplate: false,
            datallowconn: true, datconnlimit: -1, datlastsysoid: 0, dattablespace: TABLESPACE_OID, datcollate: "C", datctype: "C",
        }],
        "pg_roles" => vec![row! {
            oid: OWNER_OID, rolname: OWNER, rolsuper: false, rolinherit: true, rolcreaterole: false, rolcreatedb: false,
            rolcanlogin: true, rolreplication: false, rolconnlimit: -1, rolbypassrls: false,
        }],
        "pg_tablespace" => vec![row! { oid: TABLESPACE_OID, spcname: "pg_default", spcowner: OWNER_OID }],
        "pg_authid" => vec![row! {
            oid: OWNER_OID, rolname: OWNER, rolsuper: false, rolinherit: true, rolcreaterole: false, rolcreatedb: false,
            rolcanlogin: true,
        }],
        "pg_settings" => Variables::new(OWNER)
            .all()
            .map(|(name, value)| {
                row! {
                    name: name, setting: value, category: "Client Connection Defaults", context: "user", vartype: "string",
                    source: "default", boot_val: value, reset_val: value, pending_restart: false,
                }
            })
            .collect(),
        "pg_user" => vec![row! {
            usename: OWNER, usesysid: OWNER_OID, usecreatedb: false, usesuper: false, userepl: false, usebypassrls: false,
        }],
        "pg_am" => vec![row! { oid: HEAP_OID, amname: "heap", amhandler: "heap_tableam_handler", amtype: "t" }],
        "pg_tables" => listed(false)
            .map(|table| {
                row! {
                    schemaname: "public", tablename: table.name.as_str(), tableowner: OWNER, hasindexes: false, hasrules: false,
                    hastriggers: false, rowsecurity: false,
                }
            })
            .collect(),
        "pg_views" => listed(true)
            .map(|table| row! { schemaname: "public", viewname: table.name.as_str(), viewowner: OWNER })
            .collect(),
        _ => Vec::new(),
    }
}

/// The rows as columns.
pub(super) fn batch(schema: &SchemaRef, rows: &[Row]) -> Result<RecordBatch> {
    let column = |field: &Arc<datafusion::arrow::datatypes::Field>| -> ArrayRef {
        let cells = rows.iter().map(|row| row.get(field.name().as_str()));
        let ints = cells.clone().map(|cell| match cell {
            Some(Cell::Int(value)) => Some(*value),
            _ => None,
        });
        match field.data_type() {
            DataType::Int32 => Arc::new(ints.collect::<Int32Array>()),
            DataType::Int16 => {
                Arc::new(ints.map(|value| value.map(|value| value as i16)).collect::<Int16Array>())
            }
            DataType::Float32 => {
                Arc::new(ints.map(|value| value.map(|value| value as f32)).collect::<Float32Array>())
            }
            DataType::Boolean => {
                let bools = cells.map(|cell| match cell {
                    Some(Cell::Bool(value)) => Some(*value),
                    _ => None,
                });
                Arc::new(bools.collect::<BooleanArray>())
            }
            DataType::Utf8 => {
                let texts = cells.map(|cell| match cell {
                    Some(Cell::Text(value)) => Some(value.as_str()),
                    _ => None,
                });
                Arc::new(texts.collect::<StringArray>())
            }
            other => new_null_array(other, rows.len()),
        }
    };
    Ok(RecordBatch::try_new(Arc::clone(schema), schema.fields().iter().map(column).collect())?)
}

#[cfg(test)]
mod tests {
    use super::super::definition::Shelf;
    use super::super::information;
    use super::*;

    #[test]
    fn oids_of_tables_stay_and_are_not_those_of_the_system() {
        assert_eq!(table_oid("orders"), table_oid("orders"));
        assert_ne!(table_oid("orders"), table_oid("order"));
        for name in ["", "a", "orders", "ü"] {
            assert!(table_oid(name) >= FIRST_OID as i32);
        }
    }

    #[test]
    fn every_value_has_a_column_of_its_type() {
        let tables =
            [Listed { name: "t".into(), is_view: false }, Listed { name: "v".into(), is_view: true }];
        let columns = Schema::new(vec![datafusion::arrow::datatypes::Field::new("a", DataType::Int32, true)]);
        let both = [Shelf::Catalog, Shelf::Information].into_iter().flat_map(|shelf| shelf.tables());
        for definition in both.filter(|table| table.has_rows) {
            let rows = match definition.name {
                "pg_class" => class(&tables),
                "pg_attribute" => attributes("t", &columns),
                "pg_type" => types(),
                "pg_proc" => functions([("abs", "f"), ("sum", "a")].into_iter()),
                "columns" => information::columns("t", &columns),
                other => [others(other, &tables), information::rows(other, &tables)].concat(),
            };
            assert!(!rows.is_empty(), "{}", definition.name);
            let schema = definition.schema();
            let batch = batch(&schema, &rows).unwrap();
            for (name, cell) in &rows[0] {
                let column =
                    batch.column_by_name(name).unwrap_or_else(|| panic!("{}.{name}", definition.name));
                assert!(!column.is_null(0), "{}.{name} {cell:?}", definition.name);
            }
        }
    }
}
