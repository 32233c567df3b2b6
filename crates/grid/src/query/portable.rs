//! Attributes of Portable objects: a path is followed through the bytes, from field to field.

use super::attribute::PathStep;
use filbert_wire::portable::{PortableField, PortableReader};
use filbert_wire::{DecodeError, Value};

/// What a path leads to in a Portable object, given the bytes of its whole `Data`: values, and for each how many steps are left to go
/// from there. Objects at the end of the path are opaque: queries can tell that they are there.
pub(super) fn find(bytes: &[u8], steps: &[PathStep]) -> Result<Vec<(Value, usize)>, DecodeError> {
    let mut reader = PortableReader::new(bytes);
    let root = reader.root()?;
    let mut found = Vec::new();
    follow(&mut reader, PortableField::Record(root), steps, &mut found)?;
    Ok(found)
}

/// One level of recursion per `[any]`.
fn follow(
    reader: &mut PortableReader<'_>,
    mut at: PortableField,
    steps: &[PathStep],
    found: &mut Vec<(Value, usize)>,
) -> Result<(), DecodeError> {
    for (done, step) in steps.iter().enumerate() {
        let next = match (step, at) {
            (_, PortableField::Value(value)) => {
                found.push((value, steps.len() - done));
                return Ok(());
            }
            (PathStep::Field(name), PortableField::Record(record)) => reader.field(record, name)?,
            (PathStep::Item(number), PortableField::Records(records)) => {
                records.get(*number).copied().map(PortableField::Record)
            }
            (PathStep::Any, PortableField::Records(records)) => {
                for record in records {
                    follow(reader, PortableField::Record(record), &steps[done + 1..], found)?;
                }
                return Ok(());
            }
            _ => None,
        };
        let Some(next) = next else { return Ok(()) };
        at = next;
    }
    let value = match at {
        PortableField::Value(value) => value,
        PortableField::Record(record) => reader.opaque(record)?,
        PortableField::Records(records) => {
            Value::List(records.into_iter().map(|record| reader.opaque(record)).collect::<Result<_, _>>()?)
        }
        _ => Value::Null,
    };
    found.push((value, 0));
    Ok(())
}
