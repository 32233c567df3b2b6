//! The columns of a map, and where in an entry each one is.

use super::format::Format;
use super::kind::Kind;
use super::surprises::Surprises;
use crate::column_form::ColumnForm;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::HashSet;
use std::sync::Arc;

/// The column of a whole key.
pub(crate) const KEY: &str = "__key";

/// The column of a whole value.
pub(crate) const VALUE: &str = "this";

/// Which half of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Key,
    Value,
}

impl Side {
    /// The name of the column of the whole.
    pub(crate) const fn whole(self) -> &'static str {
        match self {
            Side::Key => KEY,
            Side::Value => VALUE,
        }
    }
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) side: Side,
    /// The field of the key or value; the whole of it without one.
    pub(crate) field: Option<String>,
    pub(crate) data_type: DataType,
    /// What stored values are, as far as is known.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) typing: Typing,
}

/// Where the type of a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    /// A mapping says it.
    Declared,
    /// A mapping says it, but not with how many digits: they follow from the entries.
    WithoutDigits,
    /// It follows from the entries.
    Found,
}

impl Column {
    /// The path by which indexes and predicates know it; nothing when its field has a name that would be read as something else, such as
    /// `a.b`, which is a field within another.
    pub(crate) fn attribute(&self) -> Option<String> {
        let Some(field) = &self.field else { return Some(self.side.whole().to_owned()) };
        let means_whole = |whole: &str| {
            field.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        };
        let is_step = !field.is_empty() && field.trim() == field && !field.contains(['.', '[']);
        match self.side {
            Side::Key if is_step => Some(format!("{KEY}.{field}")),
            Side::Value if is_step && !means_whole(KEY) && !means_whole(VALUE) => Some(field.clone()),
            _ => None,
        }
    }

    /// As the planner knows it.
    fn arrow_field(&self) -> Field {
        let field = Field::new(&self.name, self.data_type.clone(), true);
        match (self.kinds.as_slice(), &self.data_type) {
            ([Kind::Json], DataType::Utf8) => ColumnForm::Json.mark(field),
            ([Kind::Opaque], DataType::Binary) => ColumnForm::Object.mark(field),
            _ => field,
        }
    }
}

/// The columns of a map, and how what is written is stored.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) map: Arc<str>,
    pub(crate) columns: Vec<Column>,
    /// Of these columns, the first so many; those behind are the wholes of what has fields: there when asked for by name.
    pub(crate) visible: usize,
    pub(crate) schema: SchemaRef,
    pub(crate) key: Format,
    pub(crate) value: Format,
    /// Where values are noted that do not fit their columns.
    pub(crate) surprises: Option<Arc<Surprises>>,
}

impl Layout {
    /// Key columns, then value columns, then the wholes of sides that have fields. A field of the value is hidden by one of the key with
    /// the same name.
    pub(crate) fn new(map: &Arc<str>, mut columns: Vec<Column>, key: Format, value: Format) -> Self {
        let mut names = HashSet::new();
        columns.sort_by_key(|column| column.side == Side::Value);
        columns.retain(|column| names.insert(column.name.clone()));
        let visible = columns.len();
        for side in [Side::Key, Side::Value] {
            let has_whole = columns.iter().any(|column| column.side == side && column.field.is_none());
            if !has_whole && names.insert(side.whole().to_owned()) {
                let format = if side == Side::Key { &key } else { &value };
                let (data_type, kinds) = match format {
                    Format::Portable => (DataType::Binary, vec![Kind::Opaque]),
                    _ => (DataType::Utf8, Vec::new()),
                };
                let (name, field) = (side.whole().to_owned(), None);
                columns.push(Column { name, side, field, data_type, kinds, typing: Typing::Declared });
            }
        }
        let schema = schema_of(&columns);
        Self { map: Arc::clone(map), columns, visible, schema, key, value, surprises: None }
    }

    /// The layout, with places to note values that do not fit.
    pub(crate) fn noting(self, surprises: &Arc<Surprises>) -> Self {
        Self { surprises: Some(Arc::clone(surprises)), ..self }
    }

    /// The layout with other types of some columns.
    pub(crate) fn with_types(&self, other: impl Fn(&Column) -> Option<DataType>) -> Self {
        let mut columns = self.columns.clone();
        for column in &mut columns {
            if let Some(data_type) = other(column) {
                column.data_type = data_type;
            }
        }
        Self { schema: schema_of(&columns), columns, ..self.clone() }
    }

    /// The column of that name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub(crate) fn format(&self, side: Side) -> &Format {
        match side {
            Side::Key => &self.key,
            Side::Value => &self.value,
        }
    }
}

fn schema_of(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::arrow_field).collect::<Vec<_>>()))
}
