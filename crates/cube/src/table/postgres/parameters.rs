//! Conditions for a PostgreSQL server: values as parameters, columns written so that both sides see the same.
//!
//! Equal texts are equal bytes for the server as well, unless the database has a collation that says otherwise; then, and wherever the order
//! of texts counts, conditions ask for that of bytes. What has no such form is left to the cube.

use super::super::groups::{GroupDialect, TableFunction};
use super::super::select::{Compared, Comparing, Dialect, moment, quoted};
use super::kind::Kind;
use crate::coordinate::Coordinate;
use arrow::array::AsArray;
use arrow::datatypes::TimestampMicrosecondType;
use chrono::{DateTime, NaiveDate};
use postgres::types::ToSql;
use std::collections::BTreeMap;

/// From the first day of our calendar to 1970.
const DAYS_TO_1970: i32 = 719_163;

/// A value of a statement.
pub(super) type Parameter = Box<dyn ToSql + Sync + Send>;

/// What is known of the columns of a table, and of its database.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    pub(super) kinds: BTreeMap<String, Kind>,
    /// The order of bytes is that of the letters' numbers, as in UTF-8.
    pub(super) is_utf8: bool,
    /// The database has collations by which different texts may be equal.
    pub(super) is_loose: bool,
}

/// Writes values as `$1`, `$2` and so on.
pub(super) struct Parameters<'a> {
    pub(super) columns: &'a Columns,
    pub(super) values: Vec<Parameter>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(columns: &'a Columns) -> Self {
        Self { columns, values: Vec::new() }
    }

    /// A column as a text that is compared byte by byte.
    pub(super) fn bytes(&self, column: &str, kind: Kind) -> Option<String> {
        let column = quoted(column);
        let text = match kind {
            Kind::Text => column,
            Kind::Padded | Kind::Word | Kind::Uuid => format!("CAST({column} AS text)"),
            _ => return None,
        };
        self.columns.is_utf8.then(|| format!("{text} COLLATE \"C\""))
    }

    /// True when every encoding of a database has these letters: what it lacks would be an error of the server's.
    fn can_say(&self, text: &str) -> bool {
        !text.contains('\0') && (self.columns.is_utf8 || text.is_ascii())
    }

    fn add(&mut self, data_type: &str, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("CAST(${} AS {data_type})", self.values.len())
    }

    fn value(&mut self, kind: Kind, how: Comparing, value: &Coordinate) -> Option<String> {
        match (kind, value) {
            (Kind::Bool, Coordinate::Bool(value)) => Some(self.add("bool", *value)),
            (Kind::Int16 | Kind::Int32 | Kind::Int64, Coordinate::Int(value)) => {
                Some(self.add("int8", *value))
            }
            // The server takes both zeros for one.
            (Kind::Float32 | Kind::Float64, Coordinate::Float(value)) => {
                (value.is_finite() && *value != 0.0).then(|| self.add("float8", *value))
            }
            (Kind::Padded, Coordinate::Text(text)) if how == Comparing::Same => {
                (self.can_say(text) && !text.ends_with(' ')).then(|| self.add("bpchar", text.to_string()))
            }
            (Kind::Uuid, Coordinate::Text(text)) if how != Comparing::Pattern => {
                let is_at = |position| matches!(position, 8 | 13 | 18 | 23);
                let is_canonical = text.len() == 36
                    && text.bytes().enumerate().all(|(position, byte)| match byte {
                        b'-' => is_at(position),
                        b'0'..=b'9' | b'a'..=b'f' => !is_at(position),
                        _ => false,
                    });
                is_canonical.then(|| format!("CAST({} AS uuid)", self.add("text", text.to_string())))
            }
            (Kind::Text | Kind::Padded | Kind::Word | Kind::Uuid, Coordinate::Text(text)) => {
                self.can_say(text).then(|| self.add("text", text.to_string()))
            }
            (Kind::Date, Coordinate::Text(_)) => {
                let days = value.days()?.checked_add(DAYS_TO_1970)?;
                NaiveDate::from_num_days_from_ce_opt(days).map(|day| self.add("date", day))
            }
            (Kind::Timestamp, Coordinate::Text(_)) => {
                instant(value, kind).map(|at| self.add("timestamp", at.naive_utc()))
            }
            (Kind::Instant, Coordinate::Text(_)) => {
                instant(value, kind).map(|at| self.add("timestamptz", at))
            }
            _ => None,
        }
    }
}

