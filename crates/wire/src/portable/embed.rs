//! A Portable object in another place: inside a list, an entry, a set, or taken out of the object that it was a field of.
//!
//! Its offsets count from the first byte of the whole value that a client reads, so each of them changes with the place. They are found by
//! going through the object as a reader does; bytes that are no offsets are copied as they are. Left as they are: offsets within the raw
//! part of an object and within objects of classes that are not known here, since nobody but the class knows where they stand.
//!
//! The bytes come from clients and may say anything: each offset is changed once, none outside the copy, and the way through them has
//! as many steps as there are bytes. What makes no sense is copied as it came.

use super::{HEADER, PortableRecord};
use crate::data::{Data, FromData, Input, MAX_DEPTH, Output, Value, is_list, type_id};
use std::collections::HashSet;
use std::ops::Range;

/// Appends the payload of `data` so that it can be read where it then stands.
pub(crate) fn append(data: &Data, out: &mut Output) {
    let (source, position) = (data.as_bytes(), out.position());
    out.bytes(data.payload());
    if data.type_id() == type_id::PORTABLE || is_list(data.type_id()) {
        let mut moving = Move::new(source, HEADER..source.len(), position, out);
        // What cannot be followed stays as it came.
        let _ = moving.object(data.type_id(), HEADER, 0);
    }
}

/// The object at `record` of `source`, which ends at `end`, as a value of its own.
pub(super) fn taken_out(source: &[u8], record: PortableRecord, end: usize) -> Option<Data> {
    let class = source.get(record.class..record.class.checked_add(8)?)?;
    let bytes = source.get(record.start..end)?;
    let mut out = Output::of_type(type_id::PORTABLE, class.len() + bytes.len());
    out.bytes(class);
    let position = out.position();
    out.bytes(bytes);
    let _ = Move::new(source, record.start..end, position, &mut out).records(record.start);
    Some(out.finish())
}

/// Changes the offsets of a copy.
struct Move<'a> {
    source: &'a [u8],
    /// The bytes of it that were copied.
    copied: Range<usize>,
    /// Where the copy begins.
    position: usize,
    out: &'a mut Output,
    /// Where offsets stood that have been changed.
    changed: HashSet<usize>,
    steps: usize,
}

impl<'a> Move<'a> {
    fn new(source: &'a [u8], copied: Range<usize>, position: usize, out: &'a mut Output) -> Self {
        Self { source, copied, position, out, changed: HashSet::new(), steps: source.len() }
    }

    fn bytes<const COUNT: usize>(&self, at: usize) -> Option<[u8; COUNT]> {
        self.source.get(at..at.checked_add(COUNT)?)?.try_into().ok()
    }

    fn number(&self, at: usize) -> Option<i32> {
        self.bytes(at).map(i32::from_be_bytes)
    }

    /// A count of things that take four bytes at least.
    fn count(&self, at: usize) -> Option<usize> {
        usize::try_from(self.number(at)?).ok().filter(|count| *count <= self.source.len() / 4)
    }

    fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }

    /// The offset that stands at `at`, and changes it in the copy; nothing when it is 0, which is none.
    fn shift(&mut self, at: usize) -> Option<Option<usize>> {
        self.step()?;
        let offset = usize::try_from(self.number(at)?).ok()?;
        if offset == 0 {
            return Some(None);
        }
        if self.copied.start <= at && at + 4 <= self.copied.end && self.changed.insert(at) {
            let moved = (offset + self.position).checked_sub(self.copied.start)?;
            self.out.overwrite(at - self.copied.start + self.position, i32::try_from(moved).ok()?);
        }
        Some(Some(offset))
    }

    /// Goes through an object whose payload begins at `at`; where it ends.
    fn object(&mut self, type_id: i32, at: usize, depth: u32) -> Option<usize> {
        self.step()?;
        if type_id == type_id::PORTABLE {
            let start = at.checked_add(8)?;
            self.records(start)?;
            return usize::try_from(self.number(start + 4)?).ok();
        }
        if !is_list(type_id) {
            let mut input = Input::new(self.source);
            input.seek(at).ok()?;
            Value::read_payload(type_id, &mut input).ok()?;
            return Some(input.offset());
        }
        if depth == MAX_DEPTH {
            return None;
        }
        let Some(count) = self.count(at) else { return at.checked_add(4) };
        let mut at = at + 4;
        for _ in 0..count {
            at = self.object(self.number(at)?, at + 4, depth + 1)?;
        }
        Some(at)
    }

    /// Changes the offsets of the object at `start` and of all objects within.
    fn records(&mut self, start: usize) -> Option<()> {
        let (mut left, mut seen) = (vec![start], HashSet::new());
        while let Some(start) = left.pop() {
            if !seen.insert(start) {
                continue;
            }
            self.shift(start.checked_add(4)?)?;
            let fields = self.count(start + 8)?;
            let table = start + 12;
            // The last is that of the raw part.
            for number in 0..=fields {
                let field = self.shift(table + number * 4)?;
                if let Some(field) = field.filter(|_| number < fields) {
                    self.field(field, &mut left)?;
                }
            }
        }
        Some(())
    }

    /// Changes the offsets of a field; the objects that it holds are `left` to go through.
    fn field(&mut self, at: usize, left: &mut Vec<usize>) -> Option<()> {
        let name = usize::try_from(self.bytes(at).map(i16::from_be_bytes)?).ok()?;
        let kind = at.checked_add(2 + name)?;
        let value = kind + 1;
        let [kind] = self.bytes(kind)?;
        match kind {
            0 if self.bytes(value)? == [0_u8] => left.push(value + 9),
            10 => {
                for item in 0..self.count(value).unwrap_or(0) {
                    left.extend(self.shift(value + 12 + item * 4)?);
                }
            }
            21 | 23 | 25 | 27 | 29 => {
                for item in 0..self.count(value).unwrap_or(0) {
                    self.shift(value + 4 + item * 4)?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PortableField, PortableReader};
    use super::*;
    use crate::data::ToData;

    /// Class 1 of factory 1: a name and an object of the same class, or null.
    fn person(out: &mut Vec<u8>, names: &[&str]) {
        let number = |out: &mut Vec<u8>, value: usize| out.extend((value as i32).to_be_bytes());
        let put = |out: &mut Vec<u8>, at: usize, value: usize| {
            out[at..at + 4].copy_from_slice(&(value as i32).to_be_bytes());
        };
        let start = out.len();
        for value in [0, 0, 3, 0, 0, 0, 0] {
            number(out, value);
        }
        let field = |out: &mut Vec<u8>, index: usize, name: &str, kind: u8| {
            let at = out.len();
            put(out, start + 12 + index * 4, at);
            out.extend((name.len() as i16).to_be_bytes());
            out.extend(name.as_bytes());
            out.push(kind);
        };
        field(out, 0, "name", 9);
        number(out, names[0].len());
        out.extend(names[0].as_bytes());
        field(out, 1, "friend", 0);
        out.push(u8::from(names.len() == 1));
        number(out, 1);
        number(out, 1);
        if names.len() > 1 {
            person(out, &names[1..]);
        }
        field(out, 2, "friends", 10);
        number(out, names.len() - 1);
        number(out, 1);
        number(out, 1);
        let table = out.len();
        out.extend(vec![0; (names.len() - 1) * 4]);
        for (index, name) in names[1..].iter().enumerate() {
            let at = out.len();
            put(out, table + index * 4, at);
            person(out, &[name]);
        }
        let end = out.len();
        put(out, start + 4, end);
    }

    fn people(names: &[&str]) -> Data {
        let mut bytes = [0, type_id::PORTABLE, 1, 1].map(i32::to_be_bytes).concat();
        person(&mut bytes, names);
        Data::from_bytes(bytes).unwrap()
    }

    fn text(reader: &mut PortableReader<'_>, record: PortableRecord) -> String {
        match reader.field(record, "name").unwrap() {
            Some(PortableField::Value(Value::String(name))) => name.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// The names along the friends, and those of the lists of friends.
    fn names(bytes: &[u8], record: PortableRecord) -> Vec<String> {
        let mut reader = PortableReader::new(bytes);
        let mut found = vec![text(&mut reader, record)];
        if let Some(PortableField::Records(friends)) = reader.field(record, "friends").unwrap() {
            found.extend(friends.into_iter().map(|friend| text(&mut reader, friend)));
        }
        if let Some(PortableField::Record(friend)) = reader.field(record, "friend").unwrap() {
            found.extend(names(bytes, friend));
        }
        found
    }

    const ALL: [&str; 6] = ["Ada", "Bo", "Cy", "Bo", "Cy", "Cy"];

    /// They had the offsets of the value that they came from, and no client could read them.
    #[test]
    fn objects_in_a_list_are_read_where_they_stand() {
        let data = people(&["Ada", "Bo", "Cy"]);
        let inner = Value::List(vec![Value::Int(7), Value::Opaque(data.clone())]);
        let list = Value::List(vec![Value::Opaque(data.clone()), inner]).to_data().unwrap();
        let bytes = list.as_bytes();
        // Count, type, and class before the first; the second is behind it, a count, an int and two types.
        let first = HEADER + 16;
        let second = first - 8 + data.payload().len() + 8 + 8 + 4 + 8;
        for start in [first, second] {
            let record = PortableRecord { start, class: start - 8 };
            assert_eq!(names(bytes, record), ALL);
        }
        // A list of them that is not understood as one is moved as a whole.
        let opaque = Value::from_data(&list).unwrap();
        assert_eq!(opaque, Value::Opaque(list.clone()));
        let outer = Value::List(vec![opaque]).to_data().unwrap();
        for start in [first + 8, second + 8] {
            assert_eq!(names(outer.as_bytes(), PortableRecord { start, class: start - 8 }), ALL);
        }
    }

    #[test]
    fn an_object_within_is_a_value_of_its_own() {
        let data = people(&["Ada", "Bo", "Cy"]);
        let mut reader = PortableReader::new(data.as_bytes());
        let root = reader.root().unwrap();
        let Some(PortableField::Record(friend)) = reader.field(root, "friend").unwrap() else { panic!() };
        let Some(PortableField::Records(friends)) = reader.field(root, "friends").unwrap() else { panic!() };
        assert_eq!(reader.opaque(friend).unwrap(), Value::Opaque(people(&["Bo", "Cy"])));
        assert_eq!(reader.opaque(friends[1]).unwrap(), Value::Opaque(people(&["Cy"])));
    }

    /// Whatever the bytes say, a copy is as long as what was copied, and is made in steps that the length bounds.
    #[test]
    fn bytes_that_make_no_sense_are_copied() {
        let whole = people(&["Ada", "Bo", "Cy"]);
        for at in HEADER..whole.as_bytes().len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.as_bytes().to_vec();
                bytes[at] = byte;
                for kind in [type_id::PORTABLE, type_id::ARRAY_LIST] {
                    bytes[4..HEADER].copy_from_slice(&kind.to_be_bytes());
                    let data = Data::from_bytes(bytes.clone()).unwrap();
                    let list = Value::List(vec![Value::Opaque(data.clone())]).to_data().unwrap();
                    assert_eq!(list.payload().len(), 8 + data.payload().len());
                }
            }
        }
    }
}
