//! What a WHERE says about keys and indexed attributes, in the words of the grid.
//!
//! Everything here finds *candidates*: the filter itself stays in the plan above the scan, because SQL and predicates of the grid differ in
//! corners. So the candidates must hold every row that the filter takes, and may hold more. Where that is not sure, nothing is pushed
//! down. What the corners are, and how the candidates are widened to hold them ([`Candidates`]):
//!
//! - A column holds whatever an entry has there, turned into the column's type: the text `"007"` is the number 7. An index keeps the text.
//!   So all texts are candidates, of which a column of numbers has none as a rule. Only a sorted index finds them.
//! - A column of floating-point numbers rounds: 2^53 + 1, or a decimal number. An index compares exactly. So numbers a little beyond the
//!   one that is asked for are candidates, and NaN, of which SQL has a second one that is less than all numbers.
//! - A column of texts shows numbers, dates and lists as text. A text that could be one of these is not looked for by index.
//! - A field named `a.b` is a path to the grid: no index is of such a field ([`Column::attribute`]).

use super::format::Format;
use super::kind::Kind;
use super::layout::{Column, Layout, Side};
use super::pages::Reach;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use filbert_grid::query::operations::Shared;
use filbert_grid::query::{Attribute, Comparison, IndexKind, IndexSettings, Operand, Predicate};
use filbert_wire::{Data, ToData, Value};
use std::collections::HashSet;

/// Keys that are looked up one by one; for more a scan is cheaper.
const MAX_KEYS: usize = 10_000;

/// How many neighbours of a floating-point number are candidates with it, to either side: more than any way of rounding is off.
const NEIGHBOURS: usize = 4;

/// How the entries that all of `filters` take are found, and how that is called in plans.
pub(crate) fn reach(layout: &Layout, indexes: &[IndexSettings], filters: &[Expr]) -> (Reach, String) {
    if let Some((filter, keys)) = filters.iter().find_map(|filter| Some((filter, keys_of(layout, filter)?))) {
        return (Reach::Keys(keys), format!("lookup of {filter}"));
    }
    let mut all: Vec<Candidates> = Vec::new();
    let mut words = Vec::new();
    for filter in filters {
        if let Some(found) = candidates_of(layout, indexes, filter) {
            words.push(filter.to_string());
            // Those that combine to one range come together.
            match all.iter().position(|known| known.odd == found.odd) {
                Some(place) => {
                    let known = all.swap_remove(place);
                    all.push(known.and(found));
                }
                None => all.push(found),
            }
        }
    }
    match all.into_iter().reduce(Candidates::and) {
        None => (Reach::All, "all entries".to_owned()),
        Some(found) => {
            (Reach::Where(Shared::new(found.into_predicate())), format!("by index: {}", words.join(" AND ")))
        }
    }
}

/// Whether [`reach`] can use a filter.
pub(crate) fn is_useful(layout: &Layout, indexes: &[IndexSettings], filter: &Expr) -> bool {
    keys_of(layout, filter).is_some() || candidates_of(layout, indexes, filter).is_some()
}

/// All stored keys that a filter can take, when there are few; each once.
fn keys_of(layout: &Layout, filter: &Expr) -> Option<Vec<Data>> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            let (column, value) = sides(layout, left, right)?;
            keys_of_value(column, value)
        }
        Expr::InList(list) if !list.negated && list.list.len() <= MAX_KEYS => {
            let column = column_of(layout, &list.expr)?;
            let (mut known, mut keys) = (HashSet::new(), Vec::new());
            for value in &list.list {
                let more = keys_of_value(column, literal(value)?)?;
                keys.extend(more.into_iter().filter(|key| known.insert(key.clone())));
            }
            Some(keys)
        }
        _ => None,
    }
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

