//! `CompactReader`: reads the fields of one Compact object by a schema, from bytes that may lie.
//!
//! Offsets point wherever their writer says. Each is checked against the data of its object, and what it leads to is bounded by the end of
//! that data; that many offsets cannot unfold the same bytes again and again is the concern of [`Input`]'s budget.

use super::{Compact, CompactField, FieldKind, Schema, SchemaSource, schema::Place, writer::offset_size};
use crate::data::{DecodeError, Fixed, Input, type_id};
use std::sync::Arc;

/// Where an object's parts lie in its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// The first byte of the fixed fields.
    start: usize,
    /// Behind the variable fields: the offsets begin.
    data_end: usize,
    /// Behind the offsets.
    pub(super) end: usize,
}

impl Extent {
    /// The object that begins here, behind its schema id; the input then stands behind it.
    pub(super) fn next(schema: &Schema, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let offset = input.offset();
        let fixed = schema.fixed_length();
        let (length, offsets) = if schema.variable_count() == 0 {
            (fixed, 0)
        } else {
            let said: i32 = input.get()?;
            let length = usize::try_from(said).ok().filter(|length| (fixed..=input.left()).contains(length));
            let length = length.ok_or(DecodeError::BadLength {
                what: "the data of a Compact value",
                offset,
                length: said.into(),
                left: input.left(),
            })?;
            (length, schema.variable_count() * offset_size(length))
        };
        let start = input.offset();
        let data_end = start + length;
        input.seek(data_end + offsets)?;
        Ok(Self { start, data_end, end: data_end + offsets })
    }
}

/// Reads one object; `#[derive(Compact)]` calls it.
#[derive(Debug)]
pub struct CompactReader<'i, 'a> {
    input: &'i mut Input<'a>,
    schema: &'i Schema,
    extent: Extent,
}

/// Reads schema id and fields of a `T`.
pub fn read_record<T: Compact>(input: &mut Input<'_>) -> Result<T, DecodeError> {
    input.nested(|input| {
        let schema_id = input.get()?;
        let own = T::schema();
        if schema_id == own.id() {
            return T::read_fields(&mut CompactReader::new(own, input)?);
        }
        let other = known(input.schemas(), schema_id)?;
        if other.type_name() != own.type_name() {
            let names = (own.type_name().to_owned(), other.type_name().to_owned());
            return Err(DecodeError::WrongTypeName { expected: names.0, found: names.1 });
        }
        T::read_fields(&mut CompactReader::new(&other, input)?)
    })
}

/// The schema of that id, or the error that it is not known.
pub(super) fn known(schemas: &dyn SchemaSource, schema_id: i64) -> Result<Arc<Schema>, DecodeError> {
    schemas.schema(schema_id).ok_or(DecodeError::UnknownSchema { schema_id })
}

impl<'i, 'a> CompactReader<'i, 'a> {
    fn new(schema: &'i Schema, input: &'i mut Input<'a>) -> Result<Self, DecodeError> {
        let extent = Extent::next(schema, input)?;
        Ok(Self { input, schema, extent })
    }

    pub(super) fn of_parts(schema: &'i Schema, input: &'i mut Input<'a>, extent: Extent) -> Self {
        Self { input, schema, extent }
    }

    /// The field of that name. `hint` is its index in the schema of the Rust type, usually also in this one.
    pub fn field<T: CompactField>(&mut self, name: &str, hint: usize) -> Result<T, DecodeError> {
        match self.position(name, hint) {
            Some(index) => T::read_field(self, index),
            None => T::absent().ok_or_else(|| DecodeError::NoSuchField {
                type_name: self.schema.type_name().to_owned(),
                field: name.to_owned(),
            }),
        }
    }

    /// The field of that name, or the default value when the schema does not have it.
    pub fn field_or_default<T: CompactField + Default>(
        &mut self,
        name: &str,
        hint: usize,
    ) -> Result<T, DecodeError> {
        match self.position(name, hint) {
            Some(index) => T::read_field(self, index),
            None => Ok(T::default()),
        }
    }

    fn position(&self, name: &str, hint: usize) -> Option<usize> {
        match self.schema.fields().get(hint) {
            Some(field) if field.name == name => Some(hint),
            _ => self.schema.position(name),
        }
    }

    /// What the field holds.
    pub fn kind(&self, index: usize) -> FieldKind {
        self.schema.fields()[index].kind
    }

    /// The error that the field is not of the kind asked for.
    pub fn wrong_kind(&self, index: usize, expected: FieldKind) -> DecodeError {
        let field = &self.schema.fields()[index];
        DecodeError::WrongKind { field: field.name.clone(), expected, found: field.kind }
    }

