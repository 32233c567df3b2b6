//! What a cube wants of a table, as a `SELECT` for databases that speak SQL.
//!
//! The cube filters again, so a condition may be left out, but no row that the filter wants may be lost. SQL has a third truth value and the
//! cube's filters have two: conditions are therefore brought into a form in which only single ones are negated, each with its missing
//! values. What the two sides could see differently is left out: regular expressions, zeros and NaN among floats, patterns with a
//! backslash, texts that are compared by an order that nobody knows. An engine that orders floats by their bits has NaN with a sign below all
//! numbers, where the cube has one NaN above all: a range of floats is written so that both want the same.

use super::TableQuery;
use crate::coordinate::Coordinate;
use crate::filter::{Comparison, Filter, Matcher};
use crate::value_type::{is_text, plain};
use arrow::datatypes::{DataType, Schema};
#[cfg(any(feature = "duckdb", feature = "postgres"))]
use arrow::{
    array::{Array, ArrayRef},
    compute::cast,
};
use std::sync::Arc;

/// More values than this in one list are not worth their text.
const MOST_VALUES: usize = 256;

/// More conditions than this are left out all together: what reads them has bounds of its own.
const MOST_CONDITIONS: usize = 200;

/// How the other side compares texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrder {
    /// Byte by byte, as cubes do.
    Bytes,
    /// By some collation: ranges of texts are not asked for.
    Unknown,
}

impl TableQuery {
    /// A statement that gives these columns, and at least the wanted rows, of what stands after `FROM`, whose columns are `schema`.
    ///
    /// ```
    /// use arrow::datatypes::{DataType, Field, Schema};
    /// use filbert_cube::{Filter, TableQuery, TextOrder};
    ///
    /// let schema = Schema::new(vec![
    ///     Field::new("desk", DataType::Utf8, true),
    ///     Field::new("pnl", DataType::Float64, true),
    /// ]);
    /// let query = TableQuery::new(["pnl"], Filter::equals("desk", "FX").negated());
    /// assert_eq!(
    ///     query.to_select("trades", &schema, TextOrder::Bytes),
    ///     r#"SELECT "pnl" FROM trades WHERE ("desk" IS NULL OR "desk" <> 'FX')"#
    /// );
    /// ```
    pub fn to_select(&self, from: &str, schema: &Schema, order: TextOrder) -> String {
        self.select(from, &mut Literals { schema, order })
    }

    /// The same, with columns and values as another side writes them.
    pub(super) fn select(&self, from: &str, dialect: &mut impl Dialect) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| dialect.read(column)).collect();
        // Without columns it is the number of rows that counts.
        let columns = if columns.is_empty() { "1".to_owned() } else { columns.join(", ") };
        match condition(&self.filter, dialect).text {
            Some(condition) => format!("SELECT {columns} FROM {from} WHERE {condition}"),
            None => format!("SELECT {columns} FROM {from}"),
        }
    }
}

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What a condition does with a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparing {
    /// Looks for values.
    Same,
    /// Compares with a value.
    Order,
    /// Looks for a pattern.
    Pattern,
}

/// A column, and the values that it is compared with, as one side writes them.
pub(super) type Compared = (String, Vec<String>);

/// How one side writes columns and values.
pub(super) trait Dialect {
    /// A column among those that are read.
    fn read(&self, column: &str) -> String {
        quoted(column)
    }

    /// True when there is such a column.
    fn has(&self, column: &str) -> bool;

    /// A column and the values that it is compared with; nothing where the two sides could see them differently.
    fn compared(&mut self, column: &str, how: Comparing, values: &[&Coordinate]) -> Option<Compared>;

    /// The least number of a column of floats, where a NaN may lie below it.
    fn least(&self, _column: &str) -> Option<String> {
        None
    }

    /// How many values were written so far.
    fn written(&self) -> usize {
        0
    }

    /// Forgets those that were written later: their condition is left out.
    fn forget(&mut self, _written: usize) {}
}

/// A filter in SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    /// Holds wherever the filter does; nothing when that is everywhere.
    pub(super) text: Option<String>,
    /// True when it holds nowhere else.
    pub(super) is_exact: bool,
}

/// A condition that holds wherever the filter does.
pub(super) fn condition(filter: &Filter, dialect: &mut impl Dialect) -> Condition {
    let written = dialect.written();
    let mut writer = Writer { dialect, conditions: 0, is_exact: true };
    let text = writer.condition(filter, false);
    if writer.conditions <= MOST_CONDITIONS {
        return Condition { text, is_exact: writer.is_exact };
    }
    dialect.forget(written);
    Condition { text: None, is_exact: false }
}

struct Writer<'a, D> {
    dialect: &'a mut D,
    conditions: usize,
    is_exact: bool,
}

