//! A mapping: what `CREATE MAPPING` says of a map, believed instead of what its entries look like.

use super::format::Format;
use super::kind::{DECIMAL_DIGITS, Kind, far_reaching};
use super::layout::{Column, KEY, Layout, Side, Typing, VALUE};
use crate::error::SqlError;
use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType};
use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column as it was declared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeclaredColumn {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) data_type: DataType,
    pub(crate) typing: Typing,
    /// `__key`, `__key.field`, `this`, `this.field`, `field`.
    pub(crate) external_name: Option<String>,
}

/// What `CREATE MAPPING` said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping {
    pub(crate) name: String,
    /// The map.
    pub(crate) external_name: String,
    pub(crate) columns: Vec<DeclaredColumn>,
    /// By name, as they were written.
    pub(crate) options: BTreeMap<String, String>,
}

/// The options that there are.
const OPTIONS: [&str; 12] = [
    "keyFormat",
    "valueFormat",
    "keyCompactTypeName",
    "valueCompactTypeName",
    "keyJavaClass",
    "valueJavaClass",
    "keyPortableFactoryId",
    "valuePortableFactoryId",
    "keyPortableClassId",
    "valuePortableClassId",
    "keyPortableClassVersion",
    "valuePortableClassVersion",
];

fn refused(text: String) -> SqlError {
    SqlError::Refused(text)
}

impl Mapping {
    /// The columns that the map then has.
    pub(crate) fn layout(&self) -> Result<Layout, SqlError> {
        if let Some(unknown) = self.options.keys().find(|option| !OPTIONS.contains(&option.as_str())) {
            return Err(refused(format!(
                "{unknown:?} is no option of a mapping; those are {}",
                OPTIONS.join(", ")
            )));
        }
        let mut columns = Vec::new();
        for declared in &self.columns {
            let (side, field) = self.place(declared)?;
            columns.push(Column {
                name: declared.name.clone(),
                side,
                field,
                data_type: declared.data_type.clone(),
                kinds: vec![declared.kind],
                typing: declared.typing,
            });
        }
        let key = self.format(Side::Key, &mut columns)?;
        let value = self.format(Side::Value, &mut columns)?;
        Ok(Layout::new(&Arc::from(self.external_name.as_str()), columns, key, value))
    }

    /// Where a column is in an entry.
    fn place(&self, column: &DeclaredColumn) -> Result<(Side, Option<String>), SqlError> {
        let external = column.external_name.as_deref().unwrap_or(&column.name);
        let (side, field) = match (external, external.split_once('.')) {
            (KEY, _) => (Side::Key, None),
            (VALUE, _) => (Side::Value, None),
            (_, Some((KEY, field))) => (Side::Key, Some(field)),
            (_, Some((VALUE, field))) => (Side::Value, Some(field)),
            (field, None) => (Side::Value, Some(field)),
            (other, Some(_)) => {
                let text = format!(
                    "mapping {:?}: the external name {other:?} leads into an object within; map the outer field",
                    self.name
                );
                return Err(refused(text));
            }
        };
        match field {
            Some("") => {
                Err(refused(format!("mapping {:?}: the external name {external:?} lacks a field", self.name)))
            }
            field => Ok((side, field.map(str::to_owned))),
        }
    }

    fn format(&self, side: Side, columns: &mut Vec<Column>) -> Result<Format, SqlError> {
        let prefix = if side == Side::Key { "key" } else { "value" };
        let option = |name: &str| self.options.get(&format!("{prefix}{name}")).map(String::as_str);
        let wrong = |text: String| refused(format!("mapping {:?}: {text}", self.name));
        let Some(format) = option("Format") else {
            return Err(wrong(format!(
                "the option '{prefix}Format' is missing, as 'int', 'varchar', 'json-flat' or 'compact'"
            )));
        };
        let mine: Vec<usize> = (0..columns.len()).filter(|place| columns[*place].side == side).collect();
        let has_fields = mine.iter().any(|place| columns[*place].field.is_some());
        let kind = match format.to_ascii_lowercase().as_str() {
            "compact" if !has_fields => {
                return Err(wrong(format!("'{prefix}Format'='{format}' needs columns that name its fields")));
            }
            "json-flat" => return Ok(Format::JsonFlat),
            // Each object says what its fields are; the ids of its class are for those who write.
            "portable" => return Ok(Format::Portable),
            "compact" => {
                let Some(type_name) = option("CompactTypeName") else {
                    return Err(wrong(format!("'{prefix}Format'='compact' needs '{prefix}CompactTypeName'")));
                };
                let fields = mine.iter().filter_map(|place| field_of(&columns[*place]));
                let fields = fields.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
                let schema = Schema::new(type_name, fields).map_err(|error| wrong(error.to_string()))?;
                return Ok(Format::Compact(Arc::new(schema)));
            }
            "java" => option("JavaClass").and_then(kind_of_class).ok_or_else(|| {
                wrong(format!(
                    "'{prefix}Format'='java' needs '{prefix}JavaClass' with a class of java.lang, java.math or java.time that maps hold"
                ))
            })?,
            word => kind_of_word(word).ok_or_else(|| {
                wrong(format!(
                    "'{prefix}Format'='{format}' is not known; there are boolean, tinyint, smallint, int, bigint, decimal, real, double, \
                     varchar, character, uuid, bytes, date, time, timestamp, timestamp with time zone, json, json-flat, compact, portable, java"
                ))
            })?,
        };
        if has_fields {
            return Err(wrong(format!(
                "'{prefix}Format'='{format}' is one value and has no fields; use the column {:?}",
                side.whole()
            )));
        }
        match mine.as_slice() {
            [] => columns.push(Column {
                name: side.whole().to_owned(),
                side,
                field: None,
                data_type: kind.data_type(6),
                kinds: vec![kind],
                typing: kind.typing(),
            }),
            [place] => {
                let column = &mut columns[*place];
                let is_same = |data_type: DataType| {
                    column.data_type == data_type || column.data_type == far_reaching(data_type)
                };
                if column.kinds != [kind] && !is_same(kind.data_type(6)) {
                    let text = format!(
                        "the column {:?} is {}, and '{prefix}Format'='{format}'",
                        column.name, column.data_type
                    );
                    return Err(wrong(text));
                }
                column.kinds = vec![kind];
            }
            _ => return Err(wrong(format!("{:?} is there twice", side.whole()))),
        }
        Ok(Format::Plain(kind))
    }
}

