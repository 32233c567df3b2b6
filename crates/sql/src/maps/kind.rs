//! What a key, a value or a field of one can be, and the SQL type that it has: one table for reading, writing and the documentation.

use super::builder::is_far;
use super::decimals::digits;
use super::layout::Typing;
use crate::engine_words::engine_words;
use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, TimeUnit};
use filbert_wire::compact::FieldKind;
use filbert_wire::{Decimal, Value, type_id};
use std::sync::Arc;

/// Digits of a decimal number: as many as 128 bits hold.
pub(crate) const DECIMAL_DIGITS: u8 = 38;

/// Digits behind the point of decimal numbers whose scale nobody declared, at least: sampled entries do not show all.
const USUAL_SCALE: i8 = 6;

/// What a stored value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Bool,
    Byte,
    Short,
    Int,
    Long,
    BigInteger,
    Float,
    Double,
    Decimal,
    Char,
    String,
    Uuid,
    Json,
    Bytes,
    Date,
    Time,
    Timestamp,
    OffsetTimestamp,
    JavaDate,
    /// A list, an array, or an object within another: shown as JSON text.
    Nested,
    /// Whatever only its own serializer reads: shown as its bytes.
    Opaque,
}

impl Kind {
    /// What a value is; nothing for null.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => Kind::Bool,
            Value::Byte(_) => Kind::Byte,
            Value::Short(_) => Kind::Short,
            Value::Int(_) => Kind::Int,
            Value::Long(_) => Kind::Long,
            Value::BigInteger(_) => Kind::BigInteger,
            Value::Float(_) => Kind::Float,
            Value::Double(_) => Kind::Double,
            Value::Decimal(_) => Kind::Decimal,
            Value::Char(_) => Kind::Char,
            Value::String(_) => Kind::String,
            Value::Uuid(_) => Kind::Uuid,
            Value::Json(_) => Kind::Json,
            Value::ByteArray(_) => Kind::Bytes,
            Value::LocalDate(_) => Kind::Date,
            Value::LocalTime(_) => Kind::Time,
            Value::LocalDateTime(_) => Kind::Timestamp,
            Value::OffsetDateTime(_) => Kind::OffsetTimestamp,
            Value::Date(_) => Kind::JavaDate,
            Value::Opaque(data) if data.type_id() != type_id::COMPACT => Kind::Opaque,
            _ => Kind::Nested,
        })
    }

    /// What a field of a Compact object is.
    pub(crate) fn of_field(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Boolean | FieldKind::NullableBoolean => Kind::Bool,
            FieldKind::Int8 | FieldKind::NullableInt8 => Kind::Byte,
            FieldKind::Int16 | FieldKind::NullableInt16 => Kind::Short,
            FieldKind::Int32 | FieldKind::NullableInt32 => Kind::Int,
            FieldKind::Int64 | FieldKind::NullableInt64 => Kind::Long,
            FieldKind::Float32 | FieldKind::NullableFloat32 => Kind::Float,
            FieldKind::Float64 | FieldKind::NullableFloat64 => Kind::Double,
            FieldKind::String => Kind::String,
            FieldKind::Decimal => Kind::Decimal,
            FieldKind::Time => Kind::Time,
            FieldKind::Date => Kind::Date,
            FieldKind::Timestamp => Kind::Timestamp,
            FieldKind::TimestampWithTimezone => Kind::OffsetTimestamp,
            FieldKind::ArrayOfInt8 => Kind::Bytes,
            _ => Kind::Nested,
        }
    }

    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Kind::Byte | Kind::Short | Kind::Int | Kind::Long)
    }

    /// True for a kind whose columns hold some of its values only, by how many digits they have.
    pub(crate) const fn has_digits(self) -> bool {
        matches!(self, Kind::Decimal | Kind::BigInteger | Kind::Timestamp | Kind::OffsetTimestamp)
    }

    /// Where the type of a column comes from that is declared by the kind alone.
    pub(crate) const fn typing(self) -> Typing {
        if self.has_digits() { Typing::WithoutDigits } else { Typing::Declared }
    }

    const fn is_number(self) -> bool {
        self.is_whole() || matches!(self, Kind::BigInteger | Kind::Float | Kind::Double | Kind::Decimal)
    }

    /// The word for its type in SQL, as in `CAST(... AS INTEGER)`.
    pub(crate) const fn sql_type(self) -> &'static str {
        match self {
            Kind::Bool => "BOOLEAN",
            Kind::Byte => "TINYINT",
            Kind::Short => "SMALLINT",
            Kind::Int => "INTEGER",
            Kind::Long => "BIGINT",
            Kind::BigInteger => "DECIMAL(38, 0)",
            Kind::Float => "REAL",
            Kind::Double => "DOUBLE",
            Kind::Decimal => "DECIMAL",
            Kind::Char | Kind::String | Kind::Uuid | Kind::Json | Kind::Nested => "VARCHAR",
            Kind::Bytes | Kind::Opaque => "BYTEA",
            Kind::Date => "DATE",
            Kind::Time => "TIME",
            Kind::Timestamp => "TIMESTAMP",
            Kind::OffsetTimestamp | Kind::JavaDate => "TIMESTAMP WITH TIME ZONE",
        }
    }

    /// The type of a column of this kind alone.
    pub(crate) fn data_type(self, scale: i8) -> DataType {
        match self {
            Kind::Bool => DataType::Boolean,
            Kind::Byte => DataType::Int8,
            Kind::Short => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::BigInteger => DataType::Decimal128(DECIMAL_DIGITS, 0),
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::Decimal => DataType::Decimal128(DECIMAL_DIGITS, scale),
            Kind::Char | Kind::String | Kind::Uuid | Kind::Json | Kind::Nested => DataType::Utf8,
            Kind::Bytes | Kind::Opaque => DataType::Binary,
            Kind::Date => DataType::Date32,
            Kind::Time => DataType::Time64(TimeUnit::Nanosecond),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Kind::OffsetTimestamp => utc(TimeUnit::Nanosecond),
            // It has milliseconds, of any year.
            Kind::JavaDate => utc(TimeUnit::Microsecond),
        }
    }
}

