//! What a key, a value or a field of one can be, and the SQL type that it has: one table for reading, writing and the documentation.

use arrow::datatypes::{DataType, TimeUnit};
use filbert_wire::compact::FieldKind;
use filbert_wire::{Value, type_id};
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
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::OffsetTimestamp | Kind::JavaDate => utc(),
        }
    }
}

/// Moments, in UTC.
pub(crate) fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")))
}

/// The kinds that were seen in one place of several entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    kinds: Vec<Kind>,
    scale: i8,
}

impl Seen {
    /// One more value.
    pub(crate) fn add(&mut self, value: &Value) {
        if let Value::Decimal(number) = value {
            self.scale = self.scale.max(number.scale().clamp(0, i32::from(DECIMAL_DIGITS) - 1) as i8);
        }
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

    /// In order.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The type that holds them all: numbers the widest, what has nothing in common text.
    pub(crate) fn data_type(&self) -> DataType {
        let all = |test: fn(Kind) -> bool| self.kinds.iter().all(|kind| test(*kind));
        let scale = self.scale.max(USUAL_SCALE);
        match self.kinds.as_slice() {
            [] => DataType::Utf8,
            [kind] => kind.data_type(scale),
            [.., widest] if all(Kind::is_whole) => widest.data_type(0),
            kinds if all(Kind::is_number) => {
                let floats = kinds.contains(&Kind::Float) || kinds.contains(&Kind::Double);
                if floats { DataType::Float64 } else { DataType::Decimal128(DECIMAL_DIGITS, scale) }
            }
            [Kind::OffsetTimestamp, Kind::JavaDate] => utc(),
            [Kind::Bytes, Kind::Opaque] => DataType::Binary,
            _ => DataType::Utf8,
        }
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
        assert_eq!(of(&[Kind::JavaDate, Kind::OffsetTimestamp]), utc());
        assert_eq!(of(&[Kind::Bool, Kind::Long]), DataType::Utf8);
        assert_eq!(of(&[Kind::String, Kind::Date]), DataType::Utf8);
    }
}
