//! `CompactWriter`: writes the fields of one Compact object, each to the place that its schema says.

use super::{Compact, FieldKind, Schema, schema::Place};
use crate::data::{EncodeError, Fixed, Output, to_length};

/// Stands for null among offsets.
pub(super) const NULL: i32 = -1;

/// How many bytes an offset takes, by the length of the data it points into.
pub(super) const fn offset_size(data_length: usize) -> usize {
    match data_length {
        0..255 => 1,
        255..65_535 => 2,
        _ => 4,
    }
}

/// Writes one object; `#[derive(Compact)]` calls it. Fields are named by their index in [`Schema::fields`]; one that is not
/// written stays null, or zero.
#[derive(Debug)]
pub struct CompactWriter<'o> {
    out: &'o mut Output,
    schema: &'o Schema,
    start: usize,
    offsets: Vec<i32>,
}

/// Appends schema id and fields of `value`.
pub fn write_record<T: Compact>(value: &T, out: &mut Output) -> Result<(), EncodeError> {
    write_fields(T::schema(), out, |writer| value.write_fields(writer))
}

/// Appends the id of `schema` and the fields that `write` writes.
pub(super) fn write_fields(
    schema: &Schema,
    out: &mut Output,
    write: impl FnOnce(&mut CompactWriter<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    out.nested(|out| {
        out.put(schema.id());
        if schema.variable_count() > 0 {
            // The length of the data, known at the end.
            out.zeros(4);
        }
        let start = out.position();
        out.zeros(schema.fixed_length());
        let mut writer = CompactWriter { out, schema, start, offsets: vec![NULL; schema.variable_count()] };
        write(&mut writer)?;
        writer.finish()
    })
}

/// Roughly how many bytes [`write_record`] appends.
pub fn record_size<T: Compact>() -> usize {
    let schema = T::schema();
    // 16 for a usual string; what is too much is cut off again.
    12 + schema.fixed_length() + schema.variable_count() * 16
}

impl CompactWriter<'_> {
    /// Writes a number, which the schema has as a field of fixed size.
    ///
    /// # Panics
    ///
    /// When it has not, as the following: then the type's own schema is wrong.
    pub fn fixed<T: Fixed>(&mut self, index: usize, value: T) {
        let Place::Fixed(position) = self.schema.place(index) else { self.mistaken(index, "of fixed size") };
        self.out.overwrite(self.start + position, value);
    }

    /// Writes a boolean.
    pub fn boolean(&mut self, index: usize, value: bool) {
        let Place::Bit(position, bit) = self.schema.place(index) else { self.mistaken(index, "a boolean") };
        if value {
            self.out.set_bit(self.start + position, bit);
        }
    }

    /// Writes what `write` appends, as a field of variable size.
    pub fn variable(
        &mut self,
        index: usize,
        write: impl FnOnce(&mut Output) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let Place::Variable(number) = self.schema.place(index) else {
            self.mistaken(index, "of variable size")
        };
        self.offsets[number] = to_length(self.out.position() - self.start)?;
        write(self.out)
    }

    /// Writes an array of items that may be null or differ in size.
    pub fn items<'v, T: 'v>(
        &mut self,
        index: usize,
        items: impl ExactSizeIterator<Item = Option<&'v T>>,
        write: impl Fn(&'v T, &mut Output) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.variable(index, |out| {
            let head = out.position();
            out.zeros(4);
            out.length(items.len())?;
            let start = out.position();
            let mut offsets = vec![NULL; items.len()];
            for (item, offset) in items.zip(&mut offsets) {
                if let Some(item) = item {
                    *offset = to_length(out.position() - start)?;
                    write(item, out)?;
                }
            }
            let length = out.position() - start;
            out.overwrite(head, to_length(length)?);
            put_offsets(out, length, &offsets);
            Ok(())
        })
    }

    fn finish(self) -> Result<(), EncodeError> {
        if !self.offsets.is_empty() {
            let length = self.out.position() - self.start;
            self.out.overwrite(self.start - 4, to_length(length)?);
            put_offsets(self.out, length, &self.offsets);
        }
        Ok(())
    }

    fn mistaken(&self, index: usize, wanted: &str) -> ! {
        let field = &self.schema.fields()[index];
        let kind: FieldKind = field.kind;
        panic!("the field {:?} of {:?} is {kind}, not {wanted}", field.name, self.schema.type_name())
    }
}

fn put_offsets(out: &mut Output, data_length: usize, offsets: &[i32]) {
    for offset in offsets {
        // Cut to the size: null becomes all ones, and no offset does.
        match offset_size(data_length) {
            1 => out.put(*offset as i8),
            2 => out.put(*offset as i16),
            _ => out.put(*offset),
        }
    }
}