    /// The error that the field, or an item in it, is null.
    pub fn null_field(&self, index: usize) -> DecodeError {
        DecodeError::NullField { field: self.schema.fields()[index].name.clone() }
    }

    /// A number of fixed size; the caller has looked at its kind.
    pub fn fixed<T: Fixed>(&mut self, index: usize) -> Result<T, DecodeError> {
        match self.schema.place(index) {
            Place::Fixed(position) => {
                let (start, end) = (self.extent.start + position, self.extent.data_end);
                self.input.within(start, end, Input::get)
            }
            _ => Err(self.misplaced(index)),
        }
    }

    /// A boolean; the caller has looked at its kind.
    pub fn boolean(&mut self, index: usize) -> Result<bool, DecodeError> {
        match self.schema.place(index) {
            Place::Bit(position, bit) => {
                let (start, end) = (self.extent.start + position, self.extent.data_end);
                let byte: u8 = self.input.within(start, end, Input::get)?;
                Ok(byte >> bit & 1 == 1)
            }
            _ => Err(self.misplaced(index)),
        }
    }

    /// What `read` reads from a field of variable size; `None` when it is null.
    pub fn variable<T>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut Input<'a>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let Place::Variable(number) = self.schema.place(index) else { return Err(self.misplaced(index)) };
        let Extent { start, data_end, end } = self.extent;
        match offset_at(self.input, number, start, data_end, end)? {
            Some(position) => self.input.within(position, data_end, read).map(Some),
            None => Ok(None),
        }
    }

    /// An array of items that may be null or differ in size; `None` when it is null.
    pub fn items<T>(
        &mut self,
        index: usize,
        mut read: impl FnMut(&mut Input<'a>) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<Option<T>>>, DecodeError> {
        self.variable(index, |input| {
            let offset = input.offset();
            let (length, count): (i32, i32) = (input.get()?, input.get()?);
            let start = input.offset();
            let bad = |length: i32, left| DecodeError::BadLength {
                what: "an array of a Compact value",
                offset,
                length: length.into(),
                left,
            };
            let data = usize::try_from(length).ok().filter(|data| *data <= input.left());
            let data = data.ok_or_else(|| bad(length, input.left()))?;
            let room = (input.left() - data) / offset_size(data);
            let items = usize::try_from(count).ok().filter(|items| *items <= room);
            let items = items.ok_or_else(|| bad(count, input.left()))?;
            let data_end = start + data;
            let end = data_end + items * offset_size(data);
            let mut found = Vec::with_capacity(items);
            for number in 0..items {
                found.push(match offset_at(input, number, start, data_end, end)? {
                    Some(position) => Some(input.within(position, data_end, &mut read)?),
                    None => None,
                });
            }
            Ok(found)
        })
    }

    /// The schema's own tables always agree with its kinds; a caller that did not look at the kind comes here.
    fn misplaced(&self, index: usize) -> DecodeError {
        let kind = self.kind(index);
        self.wrong_kind(index, kind)
    }
}

/// Where the part of that number begins, by the table of offsets that follows the data; `None` is null.
fn offset_at(
    input: &mut Input<'_>,
    number: usize,
    start: usize,
    data_end: usize,
    end: usize,
) -> Result<Option<usize>, DecodeError> {
    let size = offset_size(data_end - start);
    let at = data_end + number * size;
    let offset = input.within(at, end, |input| {
        Ok(match size {
            1 => Some(input.get::<u8>()?).filter(|offset| *offset != u8::MAX).map(i64::from),
            2 => Some(input.get::<u16>()?).filter(|offset| *offset != u16::MAX).map(i64::from),
            _ => Some(input.get::<i32>()?).filter(|offset| *offset != -1).map(i64::from),
        })
    })?;
    let Some(offset) = offset else { return Ok(None) };
    match usize::try_from(offset) {
        Ok(position) if position <= data_end - start => Ok(Some(start + position)),
        _ => Err(DecodeError::BadLength {
            what: "an offset of a Compact value",
            offset: at,
            length: offset,
            left: data_end - start,
        }),
    }
}

/// Reads a `T` when the type id says that it is a Compact object.
pub fn read_typed<T: Compact>(type_id: i32, input: &mut Input<'_>) -> Result<T, DecodeError> {
    match type_id {
        type_id::COMPACT => read_record(input),
        type_id::NULL => Err(DecodeError::UnexpectedNull { expected: "a Compact value" }),
        found => Err(DecodeError::WrongType { expected: "a Compact value", found }),
    }
}
