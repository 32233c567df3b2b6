//! What the values of a column are, whether it keeps them as they are or in a dictionary.

use arrow::datatypes::DataType;

/// The type of the values themselves.
pub(crate) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        other => other,
    }
}

/// True for types of texts.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
