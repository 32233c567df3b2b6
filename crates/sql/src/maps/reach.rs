//! What a WHERE says about keys and indexed attributes, in the words of the grid.
//!
//! Everything here finds *candidates*: the filter itself stays in the plan above the scan, because SQL and predicates of the grid differ in
//! corners (text beside numbers, missing fields). So the candidates must hold every row that the filter takes, and may hold more. Where that
//! is not sure, nothing is pushed down.

use super::kind::Kind;
use super::layout::{Column, Layout, Side};
use super::pages::Reach;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use filbert_grid::query::operations::Shared;
use filbert_grid::query::{Attribute, Comparison, IndexKind, IndexSettings, Operand, Predicate};
use filbert_wire::{Data, ToData, Value};

/// Keys that are looked up one by one; for more a scan is cheaper.
const MAX_KEYS: usize = 10_000;

/// How the entries that all of `filters` take are found, and how that is called in plans.
pub(crate) fn reach(layout: &Layout, indexes: &[IndexSettings], filters: &[Expr]) -> (Reach, String) {
    if let Some((filter, keys)) = filters.iter().find_map(|filter| Some((filter, keys_of(layout, filter)?))) {
        return (Reach::Keys(keys), format!("lookup of {filter}"));
    }
    let mut predicates = Vec::new();
    let mut words = Vec::new();
    for filter in filters {
        if let Some(predicate) = predicate_of(layout, indexes, filter) {
            predicates.push(predicate);
            words.push(filter.to_string());
        }
    }
    match predicates.len() {
        0 => (Reach::All, "all entries".to_owned()),
        _ => (
            Reach::Where(Shared::new(Predicate::and(predicates))),
            format!("by index: {}", words.join(" AND ")),
        ),
    }
}

/// Whether [`reach`] can use a filter.
pub(crate) fn is_useful(layout: &Layout, indexes: &[IndexSettings], filter: &Expr) -> bool {
    keys_of(layout, filter).is_some() || predicate_of(layout, indexes, filter).is_some()
}

/// All stored keys that a filter can take, when there are few.
fn keys_of(layout: &Layout, filter: &Expr) -> Option<Vec<Data>> {
    let values: Vec<&ScalarValue> = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            let (column, value) = sides(layout, left, right)?;
            return keys_of_value(column, value);
        }
        Expr::InList(list) if !list.negated && list.list.len() <= MAX_KEYS => {
            list.list.iter().map(literal).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let Expr::InList(list) = filter else { return None };
    let column = column_of(layout, &list.expr)?;
    let mut keys = Vec::new();
    for value in values {
        for key in keys_of_value(column, value)? {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    Some(keys)
}

/// The keys that are shown as `value`. Clients store whole numbers in the smallest type that fits, or in the declared one: all are tried.
fn keys_of_value(column: &Column, value: &ScalarValue) -> Option<Vec<Data>> {
    if column.side != Side::Key || column.field.is_some() || column.kinds.is_empty() {
        return None;
    }
    let all = |test: fn(&Kind) -> bool| column.kinds.iter().all(test);
    let values = match operand(value)? {
        Value::Long(number) if all(|kind| kind.is_whole()) => whole_numbers(number),
        Value::String(text) if all(|kind| *kind == Kind::String) => vec![Value::String(text)],
        Value::String(text) if all(|kind| *kind == Kind::Uuid) => {
            // Other ways of writing an id are the same id, but not the same text.
            let id = uuid::Uuid::try_parse(&text).ok().filter(|id| id.to_string() == text);
            id.map(Value::Uuid).into_iter().collect()
        }
        Value::Bool(value) if all(|kind| *kind == Kind::Bool) => vec![Value::Bool(value)],
        _ => return None,
    };
    values.iter().map(|value| value.to_data().ok()).collect()
}

fn whole_numbers(number: i64) -> Vec<Value> {
    let mut all = vec![Value::Long(number)];
    all.extend(i32::try_from(number).ok().map(Value::Int));
    all.extend(i16::try_from(number).ok().map(Value::Short));
    all.extend(i8::try_from(number).ok().map(Value::Byte));
    all
}

/// A predicate that takes every entry that the filter takes, if an index finds them.
fn predicate_of(layout: &Layout, indexes: &[IndexSettings], filter: &Expr) -> Option<Predicate> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let (left, right) = (predicate_of(layout, indexes, left), predicate_of(layout, indexes, right));
            match (left, right) {
                (Some(left), Some(right)) => Some(Predicate::and([left, right])),
                (one, other) => one.or(other),
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (left, right) = (predicate_of(layout, indexes, left)?, predicate_of(layout, indexes, right)?);
            Some(Predicate::or([left, right]))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (column, value) = sides(layout, left, right)?;
            // `5 < a` is `a > 5`.
            let op = if column_of(layout, left).is_some() { *op } else { op.swap()? };
            compared(column, indexes, op, value)
        }
        Expr::Between(between) if !between.negated => {
            let column = column_of(layout, &between.expr)?;
            let low = compared(column, indexes, Operator::GtEq, literal(&between.low)?)?;
            let high = compared(column, indexes, Operator::LtEq, literal(&between.high)?)?;
            Some(Predicate::and([low, high]))
        }
        Expr::InList(list) if !list.negated => {
            let column = column_of(layout, &list.expr)?;
            let attribute = indexed(column, indexes, false)?;
            let operands = list.list.iter().map(|value| fitting(column, false, literal(value)?));
            Some(Predicate::In(attribute, operands.collect::<Option<Vec<_>>>()?.into_iter().collect()))
        }
        _ => None,
    }
}

