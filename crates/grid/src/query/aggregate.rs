//! Aggregations: what the entries of a query come to, gathered partition by partition and then combined.
//!
//! A sum of whole numbers is kept in 128 bits, so no order of adding overflows on the way; a result that its type cannot hold is an error,
//! where Hazelcast wraps around. Partial results are combined in the order of the partitions by those who gather, so sums of floating-point
//! numbers depend on nothing else. What is summed must be numbers, and null is none: as in Hazelcast that is an error, not zero.

use super::attribute::Attribute;
use super::error::QueryError;
use super::extract::{Entry, Extracted, read};
use super::identified::{self, AGGREGATORS, MAPS, read_class, write_class, write_object, write_text};
use filbert_wire::compact::SchemaSource;
use filbert_wire::{Data, EncodeError, FromData, IndexKey, Input, Output, ToData, Value, type_id};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aggregate {
    /// How many there are: a long.
    Count,
    /// The different values: a set.
    Distinct,
    /// The average of numbers as doubles: a double, null of none.
    DoubleAverage,
    /// The sum of numbers as doubles: a double.
    DoubleSum,
    /// The sum of numbers without their fractions: a long.
    FixedPointSum,
    /// The sum of numbers as doubles: a double.
    FloatingPointSum,
    /// The average of whole numbers: a double, null of none.
    IntegerAverage,
    /// The sum of whole numbers: a long.
    IntegerSum,
    /// The average of whole numbers: a double, null of none.
    LongAverage,
    /// The sum of whole numbers: a long.
    LongSum,
    /// The greatest: the value, null of none.
    Max,
    /// The least: the value, null of none.
    Min,
    /// The average of numbers as doubles: a double, null of none.
    NumberAverage,
    /// The entry with the greatest: an entry, null of none.
    MaxBy,
    /// The entry with the least: an entry, null of none.
    MinBy,
}

/// The class ids begin with four aggregators of Java's big numbers, which are not served.
const CLASSES: [Aggregate; 15] = [
    Aggregate::Count,
    Aggregate::Distinct,
    Aggregate::DoubleAverage,
    Aggregate::DoubleSum,
    Aggregate::FixedPointSum,
    Aggregate::FloatingPointSum,
    Aggregate::IntegerAverage,
    Aggregate::IntegerSum,
    Aggregate::LongAverage,
    Aggregate::LongSum,
    Aggregate::Max,
    Aggregate::Min,
    Aggregate::NumberAverage,
    Aggregate::MaxBy,
    Aggregate::MinBy,
];

const FIRST_CLASS: i32 = 4;
/// The set that the distinct values are given as.
const SET_CLASS: i32 = 19;
/// The entry that the greatest is given as.
const ENTRY_CLASS: i32 = 120;
const WHAT: &str = "aggregator";

impl Aggregate {
    fn class(self) -> i32 {
        FIRST_CLASS + CLASSES.iter().position(|class| *class == self).unwrap_or_default() as i32
    }

    /// Its name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Distinct => "distinct values",
            Aggregate::DoubleAverage => "double average",
            Aggregate::DoubleSum => "double sum",
            Aggregate::FixedPointSum => "fixed point sum",
            Aggregate::FloatingPointSum => "floating point sum",
            Aggregate::IntegerAverage => "integer average",
            Aggregate::IntegerSum => "integer sum",
            Aggregate::LongAverage => "long average",
            Aggregate::LongSum => "long sum",
            Aggregate::Max => "max",
            Aggregate::Min => "min",
            Aggregate::NumberAverage => "number average",
            Aggregate::MaxBy => "max by",
            Aggregate::MinBy => "min by",
        }
    }

    /// Fields that hold a partial result on the wire; clients write them empty.
    fn fields(self) -> &'static [Field] {
        use Field::*;
        match self {
            Aggregate::Count | Aggregate::FixedPointSum | Aggregate::IntegerSum | Aggregate::LongSum => {
                &[Long]
            }
            Aggregate::Distinct => &[Int],
            Aggregate::DoubleAverage | Aggregate::NumberAverage => &[Double, Long],
            Aggregate::DoubleSum | Aggregate::FloatingPointSum => &[Double],
            Aggregate::IntegerAverage | Aggregate::LongAverage => &[Long, Long],
            Aggregate::Max | Aggregate::Min => &[Null],
            Aggregate::MaxBy | Aggregate::MinBy => &[Null, Null],
        }
    }
}

enum Field {
    Int,
    Long,
    Double,
    Null,
}

/// What is computed, of which attribute; without one, of the values themselves.
///
/// ```
/// use filbert_grid::query::{Aggregate, Aggregator, Entry};
/// use filbert_wire::{FromData, ToData, compact::NO_SCHEMAS};
///
/// let sum = Aggregator::new(Aggregate::LongSum, None);
/// let (mut here, mut there) = (sum.start(), sum.start());
/// let key = "k".to_data()?;
/// here.accumulate(&Entry::new(&key, &2.to_data()?, NO_SCHEMAS))?;
/// there.accumulate(&Entry::new(&key, &3.to_data()?, NO_SCHEMAS))?;
/// here.combine(there);
/// assert_eq!(i64::from_data(&here.finish()?)?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregator {
    aggregate: Aggregate,
    attribute: Option<Attribute>,
}

