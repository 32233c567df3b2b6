//! What a table has, and conditions on it, written so that DuckDB and the cube see the same.
//!
//! Texts are compared byte by byte, whatever collation a column was declared with: by name, because `"binary"` costs nothing. A zero of
//! floats, and decimals and 128-bit integers, which have no coordinate of their own, are left to the cube, like all that the other databases
//! leave to it.

use super::super::groups::{GroupDialect, TableFunction};
use super::super::select::{Compared, Comparing, Dialect, Literals, TextOrder, moment, quoted};
use super::line::{Line, Reins, failed};
use super::place::DuckDb;
use super::values;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::value_type::{is_text, plain};
use arrow::array::{AsArray, RecordBatch, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: SchemaRef,
    /// Those that are texts for DuckDB as well, not only in Arrow: a UUID is not.
    texts: BTreeSet<String>,
}

impl Columns {
    /// Finds out about them. Waits.
    pub(super) fn look(
        place: &DuckDb,
        reins: &Arc<Reins>,
        table: &Arc<str>,
        from: &str,
    ) -> Result<Self, CubeError> {
        let mut line = Line::open(place, table, reins)?;
        let found = line.execute(&no_rows(from))?.schema();
        line.execute(&format!("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {from})"))?;
        let described: Vec<RecordBatch> = line.take(|rows| rows.collect())?;
        let mut names = Vec::new();
        for batch in &described {
            let columns = (batch.column(0).as_string_opt::<i32>(), batch.column(1).as_string_opt::<i32>());
            let (Some(columns), Some(types)) = columns else { continue };
            names.extend(columns.iter().flatten().zip(types.iter().flatten()));
        }
        if names.len() != found.fields().len() {
            return Err(failed(table, "DuckDB described other columns than it has"));
        }
        let mut fields = Vec::new();
        let mut texts = BTreeSet::new();
        for (field, (name, data_type)) in found.fields().iter().zip(names) {
            let Some(known) = values::known(field.data_type(), data_type) else {
                return Err(CubeError::UnsupportedType {
                    place: format!("table {table:?}, column {name:?}"),
                    problem: format!(
                        "values of type {data_type} cannot be read; name a query as the table that casts the column, \
                         such as CAST({} AS VARCHAR), or leaves it out",
                        quoted(name)
                    ),
                });
            };
            if fields.iter().any(|field: &Field| field.name() == name) {
                let problem = format!("it has two columns {name:?}; give one another name by AS");
                return Err(CubeError::InvalidTable { table: table.to_string(), problem });
            }
            fields.push(Field::new(name, known, true));
            if data_type == "VARCHAR" {
                texts.insert(name.to_owned());
            }
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), texts })
    }

    /// The type of a column, as the cube knows it.
    pub(super) fn of(&self, column: &str) -> Option<&DataType> {
        self.schema.field_with_name(column).ok().map(Field::data_type)
    }

    /// An error when a column that is known is of another type now.
    pub(super) fn check(&self, now: &Schema, table: &str) -> Result<(), CubeError> {
        let is_other = |field: &&Arc<Field>| self.of(field.name()).is_some_and(|known| !is_it(field, known));
        match now.fields().iter().find(is_other) {
            Some(field) => Err(changed(field.name(), table)),
            None => Ok(()),
        }
    }
}

/// A statement that tells the types of all columns.
pub(super) fn no_rows(from: &str) -> String {
    format!("SELECT * FROM {from} LIMIT 0")
}

/// True when DuckDB gives a column that is known as this.
pub(super) fn is_it(field: &Field, known: &DataType) -> bool {
    values::known(field.data_type(), "").as_ref() == Some(known)
}

/// A column is not what it was.
pub(super) fn changed(column: &str, table: &str) -> CubeError {
    failed(table, &format!("its columns changed: {column:?} is of another type; open it again"))
}

/// Columns and values in the words of DuckDB.
pub(super) struct Words<'a> {
    pub(super) columns: &'a Columns,
}

impl Words<'_> {
    /// A column as its values are read.
    fn value(&self, column: &str) -> String {
        match self.columns.of(column) {
            // Of 128-bit integers some have one digit more; those are errors.
            Some(DataType::Decimal128(38, 0)) => format!("CAST({} AS DECIMAL(38, 0))", quoted(column)),
            _ => quoted(column),
        }
    }

    /// A column as a text that is compared byte by byte.
    fn bytes(&self, column: &str) -> String {
        let name = quoted(column);
        match self.columns.texts.contains(column) {
            true => format!("{name} COLLATE \"binary\""),
            false => format!("CAST({name} AS VARCHAR) COLLATE \"binary\""),
        }
    }
}

impl Dialect for Words<'_> {
    fn read(&self, column: &str) -> String {
        let (value, name) = (self.value(column), quoted(column));
        if value == name { name } else { format!("{value} AS {name}") }
    }

    fn has(&self, column: &str) -> bool {
        self.columns.of(column).is_some()
    }

    fn compared(&mut self, column: &str, how: Comparing, values: &[&Coordinate]) -> Option<Compared> {
        let of = self.columns.of(column)?;
        if let DataType::Timestamp(TimeUnit::Microsecond, zone) = of {
            let word = if zone.is_some() { "TIMESTAMPTZ" } else { "TIMESTAMP" };
            let moments: Option<Vec<String>> = values.iter().map(|value| instant(value, of)).collect();
            let moments: Vec<String> = moments?.iter().map(|moment| format!("{word} '{moment}'")).collect();
            return (how != Comparing::Pattern).then(|| (quoted(column), moments));
        }
        let mut literals = Literals { schema: &self.columns.schema, order: TextOrder::Bytes };
        let (name, values) = literals.compared(column, how, values)?;
        Some((if is_text(plain(of)) { self.bytes(column) } else { name }, values))
    }
}

/// A moment as DuckDB reads it: in ISO form, of a year of four digits.
fn instant(value: &Coordinate, of: &DataType) -> Option<String> {
    let Coordinate::Text(_) = value else { return None };
    let text = cast(&moment(value, of)?, &DataType::Utf8).ok()?;
    let text = text.as_string_opt::<i32>()?.value(0);
    let is_plain = text.len() >= 19 && text.bytes().take(4).all(|byte| byte.is_ascii_digit());
    (is_plain && text.as_bytes()[4] == b'-').then(|| text.to_owned())
}

impl GroupDialect for Words<'_> {
    fn key(&self, column: &str) -> Option<String> {
        match self.columns.of(column)? {
            of if is_text(of) => Some(self.bytes(column)),
            _ => Some(self.value(column)),
        }
    }

    fn aggregate(&self, function: TableFunction, column: Option<&str>, filter: &str) -> Option<String> {
        let Some(column) = column else {
            return (function == TableFunction::Count).then(|| format!("COUNT(*){filter}"));
        };
        let of = plain(self.columns.of(column)?);
        let value = match (function, of) {
            (TableFunction::Count, _) => quoted(column),
            // Totals of integers have 128 bits.
            (TableFunction::Sum, of) if of.is_integer() => quoted(column),
            (TableFunction::Sum, DataType::Decimal128(..)) => self.value(column),
            (TableFunction::Sum, of) if of.is_floating() => format!("CAST({} AS DOUBLE)", quoted(column)),
            (TableFunction::Sum, _) | (_, DataType::Boolean) => return None,
            (_, of) if is_text(of) => self.bytes(column),
            _ => self.value(column),
        };
        Some(format!("{function}({value}){filter}"))
    }
}
