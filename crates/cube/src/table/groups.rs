//! Groups that a table makes itself: what it is asked for, and the statement for databases that speak SQL.
//!
//! A table may group rows where they lie, instead of sending them: one statement with a grouping set for every level and a condition for
//! every aggregate. The cube merges what comes once more, so keys that only the cube takes for equal end in one slice.

use super::select::{Condition, Dialect, Literals, TextOrder, condition, quoted};
use crate::filter::Filter;
use crate::value_type::{is_text, plain};
use arrow::datatypes::{DataType, Schema};
use std::fmt;

/// Whether groups are made by the table or by the cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableGroups {
    /// By a table that would rather, where its answer is the same to the last bit: not where it would add up floats, because their last
    /// bits depend on its order. Floats that measures make of its groups are added up by the cube, exactly.
    #[default]
    WhereExact,
    /// By the table wherever it can.
    Always,
    /// By the cube.
    Never,
}

/// What a table computes of the values of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TableFunction {
    /// Integers as an exact integer or decimal, floats as a double, decimals with their scale.
    Sum,
    /// How many values, or rows when there is no column.
    Count,
    /// The least value; texts byte by byte.
    Min,
    /// The greatest value.
    Max,
}

impl fmt::Display for TableFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "SUM",
            Self::Count => "COUNT",
            Self::Min => "MIN",
            Self::Max => "MAX",
        })
    }
}

/// A value per group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct TableAggregate {
    /// What is computed.
    pub function: TableFunction,
    /// Of which column; a count may do without.
    pub column: Option<String>,
    /// Only of these rows.
    pub filter: Filter,
}

impl TableAggregate {
    /// A function of a column, of the rows that a filter wants.
    pub fn new(function: TableFunction, column: Option<&str>, filter: Filter) -> Self {
        Self { function, column: column.map(str::to_owned), filter }
    }
}

/// What a cube wants of a table that makes groups.
///
/// Batches of the answer have, in this order: the number of the level of a row (an integer), the columns of [`GroupQuery::keys`], null where
/// the level does not have them, and a column for every aggregate.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GroupQuery {
    /// The columns of each level; none of them twice.
    pub levels: Vec<Vec<String>>,
    /// What is computed, of the groups of all levels.
    pub aggregates: Vec<TableAggregate>,
    /// Rows that no aggregate wants; they may be left out.
    pub filter: Filter,
}

impl GroupQuery {
    /// Aggregates by the columns of each level, of the rows that a filter wants.
    pub fn new(levels: Vec<Vec<String>>, aggregates: Vec<TableAggregate>, filter: Filter) -> Self {
        Self { levels, aggregates, filter }
    }

    /// The columns of all levels, each once, in order.
    pub fn keys(&self) -> Vec<String> {
        let keys: std::collections::BTreeSet<&String> = self.levels.iter().flatten().collect();
        keys.into_iter().cloned().collect()
    }

    /// A statement that makes the groups of what stands after `FROM`, whose columns are `schema`; nothing when the other side would see
    /// something differently.
    ///
    /// ```
    /// use arrow::datatypes::{DataType, Field, Schema};
    /// use filbert_cube::{Filter, GroupQuery, TableAggregate, TableFunction, TextOrder};
    ///
    /// let schema = Schema::new(vec![
    ///     Field::new("desk", DataType::Utf8, true),
    ///     Field::new("lots", DataType::Int64, true),
    /// ]);
    /// let count = TableAggregate::new(TableFunction::Count, None, Filter::equals("lots", 7));
    /// let query = GroupQuery::new(vec![vec!["desk".to_owned()]], vec![count], Filter::All);
    /// assert_eq!(
    ///     query.to_select("trades", &schema, TextOrder::Bytes).unwrap(),
    ///     r#"SELECT 0 AS level, "desk" AS k0, COUNT(*) FILTER (WHERE "lots" = 7) AS a0 FROM trades GROUP BY "desk""#
    /// );
    /// ```
    pub fn to_select(&self, from: &str, schema: &Schema, order: TextOrder) -> Option<String> {
        self.select(from, &mut Literals { schema, order })
    }