/// Entries that a filter can take: those that `narrow` takes, and the odd ones.
struct Candidates {
    narrow: Predicate,
    /// Kept apart, so that two conditions on one column are still one range: `(a OR odd) AND (b OR odd)` is `(a AND b) OR odd`.
    odd: Vec<Predicate>,
}

impl Candidates {
    fn and(self, other: Self) -> Self {
        if self.odd == other.odd {
            return Self { narrow: Predicate::and([self.narrow, other.narrow]), odd: self.odd };
        }
        Self { narrow: Predicate::and([self.into_predicate(), other.into_predicate()]), odd: Vec::new() }
    }

    fn or(mut self, other: Self) -> Self {
        for odd in other.odd {
            if !self.odd.contains(&odd) {
                self.odd.push(odd);
            }
        }
        Self { narrow: Predicate::or([self.narrow, other.narrow]), odd: self.odd }
    }

    fn into_predicate(self) -> Predicate {
        match self.odd.is_empty() {
            true => self.narrow,
            false => Predicate::or(std::iter::once(self.narrow).chain(self.odd)),
        }
    }
}

/// Candidates for a filter, if an index finds them.
fn candidates_of(layout: &Layout, indexes: &[IndexSettings], filter: &Expr) -> Option<Candidates> {
    let of = |filter: &Expr| candidates_of(layout, indexes, filter);
    let compared = |column: &Column, op: Operator, value: &Expr| {
        Indexed::of(column, layout, indexes)?.compared(op, literal(value)?)
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => match (of(left), of(right)) {
            (Some(left), Some(right)) => Some(left.and(right)),
            (one, other) => one.or(other),
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => Some(of(left)?.or(of(right)?)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            match (column_of(layout, left), column_of(layout, right)) {
                (Some(column), None) => compared(column, *op, right),
                // `5 < a` is `a > 5`.
                (None, Some(column)) => compared(column, op.swap()?, left),
                _ => None,
            }
        }
        Expr::Between(between) if !between.negated => {
            let column = column_of(layout, &between.expr)?;
            let low = compared(column, Operator::GtEq, &between.low)?;
            Some(low.and(compared(column, Operator::LtEq, &between.high)?))
        }
        Expr::InList(list) if !list.negated => {
            let column = column_of(layout, &list.expr)?;
            let each = list.list.iter().map(|value| compared(column, Operator::Eq, value));
            one_of(each.collect::<Option<_>>()?)
        }
        _ => None,
    }
}

/// Candidates for one of several values of one column.
fn one_of(each: Vec<Candidates>) -> Option<Candidates> {
    let odd = each.first()?.odd.clone();
    let equal = |found: &Candidates| match &found.narrow {
        Predicate::Equal(attribute, operand) => Some((attribute.clone(), operand.clone())),
        _ => None,
    };
    // One look into a sorted list instead of many comparisons.
    let points: Option<Vec<(Attribute, Operand)>> = each.iter().map(equal).collect();
    let narrow = match points {
        Some(points) => {
            let attribute = points.first()?.0.clone();
            Predicate::In(attribute, points.into_iter().map(|(_, operand)| operand).collect())
        }
        None => Predicate::or(each.into_iter().map(|found| found.narrow)),
    };
    Some(Candidates { narrow, odd })
}

/// A column that an index begins with.
struct Indexed<'c> {
    column: &'c Column,
    attribute: Attribute,
    is_sorted: bool,
    /// All of this side of the entries is stored as one type, as far as is known.
    is_typed: bool,
}

impl<'c> Indexed<'c> {
    fn of(column: &'c Column, layout: &Layout, indexes: &[IndexSettings]) -> Option<Self> {
        let attribute: Attribute = column.attribute()?.parse().ok()?;
        let mut kinds = indexes
            .iter()
            .filter(|index| index.attributes().first() == Some(&attribute))
            .map(IndexSettings::kind)
            .peekable();
        kinds.peek()?;
        let is_sorted = kinds.any(|kind| kind == IndexKind::Sorted);
        let form = (layout.format(column.side), &column.field);
        let is_typed = matches!(form, (Format::Plain(_), None) | (Format::Compact(_), Some(_)));
        Some(Self { column, attribute, is_sorted, is_typed })
    }