/// Moments, in UTC.
pub(crate) fn utc(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some(Arc::from("UTC")))
}

/// The type of a column of timestamps of any year: it has microseconds.
pub(crate) fn far_reaching(data_type: DataType) -> DataType {
    match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone),
        other => other,
    }
}

/// The name of a column's type in SQL.
pub(crate) fn sql_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Decimal128(digits, behind) | DataType::Decimal256(digits, behind) => {
            return format!("DECIMAL({digits}, {behind})");
        }
        DataType::Timestamp(unit, zone) => {
            let digits = if *unit == TimeUnit::Nanosecond { "" } else { "(6)" };
            let zone = if zone.is_some() { " WITH TIME ZONE" } else { "" };
            return format!("TIMESTAMP{digits}{zone}");
        }
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 => "VARCHAR",
        DataType::Binary => "VARBINARY",
        DataType::Date32 => "DATE",
        DataType::Time64(_) => "TIME",
        other => return engine_words(&other.to_string()),
    };
    name.to_owned()
}

/// The kinds that were seen in one place of several entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    kinds: Vec<Kind>,
    /// The most digits of a number before the point, and behind it.
    digits: (u32, u32),
    /// A timestamp is from a year that nanoseconds do not reach.
    is_far: bool,
}

impl Seen {
    /// One more value.
    pub(crate) fn add(&mut self, value: &Value) {
        let (before, behind) = match value {
            Value::Decimal(number) => digits(number),
            Value::BigInteger(number) => digits(&Decimal::from_parts(number.clone(), 0)),
            _ => (0, 0),
        };
        self.digits = (self.digits.0.max(before), self.digits.1.max(behind));
        self.is_far |= is_far(value);
        if let Some(kind) = Kind::of(value) {
            self.add_kind(kind);
        }
    }

    /// One more value of that kind.
    pub(crate) fn add_kind(&mut self, kind: Kind) {
        if let Err(place) = self.kinds.binary_search(&kind) {
            self.kinds.insert(place, kind);
        }
    }

