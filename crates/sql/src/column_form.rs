//! What a column holds beyond its Arrow type, for doors whose protocol tells it apart: noted in the field, and kept by the planner as
//! long as the column is passed on as it is.

use arrow::datatypes::Field;
use std::collections::HashMap;

/// Where a field says it.
const KEY: &str = "filbert.form";

/// What text or bytes of a column are.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use filbert_sql::ColumnForm;
///
/// let field = ColumnForm::Json.mark(Field::new("order", DataType::Utf8, true));
/// assert_eq!(ColumnForm::of(&field), Some(ColumnForm::Json));
/// assert_eq!(ColumnForm::of(&Field::new("name", DataType::Utf8, true)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnForm {
    /// Text that is JSON.
    Json,
    /// Bytes that are a whole serialized value, its header included, which only its own serializer reads.
    Object,
}

impl ColumnForm {
    const ALL: [Self; 2] = [Self::Json, Self::Object];

    const fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Object => "object",
        }
    }

    /// What a field says of itself.
    pub fn of(field: &Field) -> Option<Self> {
        let word = field.metadata().get(KEY)?;
        Self::ALL.into_iter().find(|form| form.word() == word)
    }

    /// A field that says so.
    #[must_use]
    pub fn mark(self, field: Field) -> Field {
        field.with_metadata(HashMap::from([(KEY.to_owned(), self.word().to_owned())]))
    }
}
