//! Types as SQL writes them: `BIGINT`, where Arrow says `Int64`.

use arrow::datatypes::{DataType, Field};

/// Returns the name of a type in SQL.
///
/// ```
/// use arrow::datatypes::DataType;
/// assert_eq!(filbert_sql::type_name(&DataType::Int64), "BIGINT");
/// assert_eq!(filbert_sql::type_name(&DataType::Utf8View), "VARCHAR");
/// ```
pub fn type_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Null => "NULL",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INTEGER UNSIGNED",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float16 | DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "VARBINARY"
        }
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Duration(_) | DataType::Interval(_) => "INTERVAL",
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => return format!("DECIMAL({precision}, {scale})"),
        DataType::List(item)
        | DataType::ListView(item)
        | DataType::LargeList(item)
        | DataType::LargeListView(item) => return format!("{}[]", type_name(item.data_type())),
        DataType::FixedSizeList(item, length) => return format!("{}[{length}]", type_name(item.data_type())),
        DataType::Struct(fields) => return format!("STRUCT({})", members(fields.iter().map(AsRef::as_ref))),
        DataType::Union(fields, _) => {
            return format!("UNION({})", members(fields.iter().map(|(_, field)| field.as_ref())));
        }
        DataType::Map(entries, _) => return map(entries),
        DataType::Dictionary(_, values) => return type_name(values),
        DataType::RunEndEncoded(_, values) => return type_name(values.data_type()),
    };
    name.to_owned()
}

fn members<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    let member = |field: &Field| format!("{} {}", field.name(), type_name(field.data_type()));
    fields.map(member).collect::<Vec<_>>().join(", ")
}

fn map(entries: &Field) -> String {
    match entries.data_type() {
        DataType::Struct(fields) => {
            let parts = fields.iter().map(|field| type_name(field.data_type()));
            format!("MAP({})", parts.collect::<Vec<_>>().join(", "))
        }
        other => format!("MAP({})", type_name(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Fields, TimeUnit};
    use std::sync::Arc;

    #[test]
    fn types_are_named_as_sql_writes_them() {
        let item = |data_type| Arc::new(Field::new("item", data_type, true));
        let fields = Fields::from(vec![
            Field::new("id", DataType::Int64, true),
            Field::new("name", DataType::Utf8View, true),
        ]);
        let entries = Arc::new(Field::new("entries", DataType::Struct(fields.clone()), false));
        for (data_type, name) in [
            (DataType::Int32, "INTEGER"),
            (DataType::Timestamp(TimeUnit::Microsecond, None), "TIMESTAMP"),
            (DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), "TIMESTAMP WITH TIME ZONE"),
            (DataType::Duration(TimeUnit::Second), "INTERVAL"),
            (DataType::Decimal128(10, 2), "DECIMAL(10, 2)"),
            (DataType::List(item(DataType::Float64)), "DOUBLE[]"),
            (DataType::FixedSizeList(item(DataType::Int8), 3), "TINYINT[3]"),
            (DataType::Struct(fields), "STRUCT(id BIGINT, name VARCHAR)"),
            (DataType::Map(entries, false), "MAP(BIGINT, VARCHAR)"),
            (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "VARCHAR"),
        ] {
            assert_eq!(type_name(&data_type), name);
        }
    }
}