    /// Candidates for a comparison with a constant.
    fn compared(&self, op: Operator, value: &ScalarValue) -> Option<Candidates> {
        let value = operand(value)?;
        match (&self.column.data_type, &value) {
            (DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64, Value::Long(_))
            | (DataType::Boolean, Value::Bool(_)) => self.exact(op, value),
            (DataType::Float64, Value::Double(number)) if number.is_finite() => {
                let beyond =
                    |next: fn(f64) -> f64| Value::Double((0..NEIGHBOURS).fold(*number, |at, _| next(at)));
                self.rounded(op, beyond(f64::next_down), beyond(f64::next_up))
            }
            (DataType::Float32, Value::Float(number)) if number.is_finite() => {
                let beyond =
                    |next: fn(f32) -> f32| Value::Float((0..NEIGHBOURS).fold(*number, |at, _| next(at)));
                self.rounded(op, beyond(f32::next_down), beyond(f32::next_up))
            }
            (DataType::Utf8, Value::String(text))
                if op == Operator::Eq && self.column.kinds == [Kind::String] && is_only_text(text) =>
            {
                Some(Candidates { narrow: self.equal(value), odd: Vec::new() })
            }
            _ => None,
        }
    }

    fn equal(&self, value: Value) -> Predicate {
        Predicate::Equal(self.attribute.clone(), Operand::new(value))
    }

    fn is(&self, comparison: Comparison, value: Value) -> Predicate {
        Predicate::Compare(self.attribute.clone(), comparison, Operand::new(value))
    }

    /// Entries with a text here.
    fn texts(&self) -> Predicate {
        self.is(Comparison::GreaterOrEqual, Value::String(String::new()))
    }

    /// For columns whose values are compared as an index does, texts aside.
    fn exact(&self, op: Operator, value: Value) -> Option<Candidates> {
        let comparison = match op {
            // Hashed, texts cannot be found; where all is of one type there are none.
            Operator::Eq if !self.is_sorted => {
                return self.is_typed.then(|| Candidates { narrow: self.equal(value), odd: Vec::new() });
            }
            Operator::Eq => return Some(Candidates { narrow: self.equal(value), odd: vec![self.texts()] }),
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessOrEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterOrEqual,
            _ => return None,
        };
        let narrow = self.is(comparison, value);
        self.is_sorted.then(|| Candidates { narrow, odd: vec![self.texts()] })
    }

    /// For columns that round: the number that is asked for lies between these two.
    fn rounded(&self, op: Operator, low: Value, high: Value) -> Option<Candidates> {
        if !self.is_sorted {
            return None;
        }
        let narrow = match op {
            Operator::Eq => Predicate::Between(self.attribute.clone(), Operand::new(low), Operand::new(high)),
            Operator::Lt | Operator::LtEq => self.is(Comparison::LessOrEqual, high),
            Operator::Gt | Operator::GtEq => self.is(Comparison::GreaterOrEqual, low),
            _ => return None,
        };
        let not_a_number = self.is(Comparison::Greater, Value::Double(f64::INFINITY));
        Some(Candidates { narrow, odd: vec![self.texts(), not_a_number] })
    }
}

/// False for a text that a column may show of something that is none: a number with a fraction, a date, a list, an object, bytes. (Whole
/// numbers, truth values, ids and characters are asked for beside the text by the grid.)
fn is_only_text(text: &str) -> bool {
    let is_written = |sign: char| sign.is_ascii_digit() || "+-.:TZeE".contains(sign);
    let is_number = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    let is_other = text.starts_with(['{', '[', '\\']) || text.parse::<f64>().is_ok();
    is_number || !(is_other || text.chars().all(is_written))
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