impl Dialect for Parameters<'_> {
    fn has(&self, column: &str) -> bool {
        self.columns.kinds.contains_key(column)
    }

    fn compared(&mut self, column: &str, how: Comparing, values: &[&Coordinate]) -> Option<Compared> {
        let kind = *self.columns.kinds.get(column)?;
        let is_loose = self.columns.is_loose;
        let name = match (kind, how) {
            (Kind::Text, Comparing::Same) if !is_loose => quoted(column),
            // Where letters are bytes, `_` is one byte.
            (Kind::Text, Comparing::Pattern) if !is_loose && self.columns.is_utf8 => quoted(column),
            (Kind::Padded, Comparing::Same) if is_loose => return None,
            (Kind::Padded, Comparing::Same) => quoted(column),
            (Kind::Uuid, Comparing::Same | Comparing::Order) => quoted(column),
            (Kind::Text | Kind::Padded | Kind::Word | Kind::Uuid, _) => self.bytes(column, kind)?,
            (_, Comparing::Pattern) => return None,
            _ => quoted(column),
        };
        let values: Option<Vec<String>> = values.iter().map(|value| self.value(kind, how, value)).collect();
        Some((name, values?))
    }

    fn written(&self) -> usize {
        self.values.len()
    }

    fn forget(&mut self, written: usize) {
        self.values.truncate(written);
    }
}

/// The moment of a text, as the cube reads it.
fn instant(value: &Coordinate, kind: Kind) -> Option<DateTime<chrono::Utc>> {
    let moment = moment(value, &kind.data_type())?;
    DateTime::from_timestamp_micros(moment.as_primitive_opt::<TimestampMicrosecondType>()?.value(0))
}

impl GroupDialect for Parameters<'_> {
    fn key(&self, column: &str) -> Option<String> {
        let kind = *self.columns.kinds.get(column)?;
        match kind {
            Kind::Text if self.columns.is_loose => Some(format!("{} COLLATE \"C\"", quoted(column))),
            Kind::Padded | Kind::Word => Some(format!("CAST({} AS text) COLLATE \"C\"", quoted(column))),
            _ => Some(quoted(column)),
        }
    }

    fn aggregate(&self, function: TableFunction, column: Option<&str>, filter: &str) -> Option<String> {
        let Some(column) = column else {
            return (function == TableFunction::Count).then(|| format!("COUNT(*){filter}"));
        };
        let kind = *self.columns.kinds.get(column)?;
        let name = quoted(column);
        let call = |of: &str| format!("{function}({of}){filter}");
        match (function, kind) {
            (TableFunction::Count, _) => Some(call(&name)),
            // With room for the total that a mean is divided from; one that is told must fit into 64 bits, which the cube sees to.
            (TableFunction::Sum, Kind::Int16 | Kind::Int32 | Kind::Int64) => {
                Some(format!("CAST({} AS numeric(38, 0))", call(&name)))
            }
            (TableFunction::Sum, Kind::Decimal(_, after)) => {
                Some(format!("CAST({} AS numeric(38, {after}))", call(&name)))
            }
            (TableFunction::Sum, Kind::Float32 | Kind::Float64 | Kind::Number) => {
                Some(call(&format!("CAST({name} AS float8)")))
            }
            (TableFunction::Sum, _) | (_, Kind::Bool) => None,
            (_, Kind::Text | Kind::Padded | Kind::Word | Kind::Uuid) => {
                self.bytes(column, kind).map(|text| call(&text))
            }
            (_, Kind::Decimal(digits, after)) => {
                Some(format!("CAST({} AS numeric({digits}, {after}))", call(&name)))
            }
            (_, Kind::Number) => Some(call(&format!("CAST({name} AS float8)"))),
            (TableFunction::Min | TableFunction::Max, _) => Some(call(&name)),
        }
    }
}