impl Aggregator {
    /// Computes `aggregate` of `attribute`.
    pub fn new(aggregate: Aggregate, attribute: Option<Attribute>) -> Self {
        Self { aggregate, attribute }
    }

    /// What is computed.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// The aggregator that a client sent.
    pub fn from_data(data: &Data, schemas: &dyn SchemaSource) -> Result<Self, QueryError> {
        let mut input = Input::with_schemas(data.payload(), schemas);
        let class = read_class(WHAT, AGGREGATORS, data.type_id(), &mut input)?;
        let number = class.checked_sub(FIRST_CLASS).and_then(|number| usize::try_from(number).ok());
        let known = number.and_then(|number| CLASSES.get(number));
        let Some(aggregate) = known.copied() else {
            return Err(match class {
                0..FIRST_CLASS => {
                    QueryError::Unsupported { what: "the aggregation of big numbers".to_owned() }
                }
                _ => QueryError::UnknownClass { what: WHAT, factory: AGGREGATORS, class },
            });
        };
        let failed = QueryError::decode(WHAT);
        let path = input.text().map_err(&failed)?.map(str::to_owned);
        for field in aggregate.fields() {
            match field {
                Field::Int => input.get::<i32>().map(drop),
                Field::Long => input.get::<i64>().map(drop),
                Field::Double => input.get::<f64>().map(drop),
                Field::Null => {
                    input.get().and_then(|type_id| Value::read_payload(type_id, &mut input)).map(drop)
                }
            }
            .map_err(&failed)?;
        }
        input.finish().map_err(&failed)?;
        let attribute = path.map(|path| path.parse()).transpose()?;
        Ok(Self { aggregate, attribute })
    }

    /// A partial result without entries.
    pub fn start(&self) -> Accumulator {
        use Aggregate::*;
        let state = match self.aggregate {
            Count => State::Count(0),
            Distinct => State::Distinct(BTreeSet::new()),
            FixedPointSum | IntegerAverage | IntegerSum | LongAverage | LongSum => {
                State::Whole { sum: 0, count: 0 }
            }
            DoubleAverage | DoubleSum | FloatingPointSum | NumberAverage => {
                State::Float { sum: 0.0, count: 0 }
            }
            Max | Min | MaxBy | MinBy => State::Best(None),
        };
        Accumulator { aggregator: self.clone(), state }
    }
}

identified::travels_as_data!(Aggregator);

impl ToData for Aggregator {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        40
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        write_class(out, AGGREGATORS, self.aggregate.class());
        write_text(out, self.attribute.as_ref().map(Attribute::as_str))?;
        for field in self.aggregate.fields() {
            match field {
                Field::Int => out.put(0_i32),
                Field::Long => out.put(0_i64),
                Field::Double => out.put(0.0_f64),
                Field::Null => out.put(type_id::NULL),
            }
        }
        Ok(())
    }
}

/// The result over some entries; those of other entries are [combined](Accumulator::combine) with it.
#[derive(Debug, Clone)]
pub struct Accumulator {
    aggregator: Aggregator,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Count(u64),
    Distinct(BTreeSet<IndexKey>),
    Whole { sum: i128, count: u64 },
    Float { sum: f64, count: u64 },
    Best(Option<Best>),
}

#[derive(Debug, Clone)]
struct Best {
    value: Value,
    /// For the aggregators that give an entry.
    entry: Option<(Data, Data)>,
}

impl Accumulator {
    /// Takes an entry in.
    pub fn accumulate(&mut self, entry: &Entry<'_>) -> Result<(), QueryError> {
        let extracted = match &self.aggregator.attribute {
            Some(attribute) => entry.extract(attribute)?,
            // Counting needs no look at the values.
            None if matches!(self.state, State::Count(_)) => Extracted::One(Value::Null),
            None => Extracted::One(
                read(entry.value_bytes(), entry.schemas())
                    .map_err(QueryError::decode("value of an entry"))?,
            ),
        };
        let values = match extracted {
            Extracted::One(value) => vec![value],
            Extracted::Many(values) => values,
        };
        for value in values {
            self.take(value, entry)?;
        }
        Ok(())
    }

