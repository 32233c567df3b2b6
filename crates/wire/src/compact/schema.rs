//! `Schema`: the fields of a Compact type, and where each lies in the bytes.
//!
//! ```text
//! | i64 schema id | i32 data length * | fixed fields, large first | booleans, a bit each | variable fields ... | offsets * |
//!                                      <---------------------- data length ----------------------------------->
//!  * only when the schema has a variable field. Offsets count from the fixed fields: one byte each when the data is
//!    shorter than 255 bytes, two below 65,535, else four; all ones is null.
//! ```

use super::{FieldKind, fingerprint::Fingerprint};
use crate::data::compare_text;
use std::sync::Arc;

/// A field of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldDescriptor {
    /// Its name, unique in the schema.
    pub name: String,
    /// What it holds.
    pub kind: FieldKind,
}

/// Where a field lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At this distance from the start of the data.
    Fixed(usize),
    /// A bit of the byte at this distance.
    Bit(usize, u8),
    /// Where this offset says.
    Variable(usize),
}

/// A schema with a name twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Compact type {type_name:?} has two fields named {field:?}")]
pub struct DuplicateField {
    /// The type.
    pub type_name: String,
    /// The name.
    pub field: String,
}

/// The fields of a Compact type. Its id is a fingerprint of them, so equal fields have equal ids everywhere.
///
/// ```
/// use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema};
///
/// let fields = vec![FieldDescriptor { name: "age".into(), kind: FieldKind::Int32 }];
/// let schema = Schema::new("person", fields)?;
/// assert_eq!(schema.fields()[0].name, "age");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    type_name: String,
    /// By name.
    fields: Vec<FieldDescriptor>,
    places: Vec<Place>,
    fixed_length: usize,
    variable_count: usize,
    id: i64,
}

impl Schema {
    /// The schema with these fields, in any order.
    pub fn new(
        type_name: impl Into<String>,
        mut fields: Vec<FieldDescriptor>,
    ) -> Result<Self, DuplicateField> {
        let type_name = type_name.into();
        fields.sort_by(|left, right| compare_text(&left.name, &right.name));
        if let Some(pair) = fields.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(DuplicateField { type_name, field: pair[0].name.clone() });
        }
        let (places, fixed_length, variable_count) = placed(&fields);
        let mut id = Fingerprint::new();
        id.text(&type_name);
        id.number(fields.len() as i32);
        for field in &fields {
            id.text(&field.name);
            id.number(field.kind.code());
        }
        Ok(Self { type_name, fields, places, fixed_length, variable_count, id: id.finish() })
    }

    /// The schema that `#[derive(Compact)]` found in a struct.
    ///
    /// # Panics
    ///
    /// When a name is there twice; the derive macro refuses that.
    #[doc(hidden)]
    pub fn of_struct(type_name: &str, fields: &[(&str, FieldKind)]) -> Self {
        let fields =
            fields.iter().map(|(name, kind)| FieldDescriptor { name: (*name).to_owned(), kind: *kind });
        Self::new(type_name, fields.collect()).expect("the names of a derived schema are unique")
    }

    /// Its fingerprint.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// The name that the type has in all languages.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The fields, by name.
    pub fn fields(&self) -> &[FieldDescriptor] {
        &self.fields
    }

    /// Which of the fields has that name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.binary_search_by(|field| compare_text(&field.name, name)).ok()
    }

    pub(super) fn place(&self, index: usize) -> Place {
        self.places[index]
    }

    /// The bytes of fixed fields and booleans.
    pub(super) const fn fixed_length(&self) -> usize {
        self.fixed_length
    }

    pub(super) const fn variable_count(&self) -> usize {
        self.variable_count
    }
}

/// Gives each field, sorted by name, its place; also the length of the fixed part, and how many are variable.
fn placed(fields: &[FieldDescriptor]) -> (Vec<Place>, usize, usize) {
    let mut places = vec![Place::Fixed(0); fields.len()];
    let mut position = 0;
    for size in [8, 4, 2, 1] {
        for (field, place) in fields.iter().zip(&mut places) {
            if field.kind.fixed_size() == Some(size) {
                *place = Place::Fixed(position);
                position += size;
            }
        }
    }
    let (mut bits, mut variable) = (0, 0);
    for (field, place) in fields.iter().zip(&mut places) {
        if field.kind == FieldKind::Boolean {
            *place = Place::Bit(position + bits / 8, (bits % 8) as u8);
            bits += 1;
        } else if field.kind.fixed_size().is_none() {
            *place = Place::Variable(variable);
            variable += 1;
        }
    }
    (places, position + bits.div_ceil(8), variable)
}

/// Where schemas are found by their id: what a member keeps of the schemas that clients have sent.
pub trait SchemaSource {
    /// The schema of that id, if it is known.
    fn schema(&self, id: i64) -> Option<Arc<Schema>>;
}

/// Knows no schema.
#[derive(Debug)]
struct NoSchemas;

impl SchemaSource for NoSchemas {
    fn schema(&self, _id: i64) -> Option<Arc<Schema>> {
        None
    }
}

/// A source without schemas: a Compact struct is then read only when it was written with the schema of its own Rust type.
pub const NO_SCHEMAS: &dyn SchemaSource = &NoSchemas;

impl SchemaSource for std::collections::HashMap<i64, Arc<Schema>> {
    fn schema(&self, id: i64) -> Option<Arc<Schema>> {
        self.get(&id).cloned()
    }
}