    /// What was seen elsewhere as well.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.kinds.iter().for_each(|kind| self.add_kind(*kind));
        self.digits = (self.digits.0.max(other.digits.0), self.digits.1.max(other.digits.1));
        self.is_far |= other.is_far;
    }

    /// In order.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The type that holds them all: numbers the widest, what has nothing in common text.
    pub(crate) fn data_type(&self) -> DataType {
        let all = |test: fn(Kind) -> bool| self.kinds.iter().all(|kind| test(*kind));
        let data_type = match self.kinds.as_slice() {
            [] => DataType::Utf8,
            [Kind::BigInteger] => self.decimal(0),
            [Kind::Decimal] => self.decimal(USUAL_SCALE),
            [kind] => kind.data_type(0),
            [.., widest] if all(Kind::is_whole) => widest.data_type(0),
            kinds if all(Kind::is_number) => {
                let floats = kinds.contains(&Kind::Float) || kinds.contains(&Kind::Double);
                if floats { DataType::Float64 } else { self.decimal(USUAL_SCALE) }
            }
            [Kind::OffsetTimestamp, Kind::JavaDate] => utc(TimeUnit::Nanosecond),
            [Kind::Bytes, Kind::Opaque] => DataType::Binary,
            _ => DataType::Utf8,
        };
        if self.is_far { far_reaching(data_type) } else { data_type }
    }

    /// The declared type of decimal numbers or timestamps, or one that holds more where these need it.
    pub(crate) fn widened(&self, declared: &DataType) -> DataType {
        let wide = match declared {
            DataType::Decimal128(_, scale) => self.decimal(*scale),
            other => other.clone(),
        };
        if self.is_far { far_reaching(wide) } else { wide }
    }

    /// The type of decimal numbers with at least so many digits behind the point: of 38 digits, where that is enough, or else of 76.
    fn decimal(&self, least: i8) -> DataType {
        // Those of a BIGINT may be among them.
        let before = if self.kinds.len() > 1 { self.digits.0.max(19) } else { self.digits.0 };
        let behind = self.digits.1.max(least.unsigned_abs().into());
        if before + behind <= DECIMAL_DIGITS.into() {
            return DataType::Decimal128(DECIMAL_DIGITS, behind as i8);
        }
        // What fits into neither is an error where it is read.
        let widest = u32::from(DECIMAL256_MAX_PRECISION);
        let behind = behind.min(widest - before.clamp(1, widest));
        DataType::Decimal256(DECIMAL256_MAX_PRECISION, behind as i8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kinds: &[Kind]) -> DataType {
        let mut seen = Seen::default();
        kinds.iter().for_each(|kind| seen.add_kind(*kind));
        seen.data_type()
    }

    #[test]
    fn several_kinds_have_the_type_that_holds_them_all() {
        assert_eq!(of(&[]), DataType::Utf8);
        assert_eq!(of(&[Kind::Short, Kind::Byte]), DataType::Int16);
        assert_eq!(of(&[Kind::Long, Kind::Byte, Kind::Long]), DataType::Int64);
        assert_eq!(of(&[Kind::Long, Kind::Double]), DataType::Float64);
        assert_eq!(of(&[Kind::Long, Kind::Decimal]), DataType::Decimal128(38, 6));
        assert_eq!(of(&[Kind::BigInteger]), DataType::Decimal128(38, 0));
        assert_eq!(of(&[Kind::JavaDate, Kind::OffsetTimestamp]), utc(TimeUnit::Nanosecond));
        assert_eq!(of(&[Kind::JavaDate]), utc(TimeUnit::Microsecond));
        assert_eq!(of(&[Kind::Bool, Kind::Long]), DataType::Utf8);
        assert_eq!(of(&[Kind::String, Kind::Date]), DataType::Utf8);
    }

    #[test]
    fn a_wide_value_makes_a_column_that_holds_it() {
        let of = |values: &[Value]| {
            let mut seen = Seen::default();
            values.iter().for_each(|value| seen.add(value));
            seen.data_type()
        };
        let decimal = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale));
        let wide = |digits: usize, scale| {
            let number = arrow::datatypes::i256::from_string(&"9".repeat(digits)).unwrap();
            Value::Decimal(super::super::decimals::stored(number, scale))
        };
        assert_eq!(of(&[decimal(125, 2)]), DataType::Decimal128(38, 6));
        assert_eq!(of(&[decimal(125, 2), decimal(1, 9)]), DataType::Decimal128(38, 9));
        assert_eq!(of(&[decimal(125, 2), wide(41, 0)]), DataType::Decimal256(76, 6));
        assert_eq!(of(&[wide(46, 45)]), DataType::Decimal256(76, 45));
        assert_eq!(
            of(&[wide(70, 0), decimal(1, 50)]),
            DataType::Decimal256(76, 6),
            "one of them is an error"
        );
        assert_eq!(of(&[wide(41, 0), Value::Long(1)]), DataType::Decimal256(76, 6));
        let far = filbert_wire::LocalDate::new(9999, 12, 31).unwrap();
        let time = filbert_wire::LocalTime::new(0, 0, 0, 0).unwrap();
        let far = Value::LocalDateTime(filbert_wire::LocalDateTime { date: far, time });
        assert_eq!(of(&[far]), DataType::Timestamp(TimeUnit::Microsecond, None));
    }
}
