//! Rows that SQL writes, as entries of a map.
//!
//! A side of an entry is either one value, in the kind of its format, or an object that is made of its fields' columns. Where the whole
//! (`this`) is given too, it is what the fields are put into. A member that is NULL is left out of a JSON object.

use super::arrow_value::{exact, in_kind, value_at};
use super::decoder::shown;
use super::format::Format;
use super::json_object::spliced;
use super::kind::Kind;
use super::layout::{Layout, Side};
use super::text::to_json;
use crate::error::SqlError;
use arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use filbert_grid::query::Catalog;
use filbert_wire::compact::{CompactRecord, Schema, compact_data};
use filbert_wire::{Data, FromData, Input, ToData, Value, type_id};
use serde_json::Value as Json;
use std::sync::Arc;

/// Makes entries of rows.
pub(crate) struct Encoder {
    layout: Arc<Layout>,
    catalog: Catalog,
}

/// A new value for a column, by its place in the layout.
pub(crate) type Assigned = (usize, Value);

impl Encoder {
    pub(crate) fn new(layout: &Arc<Layout>, catalog: &Catalog) -> Self {
        Self { layout: Arc::clone(layout), catalog: catalog.clone() }
    }

    /// The entries of rows that have all columns of the layout.
    pub(crate) fn entries(&self, batch: &RecordBatch) -> Result<Vec<(Data, Data)>> {
        (0..batch.num_rows())
            .map(|row| {
                let key = self.row_side(Side::Key, batch.columns(), row)?;
                let value = self.row_side(Side::Value, batch.columns(), row)?;
                Ok((key, value))
            })
            .collect()
    }

    fn row_side(&self, side: Side, columns: &[ArrayRef], row: usize) -> Result<Data> {
        let mut whole = Value::Null;
        let mut fields = Vec::new();
        for (place, column) in
            self.layout.columns.iter().enumerate().filter(|(_, column)| column.side == side)
        {
            let array: &dyn Array = &columns[place];
            let value = value_at(array, row).map_err(|problem| self.refused(&column.name, &problem))?;
            match column.field {
                None => whole = value,
                Some(_) if value.is_null() => {}
                Some(_) => fields.push((place, value)),
            }
        }
        let whole_name = side.whole();
        match self.layout.format(side) {
            Format::Plain(kind) if whole.is_null() => {
                let text = format!("NULL cannot be stored as {}; give {whole_name} a value", kind.sql_type());
                Err(self.refused(whole_name, &text))
            }
            Format::Plain(kind) => {
                let value = in_kind(whole, *kind).map_err(|problem| self.refused(whole_name, &problem))?;
                value.to_data().map_err(|error| self.refused(whole_name, &error.to_string()))
            }
            Format::JsonFlat => {
                let base = match whole {
                    Value::String(text) => Some(text),
                    _ => None,
                };
                if side == Side::Key && base.is_none() && fields.is_empty() {
                    let text = "all its fields are NULL, and so is the whole; give one of them a value";
                    return Err(self.refused(whole_name, text));
                }
                self.json(side, base.as_deref().unwrap_or("{}"), &fields)
            }
            Format::Compact(schema) if whole.is_null() => {
                let values = vec![Value::Null; schema.fields().len()];
                self.compact(side, schema, values, &fields, None)
            }
            Format::Compact(_) => Err(self.refused(whole_name, "a Compact object is written by its fields, not as a whole")),
            Format::Portable => {
                let text = "SQL does not write Portable objects; put it with a client that knows its class";
                Err(self.refused(whole_name, text))
            }
            Format::Unknown => Err(self.refused(
                whole_name,
                "how it is stored is not known, since the map is empty or holds several kinds; CREATE MAPPING says it",
            )),
        }
    }

    /// The value of an entry with some columns changed.
    pub(crate) fn changed(&self, entry: &(Data, Data), assigned: &[Assigned]) -> Result<Data> {
        let mut fields = Vec::new();
        let mut base = entry.1.clone();
        for (place, value) in assigned {
            let column = &self.layout.columns[*place];
            match &column.field {
                Some(_) => fields.push((*place, value.clone())),
                None => base = self.whole_in_kind_of(&entry.0, &base, value.clone())?,
            }
        }
        if fields.is_empty() {
            return Ok(base);
        }
        match base.type_id() {
            type_id::JSON => {
                let text = Input::new(base.payload()).text().ok().flatten().unwrap_or("{}");
                self.json(Side::Value, text, &fields)
            }
            type_id::COMPACT => {
                let no =
                    |error: filbert_wire::DecodeError| self.refused(Side::Value.whole(), &error.to_string());
                let record = CompactRecord::of_data(&base, &self.catalog).map_err(no)?;
                let values = record.schema().fields().iter();
                let values =
                    values.map(|field| Ok(record.field(&field.name).map_err(no)?.unwrap_or(Value::Null)));
                let values = values.collect::<Result<_>>()?;
                self.compact(Side::Value, record.schema(), values, &fields, Some(&entry.0))
            }
            type_id::PORTABLE => Err(self.refused(
                &self.layout.columns[fields[0].0].name,
                "SQL does not write Portable objects; put it with a client that knows its class",
            )),
            _ => {
                let key = shown(&entry.0, &self.catalog);
                Err(self.refused(
                    &self.layout.columns[fields[0].0].name,
                    &format!("the value of key {key} has no fields"),
                ))
            }
        }
    }