    fn take(&mut self, value: Value, entry: &Entry<'_>) -> Result<(), QueryError> {
        let aggregate = self.aggregator.aggregate;
        let not_a_number = |value: &Value| QueryError::NotANumber {
            aggregator: aggregate.as_str(),
            found: match value {
                Value::Null => "null".to_owned(),
                other => type_id::describe(other.type_id()).to_owned(),
            },
        };
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Distinct(values) => {
                values.insert(IndexKey(value));
            }
            State::Whole { sum, count } => {
                let number = match whole(&value) {
                    Some(number) => number,
                    None if aggregate == Aggregate::FixedPointSum => {
                        double(&value).ok_or_else(|| not_a_number(&value))? as i64
                    }
                    None => return Err(not_a_number(&value)),
                };
                *sum += i128::from(number);
                *count += 1;
            }
            State::Float { sum, count } => {
                *sum += double(&value).ok_or_else(|| not_a_number(&value))?;
                *count += 1;
            }
            State::Best(best) => {
                if is_better(aggregate, best.as_ref(), &value) {
                    let with_entry = matches!(aggregate, Aggregate::MaxBy | Aggregate::MinBy);
                    let entry = with_entry.then(|| (entry.key(), entry.value()));
                    *best = Some(Best { value, entry });
                }
            }
        }
        Ok(())
    }

    /// Takes the result over other entries in; it must be of the same aggregator.
    pub fn combine(&mut self, other: Accumulator) {
        match (&mut self.state, other.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (State::Distinct(values), State::Distinct(mut more)) => values.append(&mut more),
            (State::Whole { sum, count }, State::Whole { sum: more, count: many }) => {
                *sum += more;
                *count += many;
            }
            (State::Float { sum, count }, State::Float { sum: more, count: many }) => {
                *sum += more;
                *count += many;
            }
            (State::Best(best), State::Best(Some(other)))
                if is_better(self.aggregator.aggregate, best.as_ref(), &other.value) =>
            {
                *best = Some(other);
            }
            _ => {}
        }
    }

    /// The result, of the type that clients expect.
    pub fn finish(self) -> Result<Data, QueryError> {
        use Aggregate::*;
        let aggregate = self.aggregator.aggregate;
        let averaged = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        Ok(match self.state {
            State::Count(count) => (count as i64).to_data()?,
            State::Distinct(values) => DistinctSet(values).to_data()?,
            State::Whole { sum, count } if matches!(aggregate, IntegerAverage | LongAverage) => {
                averaged(sum as f64, count).to_data()?
            }
            State::Whole { sum, .. } => {
                let overflow =
                    |_| QueryError::Overflow { aggregator: aggregate.as_str(), expected: "a long" };
                i64::try_from(sum).map_err(overflow)?.to_data()?
            }
            State::Float { sum, count } if matches!(aggregate, DoubleAverage | NumberAverage) => {
                averaged(sum, count).to_data()?
            }
            State::Float { sum, .. } => sum.to_data()?,
            State::Best(Some(Best { entry: Some((key, value)), .. })) => MapEntry { key, value }.to_data()?,
            State::Best(best) => best.map_or(Value::Null, |best| best.value).to_data()?,
        })
    }
}

/// Whether `value` takes the place of the best so far; null never does, and what cannot be compared neither.
fn is_better(aggregate: Aggregate, best: Option<&Best>, value: &Value) -> bool {
    let wanted = match aggregate {
        Aggregate::Max | Aggregate::MaxBy => Ordering::Greater,
        _ => Ordering::Less,
    };
    !value.is_null() && best.is_none_or(|best| value.compare(&best.value) == Some(wanted))
}

/// A number without a fraction that fits a long.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Byte(number) => Some((*number).into()),
        Value::Short(number) => Some((*number).into()),
        Value::Int(number) => Some((*number).into()),
        Value::Long(number) => Some(*number),
        Value::BigInteger(number) => number.to_i128()?.try_into().ok(),
        // Exact only when the way back gives the same.
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            let cut = double(value)? as i64;
            value.same(&Value::Long(cut)).then_some(cut)
        }
        _ => None,
    }
}

/// Any number, as near as a double comes.
fn double(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Byte(number) => (*number).into(),
        Value::Short(number) => (*number).into(),
        Value::Int(number) => (*number).into(),
        Value::Long(number) => *number as f64,
        Value::Float(number) => (*number).into(),
        Value::Double(number) => *number,
        Value::BigInteger(number) => number.to_string().parse().ok()?,
        Value::Decimal(number) => number.to_string().parse().ok()?,
        _ => return None,
    })
}

/// A set as Hazelcast gives it: of the class that goes with its aggregators.
struct DistinctSet(BTreeSet<IndexKey>);

impl ToData for DistinctSet {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        16 + self.0.len() * 12
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        write_class(out, AGGREGATORS, SET_CLASS);
        out.length(self.0.len())?;
        for IndexKey(value) in &self.0 {
            out.put(value.type_id());
            value.write_payload(out)?;
        }
        Ok(())
    }
}

/// An entry as a value of its own.
pub(crate) struct MapEntry {
    pub(crate) key: Data,
    pub(crate) value: Data,
}

impl ToData for MapEntry {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        17 + self.key.payload().len() + self.value.payload().len()
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        write_class(out, MAPS, ENTRY_CLASS);
        write_object(out, &self.key);
        write_object(out, &self.value);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