fn compared(
    column: &Column,
    indexes: &[IndexSettings],
    op: Operator,
    value: &ScalarValue,
) -> Option<Predicate> {
    let comparison = match op {
        Operator::Eq => {
            let attribute = indexed(column, indexes, false)?;
            return Some(Predicate::Equal(attribute, fitting(column, false, value)?));
        }
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let attribute = indexed(column, indexes, true)?;
    Some(Predicate::Compare(attribute, comparison, fitting(column, true, value)?))
}

/// The column's attribute, if an index begins with it.
fn indexed(column: &Column, indexes: &[IndexSettings], range: bool) -> Option<Attribute> {
    let attribute: Attribute = column.attribute().parse().ok()?;
    let found = indexes.iter().any(|index| {
        index.attributes().first() == Some(&attribute) && (!range || index.kind() == IndexKind::Sorted)
    });
    found.then_some(attribute)
}

/// The value to compare with, if predicates and SQL compare it alike in this column. Text has another order in Java; floating-point zeros
/// are two there.
fn fitting(column: &Column, range: bool, value: &ScalarValue) -> Option<Operand> {
    let number = matches!(
        column.data_type,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
    );
    let value = operand(value)?;
    let fits = match &value {
        Value::Long(_) => number,
        Value::Float(float) => number && *float != 0.0 && !float.is_nan(),
        Value::Double(float) => number && *float != 0.0 && !float.is_nan(),
        Value::String(_) => !range && column.kinds == [Kind::String],
        Value::Bool(_) => !range && column.data_type == DataType::Boolean,
        _ => false,
    };
    fits.then(|| Operand::new(value))
}

fn sides<'e>(layout: &'e Layout, left: &'e Expr, right: &'e Expr) -> Option<(&'e Column, &'e ScalarValue)> {
    match (column_of(layout, left), column_of(layout, right)) {
        (Some(column), None) => Some((column, literal(right)?)),
        (None, Some(column)) => Some((column, literal(left)?)),
        _ => None,
    }
}

fn column_of<'l>(layout: &'l Layout, expr: &Expr) -> Option<&'l Column> {
    match expr {
        Expr::Column(column) => layout.column(&column.name),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

fn operand(value: &ScalarValue) -> Option<Value> {
    Some(match value {
        ScalarValue::Boolean(Some(value)) => Value::Bool(*value),
        ScalarValue::Int8(Some(number)) => Value::Long((*number).into()),
        ScalarValue::Int16(Some(number)) => Value::Long((*number).into()),
        ScalarValue::Int32(Some(number)) => Value::Long((*number).into()),
        ScalarValue::Int64(Some(number)) => Value::Long(*number),
        ScalarValue::Float32(Some(number)) => Value::Float(*number),
        ScalarValue::Float64(Some(number)) => Value::Double(*number),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Value::String(text.clone()),
        _ => return None,
    })
}
