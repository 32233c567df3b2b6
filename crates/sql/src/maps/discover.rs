//! Finds the columns of a map by looking at some of its entries.
//!
//! Nobody declared them: a map takes whatever a client puts. Entries are looked at in all partitions, a few each; what they have not in
//! common is text. A mapping, where there is one, is believed instead.

use super::cell::Cell;
use super::format::Format;
use super::json_object::Members;
use super::kind::{Kind, Seen};
use super::layout::{Column, Layout, Side, Typing};
use super::surprises::Surprises;
use filbert_grid::query::Catalog;
use filbert_grid::{GridResult, Map};
use filbert_wire::compact::{CompactRecord, Schema, SchemaSource};
use filbert_wire::{Data, FromData, Input, PartitionId, Value, type_id};
use std::sync::Arc;

/// Entries that are looked at, and how many of them in one partition.
const SAMPLE: usize = 128;
const SAMPLE_OF_PARTITION: u32 = 8;

/// Columns that fields become; objects with more have the rest in `this` only.
const MAX_FIELDS: usize = 500;

/// The columns that the entries of `map` have now. Of an empty map both are text, and nothing can be written.
pub(crate) async fn discovered(
    map: &Map,
    catalog: &Catalog,
    surprises: &Arc<Surprises>,
) -> GridResult<Layout> {
    let (key, value) = looked_at(map, catalog, surprises).await?;
    let mut columns = key.columns(map.name(), Side::Key, surprises);
    columns.extend(value.columns(map.name(), Side::Value, surprises));
    Ok(Layout::new(map.name(), columns, key.format(), value.format()).noting(surprises))
}

/// A declared layout, with the digits that the entries of `map` need where none are declared.
pub(crate) async fn completed(
    layout: &Arc<Layout>,
    map: &Map,
    catalog: &Catalog,
    surprises: &Arc<Surprises>,
) -> GridResult<Arc<Layout>> {
    if !layout.columns.iter().any(|column| column.typing == Typing::WithoutDigits) {
        return Ok(Arc::clone(layout));
    }
    let (key, value) = looked_at(map, catalog, surprises).await?;
    let type_of = |column: &Column| {
        let side = if column.side == Side::Key { &key } else { &value };
        let mut seen = side.seen(column.field.as_deref()).cloned().unwrap_or_default();
        surprises.add_to(&mut seen, map.name(), column.side, column.field.as_deref());
        (column.typing == Typing::WithoutDigits).then(|| seen.widened(&column.data_type))
    };
    Ok(Arc::new(layout.with_types(type_of).noting(surprises)))
}

/// What some of the entries have on either side.
async fn looked_at(map: &Map, catalog: &Catalog, surprises: &Surprises) -> GridResult<(SideSeen, SideSeen)> {
    let (mut key, mut value) = (SideSeen::default(), SideSeen::default());
    let mut seen = 0;
    for partition in PartitionId::all() {
        let page = map.fetch_entries(partition, 0, SAMPLE_OF_PARTITION).await?;
        for entry in &page.entries {
            key.look(&entry.0, catalog);
            value.look(&entry.1, catalog);
        }
        seen += page.entries.len();
        if seen >= SAMPLE {
            break;
        }
    }
    if seen == 0 {
        surprises.forget(map.name());
    }
    Ok((key, value))
}

/// What was seen of one side of the entries.
#[derive(Default)]
struct SideSeen {
    whole: Seen,
    /// In the order in which they were first seen.
    fields: Vec<(String, Seen)>,
    json_objects: bool,
    compact: Vec<Arc<Schema>>,
}

impl SideSeen {
    fn look(&mut self, data: &Data, catalog: &Catalog) {
        match data.type_id() {
            type_id::JSON => self.look_json(data),
            type_id::COMPACT => self.look_compact(data, catalog),
            // What does not read is an error where it is read, not here: the query may not want it.
            _ => self.whole.add(&Value::from_data_with(data, catalog).unwrap_or(Value::Opaque(data.clone()))),
        }
    }

    fn look_json(&mut self, data: &Data) {
        let text = Input::new(data.payload()).text().ok().flatten().unwrap_or("null");
        if let Ok(Some(mut members)) = Members::of(text) {
            // What does not read from somewhere on is an error where it is read, too.
            while let Ok(Some(member)) = members.next_member() {
                self.json_objects = true;
                let value = member.cell(text).map_or(Value::Null, Cell::into_value);
                self.field(&member.name, |seen| seen.add(&value));
            }
        }
        self.whole.add_kind(Kind::Json);
    }

    fn look_compact(&mut self, data: &Data, catalog: &Catalog) {
        self.whole.add_kind(Kind::Nested);
        let Ok(record) = CompactRecord::of_data(data, catalog) else { return };
        for field in record.schema().fields() {
            let kind = Kind::of_field(field.kind);
            self.field(&field.name, |seen| seen.add_kind(kind));
            // Only the values themselves have digits.
            if kind.has_digits()
                && let Ok(Some(value)) = record.field(&field.name)
            {
                self.field(&field.name, |seen| seen.add(&value));
            }
        }
        let id = record.schema().id();
        if !self.compact.iter().any(|known| known.id() == id) {
            self.compact.extend(catalog.schema(id));
        }
    }

    fn field(&mut self, name: &str, see: impl FnOnce(&mut Seen)) {
        let room = self.fields.len() < MAX_FIELDS;
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, seen)) => see(seen),
            None if room => {
                let mut seen = Seen::default();
                see(&mut seen);
                self.fields.push((name.to_owned(), seen));
            }
            None => {}
        }
    }

    /// What was seen of a field, or of the whole.
    fn seen(&self, field: Option<&str>) -> Option<&Seen> {
        match field {
            None => Some(&self.whole),
            Some(field) => self.fields.iter().find(|(known, _)| known == field).map(|(_, seen)| seen),
        }
    }

    fn columns(&self, map: &Arc<str>, side: Side, surprises: &Surprises) -> Vec<Column> {
        let column = |name: &str, field: Option<&String>, seen: &Seen| {
            let mut seen = seen.clone();
            surprises.add_to(&mut seen, map, side, field.map(String::as_str));
            Column {
                name: name.to_owned(),
                side,
                field: field.cloned(),
                data_type: seen.data_type(),
                kinds: seen.kinds().to_vec(),
                typing: Typing::Found,
            }
        };
        if self.fields.is_empty() {
            return vec![column(side.whole(), None, &self.whole)];
        }
        self.fields.iter().map(|(name, seen)| column(name, Some(name), seen)).collect()
    }

    /// As the entries are stored, so are those that SQL adds; unknown where they differ.
    fn format(&self) -> Format {
        match (self.whole.kinds(), self.compact.as_slice()) {
            ([Kind::Json], _) if self.json_objects => Format::JsonFlat,
            // The newest of a type has the most fields, as a rule.
            ([Kind::Nested], [first, others @ ..])
                if others.iter().all(|other| other.type_name() == first.type_name()) =>
            {
                let newest = others.iter().fold(first, |best, other| {
                    if other.fields().len() > best.fields().len() { other } else { best }
                });
                Format::Compact(Arc::clone(newest))
            }
            ([Kind::Nested | Kind::Opaque], _) => Format::Unknown,
            ([kind], _) => Format::Plain(*kind),
            (kinds @ [.., widest], _) if kinds.iter().all(|kind| kind.is_whole()) => Format::Plain(*widest),
            _ => Format::Unknown,
        }
    }
}