/// The field of a Compact schema for a column; all may be null, as in Hazelcast.
fn field_of(column: &Column) -> Option<Result<FieldDescriptor, String>> {
    let name = column.field.clone()?;
    let kind = match column.kinds.first()? {
        Kind::Bool => FieldKind::NullableBoolean,
        Kind::Byte => FieldKind::NullableInt8,
        Kind::Short => FieldKind::NullableInt16,
        Kind::Int => FieldKind::NullableInt32,
        Kind::Long => FieldKind::NullableInt64,
        Kind::Float => FieldKind::NullableFloat32,
        Kind::Double => FieldKind::NullableFloat64,
        Kind::Decimal => FieldKind::Decimal,
        Kind::String => FieldKind::String,
        Kind::Bytes => FieldKind::ArrayOfInt8,
        Kind::Date => FieldKind::Date,
        Kind::Time => FieldKind::Time,
        Kind::Timestamp => FieldKind::Timestamp,
        Kind::OffsetTimestamp => FieldKind::TimestampWithTimezone,
        other => {
            return Some(Err(format!("a Compact object has no field of kind {other:?} ({:?})", column.name)));
        }
    };
    Some(Ok(FieldDescriptor { name, kind }))
}

/// The kind of a format, and of a type of SQL without digits.
pub(crate) fn kind_of_word(word: &str) -> Option<Kind> {
    Some(match word {
        "boolean" => Kind::Bool,
        "tinyint" => Kind::Byte,
        "smallint" => Kind::Short,
        "int" | "integer" => Kind::Int,
        "bigint" => Kind::Long,
        "decimal" | "numeric" => Kind::Decimal,
        "real" => Kind::Float,
        "double" | "double precision" => Kind::Double,
        "varchar" | "text" => Kind::String,
        "character" | "char" => Kind::Char,
        "uuid" => Kind::Uuid,
        "bytes" | "varbinary" | "bytea" => Kind::Bytes,
        "date" => Kind::Date,
        "time" => Kind::Time,
        "timestamp" => Kind::Timestamp,
        "timestamp with time zone" | "timestamp_with_time_zone" => Kind::OffsetTimestamp,
        "json" => Kind::Json,
        _ => return None,
    })
}

fn kind_of_class(class: &str) -> Option<Kind> {
    Some(match class {
        "boolean" | "java.lang.Boolean" => Kind::Bool,
        "byte" | "java.lang.Byte" => Kind::Byte,
        "short" | "java.lang.Short" => Kind::Short,
        "int" | "java.lang.Integer" => Kind::Int,
        "long" | "java.lang.Long" => Kind::Long,
        "float" | "java.lang.Float" => Kind::Float,
        "double" | "java.lang.Double" => Kind::Double,
        "char" | "java.lang.Character" => Kind::Char,
        "java.lang.String" => Kind::String,
        "java.math.BigDecimal" => Kind::Decimal,
        "java.math.BigInteger" => Kind::BigInteger,
        "java.time.LocalDate" => Kind::Date,
        "java.time.LocalTime" => Kind::Time,
        "java.time.LocalDateTime" => Kind::Timestamp,
        "java.time.OffsetDateTime" => Kind::OffsetTimestamp,
        "java.util.Date" => Kind::JavaDate,
        "java.util.UUID" => Kind::Uuid,
        "com.hazelcast.core.HazelcastJsonValue" => Kind::Json,
        _ => return None,
    })
}

/// Digits behind the point of a column that is declared as a DECIMAL without any: more than most numbers have, and few enough that
/// products of two such columns still have 18 digits before it.
const DECLARED_SCALE: i64 = 10;

/// The type of a decimal column with so many digits.
pub(crate) fn decimal(precision: Option<u64>, scale: Option<i64>) -> Option<DataType> {
    let precision = u8::try_from(precision.unwrap_or(DECIMAL_DIGITS.into()))
        .ok()
        .filter(|digits| (1..=DECIMAL256_MAX_PRECISION).contains(digits))?;
    let scale = i8::try_from(scale.unwrap_or(DECLARED_SCALE))
        .ok()
        .filter(|scale| (0..=precision as i8).contains(scale))?;
    Some(match precision {
        ..=DECIMAL_DIGITS => DataType::Decimal128(precision, scale),
        _ => DataType::Decimal256(precision, scale),
    })
}