impl<D: Dialect> Writer<'_, D> {
    /// A condition that holds wherever the filter does, or its contrary; nothing when there is none but "always".
    fn condition(&mut self, filter: &Filter, negated: bool) -> Option<String> {
        let written = self.dialect.written();
        let text = self.text(filter, negated);
        if text.is_none() {
            self.dialect.forget(written);
        }
        text
    }

    fn text(&mut self, filter: &Filter, negated: bool) -> Option<String> {
        match (filter, negated) {
            (Filter::All, false) | (Filter::None, true) => None,
            (Filter::All, true) | (Filter::None, false) => Some("false".to_owned()),
            (Filter::Not(inner), _) => self.condition(inner, !negated),
            (Filter::And(all), false) | (Filter::Or(all), true) => {
                let known: Vec<String> =
                    all.iter().filter_map(|filter| self.condition(filter, negated)).collect();
                if known.is_empty() { None } else { Some(format!("({})", known.join(" AND "))) }
            }
            (Filter::Or(any), false) | (Filter::And(any), true) => {
                // One side that is not known may want any row.
                let known: Option<Vec<String>> =
                    any.iter().map(|filter| self.condition(filter, negated)).collect();
                known.map(|known| match known.is_empty() {
                    true => "false".to_owned(),
                    false => format!("({})", known.join(" OR ")),
                })
            }
            (Filter::Column(_, Matcher::In(values)), _) if values.is_empty() => {
                self.conditions += 1;
                (!negated).then(|| "false".to_owned())
            }
            (Filter::Column(column, matcher), _) => {
                self.conditions += 1;
                let text = self.column(column, matcher, negated);
                self.is_exact &= text.is_some();
                text
            }
        }
    }

    fn column(&mut self, column: &str, matcher: &Matcher, negated: bool) -> Option<String> {
        if !self.dialect.has(column) {
            return None;
        }
        let null = quoted(column);
        let (wanted, contrary) = match matcher {
            Matcher::Null if negated => return Some(format!("{null} IS NOT NULL")),
            Matcher::Null => return Some(format!("{null} IS NULL")),
            Matcher::In(values) if values.len() > MOST_VALUES => return None,
            Matcher::In(values) => {
                let values: Vec<&Coordinate> = values.iter().collect();
                let (column, values) = self.dialect.compared(column, Comparing::Same, &values)?;
                match values.as_slice() {
                    [value] => (format!("{column} = {value}"), format!("{column} <> {value}")),
                    _ => {
                        let list = values.join(", ");
                        (format!("{column} IN ({list})"), format!("{column} NOT IN ({list})"))
                    }
                }
            }
            Matcher::Compare(comparison, bound) => {
                let (name, values) = self.dialect.compared(column, Comparing::Order, &[bound])?;
                let condition = format!("{name} {} {}", comparison.sign(), values.first()?);
                // Where the other side has NaN below all numbers too, what lies there is above all for the cube.
                let condition = match (self.dialect.least(column), comparison) {
                    (None, _) => condition,
                    (Some(least), Comparison::Less | Comparison::AtMost) => {
                        format!("({condition} AND {name} >= {least})")
                    }
                    (Some(least), Comparison::Greater | Comparison::AtLeast) => {
                        format!("({condition} OR {name} < {least})")
                    }
                };
                let contrary = format!("NOT {condition}");
                (condition, contrary)
            }
            Matcher::Like(pattern) if !pattern.as_str().contains(['\\', '\0']) => {
                let pattern = Coordinate::Text(Arc::clone(pattern.text()));
                let (column, values) = self.dialect.compared(column, Comparing::Pattern, &[&pattern])?;
                let pattern = values.first()?;
                (format!("{column} LIKE {pattern}"), format!("{column} NOT LIKE {pattern}"))
            }
            Matcher::Like(_) | Matcher::Regex(_) => return None,
        };
        Some(if negated { format!("({null} IS NULL OR {contrary})") } else { wanted })
    }
}

/// Values as a part of the text.
pub(super) struct Literals<'a> {
    pub(super) schema: &'a Schema,
    pub(super) order: TextOrder,
}

impl Dialect for Literals<'_> {
    fn has(&self, column: &str) -> bool {
        self.schema.field_with_name(column).is_ok()
    }

    fn compared(&mut self, column: &str, how: Comparing, values: &[&Coordinate]) -> Option<Compared> {
        let of = plain(self.schema.field_with_name(column).ok()?.data_type());
        let is_known = match how {
            Comparing::Same => true,
            Comparing::Order => !is_text(of) || self.order == TextOrder::Bytes,
            Comparing::Pattern => is_text(of),
        };
        let values: Option<Vec<String>> = values.iter().map(|value| literal(value, of)).collect();
        Some((quoted(column), values.filter(|_| is_known)?))
    }

    fn least(&self, column: &str) -> Option<String> {
        let of = plain(self.schema.field_with_name(column).ok()?.data_type());
        of.is_floating().then(|| "CAST('-Infinity' AS DOUBLE PRECISION)".to_owned())
    }
}

/// The moment of a text, as the cube reads it in a column of this type: one row.
#[cfg(any(feature = "duckdb", feature = "postgres"))]
pub(super) fn moment(value: &Coordinate, of: &DataType) -> Option<ArrayRef> {
    let moment = cast(&value.typed(of)?.array(1), of).ok()?;
    (!moment.is_null(0)).then_some(moment)
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The value as SQL writes one of this type; nothing where the two could be understood differently.
fn literal(value: &Coordinate, of: &DataType) -> Option<String> {
    let is_whole = of.is_signed_integer() || of.is_unsigned_integer() && *of != DataType::UInt64;
    match value {
        Coordinate::Bool(value) if *of == DataType::Boolean => Some(value.to_string()),
        // The least one is written as the negative of a number that there is not.
        Coordinate::Int(value) if is_whole && *value != i64::MIN => Some(value.to_string()),
        Coordinate::Float(value) if *of == DataType::Float64 && value.is_finite() && *value != 0.0 => {
            Some(format!("CAST('{value:e}' AS DOUBLE PRECISION)"))
        }
        Coordinate::Text(value) if is_text(of) && !value.contains('\0') => Some(text(value)),
        Coordinate::Text(day) if *of == DataType::Date32 => {
            let is_plain = day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            (is_plain && value.days().is_some()).then(|| format!("DATE '{day}'"))
        }
        _ => None,
    }
}
