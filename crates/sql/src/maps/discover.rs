//! Finds the columns of a map by looking at some of its entries.
//!
//! Nobody declared them: a map takes whatever a client puts. Entries are looked at in all partitions, a few each; what they have not in
//! common is text. A mapping, where there is one, is believed instead.

use super::cell::Cell;
use super::format::Format;
use super::json_object::Members;
use super::kind::{Kind, Seen};
use super::layout::{Column, Layout, Side};
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
pub(crate) async fn discovered(map: &Map, catalog: &Catalog) -> GridResult<Layout> {
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
    let mut columns = key.columns(Side::Key);
    columns.extend(value.columns(Side::Value));
    Ok(Layout::new(map.name(), columns, key.format(), value.format()))
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
            // Only the numbers themselves have a scale.
            if kind == Kind::Decimal
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

    fn columns(&self, side: Side) -> Vec<Column> {
        let column = |name: &str, field: Option<&String>, seen: &Seen| Column {
            name: name.to_owned(),
            side,
            field: field.cloned(),
            data_type: seen.data_type(),
            kinds: seen.kinds().to_vec(),
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