    /// The same, with columns and values as another side writes them.
    pub(super) fn select(&self, from: &str, dialect: &mut impl GroupDialect) -> Option<String> {
        let keys = self.keys();
        let written: Vec<String> = keys.iter().map(|key| dialect.key(key)).collect::<Option<_>>()?;
        let written_of = |column: &String| {
            keys.iter().position(|key| key == column).map(|position| written[position].as_str())
        };
        let mut columns = vec![format!("{} AS level", level_number(&self.levels, &keys, &written)?)];
        columns.extend(written.iter().enumerate().map(|(number, key)| format!("{key} AS k{number}")));
        let rows = condition(&self.filter, dialect);
        for (number, aggregate) in self.aggregates.iter().enumerate() {
            let filter = match aggregate.filter == self.filter && rows.is_exact {
                true => String::new(),
                false => match condition(&aggregate.filter, dialect) {
                    Condition { text: Some(text), is_exact: true } => format!(" FILTER (WHERE {text})"),
                    Condition { text: None, is_exact: true } => String::new(),
                    Condition { is_exact: false, .. } => return None,
                },
            };
            let value = dialect.aggregate(aggregate.function, aggregate.column.as_deref(), &filter)?;
            columns.push(format!("{value} AS a{number}"));
        }
        let rows = rows.text.map(|text| format!(" WHERE {text}")).unwrap_or_default();
        let sets: Vec<String> = self
            .levels
            .iter()
            .map(|level| {
                let set: Vec<&str> = level.iter().filter_map(written_of).collect();
                set.join(", ")
            })
            .collect();
        let groups = match sets.as_slice() {
            [only] if only.is_empty() => String::new(),
            [only] => format!(" GROUP BY {only}"),
            _ => {
                let sets: Vec<String> = sets.iter().map(|set| format!("({set})")).collect();
                format!(" GROUP BY GROUPING SETS ({})", sets.join(", "))
            }
        };
        Some(format!("SELECT {} FROM {from}{rows}{groups}", columns.join(", ")))
    }
}

/// Which level a row is of: by the keys that its grouping set does not have, of which each is a bit, the last key the lowest.
fn level_number(levels: &[Vec<String>], keys: &[String], written: &[String]) -> Option<String> {
    if levels.len() == 1 {
        return Some("0".to_owned());
    }
    // A server has as many bits as an integer of 32.
    if keys.len() > 30 {
        return None;
    }
    let cases = levels.iter().enumerate().map(|(number, level)| {
        let missing = keys.iter().fold(0_u32, |bits, key| bits << 1 | u32::from(!level.contains(key)));
        format!("WHEN {missing} THEN {number}")
    });
    let cases: Vec<String> = cases.collect();
    Some(format!("CASE GROUPING({}) {} END", written.join(", "), cases.join(" ")))
}

/// How one side groups and aggregates.
pub(super) trait GroupDialect: Dialect {
    /// A column as a key: equal where the cube's keys are, or more rarely.
    fn key(&self, column: &str) -> Option<String>;

    /// An aggregate, with this behind its call; nothing when its value could be another one than the cube's.
    fn aggregate(&self, function: TableFunction, column: Option<&str>, filter: &str) -> Option<String>;
}

impl GroupDialect for Literals<'_> {
    fn key(&self, column: &str) -> Option<String> {
        self.has(column).then(|| quoted(column))
    }

    fn aggregate(&self, function: TableFunction, column: Option<&str>, filter: &str) -> Option<String> {
        let Some(column) = column else {
            return (function == TableFunction::Count).then(|| format!("COUNT(*){filter}"));
        };
        let of = plain(self.schema.field_with_name(column).ok()?.data_type());
        let name = quoted(column);
        let value = match (function, of) {
            (TableFunction::Count, _) => name,
            // As a decimal no total is too large, and none comes round to the other end.
            (TableFunction::Sum, of) if of.is_integer() => format!("CAST({name} AS DECIMAL(20, 0))"),
            (TableFunction::Sum, DataType::Decimal128(_, scale)) => {
                format!("CAST({name} AS DECIMAL(38, {scale}))")
            }
            (TableFunction::Sum, of) if of.is_floating() => format!("CAST({name} AS DOUBLE PRECISION)"),
            (TableFunction::Sum, _) | (_, DataType::Boolean) => return None,
            (_, of) if is_text(of) && self.order != TextOrder::Bytes => return None,
            _ => name,
        };
        Some(format!("{function}({value}){filter}"))
    }
}