    /// A new whole value, stored as the old one was.
    fn whole_in_kind_of(&self, key: &Data, old: &Data, value: Value) -> Result<Data> {
        let no = |problem: String| self.refused(Side::Value.whole(), &self.at_key(key, &problem));
        if value.is_null() {
            return Err(no("NULL cannot be stored; DELETE removes an entry".to_owned()));
        }
        let old = Value::from_data_with(old, &self.catalog).ok();
        let kind = match self.layout.format(Side::Value) {
            Format::Plain(kind) => Some(*kind),
            _ => old.as_ref().and_then(Kind::of),
        };
        old.as_ref().map_or(Ok(()), |old| exact(old, &value)).map_err(no)?;
        let value = match kind {
            Some(Kind::Nested | Kind::Opaque) | None => {
                return Err(no("only its fields can be changed".to_owned()));
            }
            Some(kind) => in_kind(value, kind).map_err(no)?,
        };
        value.to_data().map_err(|error| no(error.to_string()))
    }

    /// The JSON object `base` with these members in it; everything else of it stays as it is written.
    fn json(&self, side: Side, base: &str, fields: &[Assigned]) -> Result<Data> {
        let whole = side.whole();
        let mut changes: Vec<(&str, Option<String>)> = Vec::with_capacity(fields.len());
        for (place, value) in fields {
            let Some(field) = self.layout.columns[*place].field.as_deref() else { continue };
            let member = self.member(*place, value)?;
            match changes.iter_mut().find(|(name, _)| *name == field) {
                // Two columns of a mapping may be one member.
                Some(known) => known.1 = member,
                None => changes.push((field, member)),
            }
        }
        match spliced(base, &changes) {
            Ok(Some(object)) => {
                Value::Json(object).to_data().map_err(|error| self.refused(whole, &error.to_string()))
            }
            Ok(None) => Err(self.refused(whole, "it is no JSON object")),
            Err(error) => Err(self.refused(whole, &format!("it is no JSON: {error}"))),
        }
    }

    /// The JSON text of a member; nothing when it is to be left out.
    fn member(&self, place: usize, value: &Value) -> Result<Option<String>> {
        let column = &self.layout.columns[place];
        let nested = matches!(column.kinds.as_slice(), [Kind::Json | Kind::Nested]);
        Ok(match value {
            Value::Null => None,
            Value::String(text) if nested => {
                // Read as a tree, which has a bounded depth, and kept as it is written.
                let read = serde_json::from_str::<Json>(text);
                read.map_err(|error| self.refused(&column.name, &format!("it is no JSON: {error}")))?;
                Some(text.trim_ascii().to_owned())
            }
            other => {
                let json = to_json(other, &self.catalog, 0);
                Some(json.map_err(|error| self.refused(&column.name, &error.to_string()))?.to_string())
            }
        })
    }

    /// The Compact object with `values`, some of them replaced; of the entry that has this key, where there is one.
    fn compact(
        &self,
        side: Side,
        schema: &Schema,
        mut values: Vec<Value>,
        fields: &[Assigned],
        key: Option<&Data>,
    ) -> Result<Data> {
        let at = |problem: &str| key.map_or_else(|| problem.to_owned(), |key| self.at_key(key, problem));
        for (place, value) in fields {
            let column = &self.layout.columns[*place];
            let position = column.field.as_deref().and_then(|field| schema.position(field));
            let Some(position) = position else {
                let text =
                    format!("the Compact type {:?} of this entry has no such field", schema.type_name());
                return Err(self.refused(&column.name, &at(&text)));
            };
            let kind = Kind::of_field(schema.fields()[position].kind);
            let new = exact(&values[position], value).and_then(|()| in_kind(value.clone(), kind));
            values[position] = new.map_err(|problem| self.refused(&column.name, &at(&problem)))?;
        }
        compact_data(schema, &values).map_err(|error| self.refused(side.whole(), &error.to_string()))
    }

    fn at_key(&self, key: &Data, problem: &str) -> String {
        format!("the value of key {}: {problem}", shown(key, &self.catalog))
    }

    fn refused(&self, column: &str, problem: &str) -> DataFusionError {
        SqlError::Refused(format!("map {:?}, column {column:?}: {problem}", self.layout.map)).into_plan()
    }
}
