//! The types of columns: what they become in Arrow.

use crate::error::CubeError;
use arrow::datatypes::{DataType, TimeUnit};
use postgres::Column;
use postgres::types::{Kind as TypeKind, Type};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    /// A `numeric` of so many digits, so many of them after the point.
    Decimal(u8, i8),
    /// A `numeric` of any length, as the nearest double.
    Number,
    Text,
    /// `char(n)`, whose blanks at the end mean nothing.
    Padded,
    /// Texts that compare in ways of their own: names, enums, `citext`.
    Word,
    Date,
    Time,
    Timestamp,
    /// A `timestamptz`.
    Instant,
    Uuid,
}

impl Kind {
    /// What a column holds, or an error that names it.
    pub(super) fn of(column: &Column, table: &str) -> Result<Self, CubeError> {
        let data_type = column.type_();
        Ok(match *data_type {
            Type::BOOL => Self::Bool,
            Type::INT2 => Self::Int16,
            Type::INT4 => Self::Int32,
            Type::INT8 => Self::Int64,
            Type::FLOAT4 => Self::Float32,
            Type::FLOAT8 => Self::Float64,
            Type::NUMERIC => numeric(column.type_modifier()),
            Type::TEXT | Type::VARCHAR => Self::Text,
            Type::BPCHAR => Self::Padded,
            Type::NAME => Self::Word,
            Type::DATE => Self::Date,
            Type::TIME => Self::Time,
            Type::TIMESTAMP => Self::Timestamp,
            Type::TIMESTAMPTZ => Self::Instant,
            Type::UUID => Self::Uuid,
            _ if matches!(data_type.kind(), TypeKind::Enum(_)) || data_type.name() == "citext" => Self::Word,
            _ => {
                return Err(CubeError::UnsupportedType {
                    place: format!("table {table:?}, column {:?}", column.name()),
                    problem: format!(
                        "values of type {} cannot be read; name a query as the table that casts the column, such \
                         as \"{}\"::text, or leaves it out",
                        data_type.name(),
                        column.name(),
                    ),
                });
            }
        })
    }

    /// The type in Arrow.
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 | Self::Number => DataType::Float64,
            Self::Decimal(digits, after) => DataType::Decimal128(digits, after),
            Self::Text | Self::Padded | Self::Word | Self::Uuid => DataType::Utf8,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        }
    }
}

/// A `numeric` by the modifier of its column, which has the number of digits if it was declared with one.
fn numeric(modifier: i32) -> Kind {
    let Some(packed) = modifier.checked_sub(4).filter(|packed| *packed >= 0) else { return Kind::Number };
    // The lower 11 bits are signed.
    let (digits, after) = (packed >> 16, ((packed & 0x7ff) ^ 1_024) - 1_024);
    match (u8::try_from(digits), i8::try_from(after)) {
        (Ok(digits @ 1..=38), Ok(after)) if after >= 0 && i32::from(digits) >= i32::from(after) => {
            Kind::Decimal(digits, after)
        }
        _ => Kind::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_is_exact_where_its_digits_are_declared() {
        let modifier = |digits: i32, after: i32| (digits << 16 | after & 0x7ff) + 4;
        assert_eq!(numeric(modifier(18, 2)), Kind::Decimal(18, 2));
        assert_eq!(numeric(modifier(38, 38)), Kind::Decimal(38, 38));
        assert_eq!(numeric(modifier(39, 2)), Kind::Number);
        assert_eq!(numeric(modifier(3, -2)), Kind::Number);
        assert_eq!(numeric(-1), Kind::Number);
    }
}
