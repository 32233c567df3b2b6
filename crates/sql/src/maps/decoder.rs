//! Decodes entries straight into the columns that a query wants; everything else of an entry is gone over.

use super::builder::ColumnBuilder;
use super::cell::Cell;
use super::json_object::MemberPick;
use super::kind::{Seen, sql_name};
use super::layout::{Column, Layout, Side, Typing};
use crate::error::SqlError;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use filbert_grid::query::Catalog;
use filbert_wire::compact::{CompactRecord, FieldKind, Schema, SchemaSource};
use filbert_wire::portable::{PortableField, PortableReader};
use filbert_wire::{Data, DecodeError, FromData, Input, Value, type_id};
use std::cell::RefCell;
use std::sync::Arc;

/// Where the columns of one side get their values from.
#[derive(Debug, Default)]
struct Wanted {
    wholes: Vec<usize>,
    fields: MemberPick,
    places: Places,
}

/// Where the fields are in Compact objects of one schema: looked up once, as most are of the same.
#[derive(Debug, Default)]
struct Places {
    schema: Option<i64>,
    fields: Vec<Option<usize>>,
}

impl Places {
    fn look(&mut self, schema: &Schema, wanted: &[(String, usize)]) {
        if self.schema != Some(schema.id()) {
            self.schema = Some(schema.id());
            self.fields = wanted.iter().map(|(name, _)| schema.position(name)).collect();
        }
    }
}

/// Schemas that a scan has met; the catalog is shared by all threads, and asking it for every row would make them wait for each other.
struct MetSchemas {
    catalog: Catalog,
    met: RefCell<Vec<Arc<Schema>>>,
}

/// Schemas that are kept; entries of more types than that are rare, and ask the catalog.
const MAX_MET: usize = 16;

impl SchemaSource for MetSchemas {
    fn schema(&self, id: i64) -> Option<Arc<Schema>> {
        let mut met = self.met.borrow_mut();
        if let Some(known) = met.iter().find(|schema| schema.id() == id) {
            return Some(Arc::clone(known));
        }
        let known = self.catalog.schema(id)?;
        if met.len() < MAX_MET {
            // A copy, whose count of holders no other thread touches.
            met.push(Arc::new(known.as_ref().clone()));
        }
        Some(known)
    }
}

/// Entries in, batches out.
pub(crate) struct Decoder {
    layout: Arc<Layout>,
    schemas: MetSchemas,
    schema: SchemaRef,
    /// The layout's columns that are wanted, in order.
    places: Vec<usize>,
    key: Wanted,
    value: Wanted,
    builders: Vec<ColumnBuilder>,
    rows: usize,
}

impl Decoder {
    /// For these columns of a map.
    pub(crate) fn new(layout: &Arc<Layout>, places: Vec<usize>, catalog: &Catalog) -> Result<Self> {
        let (mut key, mut value) = (Wanted::default(), Wanted::default());
        let mut builders = Vec::with_capacity(places.len());
        for (cell, place) in places.iter().enumerate() {
            let column = &layout.columns[*place];
            let wanted = if column.side == Side::Key { &mut key } else { &mut value };
            match &column.field {
                None => wanted.wholes.push(cell),
                Some(field) => wanted.fields.add(field, cell),
            }
            builders.push(ColumnBuilder::new(&column.data_type).ok_or_else(|| {
                let (name, data_type) = (&column.name, &column.data_type);
                DataFusionError::Internal(format!("the column {name} of a map has the type {data_type}"))
            })?);
        }
        let schema = Arc::new(layout.schema.project(&places)?);
        let schemas = MetSchemas { catalog: catalog.clone(), met: RefCell::default() };
        Ok(Self { layout: Arc::clone(layout), schemas, schema, places, key, value, builders, rows: 0 })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows since the last batch.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of these rows.
    pub(crate) fn bytes(&self) -> usize {
        self.builders.iter().map(ColumnBuilder::bytes).sum()
    }

    /// Adds a row per entry.
    pub(crate) fn decode(&mut self, entries: &[(Data, Data)]) -> Result<()> {
        self.decode_changes(entries.iter().map(|(key, value)| (key, Some(value))))
    }

    /// Adds a row per key; what has no value has NULLs for it.
    pub(crate) fn decode_changes<'a>(
        &mut self,
        changes: impl Iterator<Item = (&'a Data, Option<&'a Data>)>,
    ) -> Result<()> {
        let mut cells = vec![Cell::NULL; self.builders.len()];
        for (key, value) in changes {
            let read = read(&mut self.key, key, &self.schemas, &mut cells).and_then(|()| match value {
                Some(value) => read(&mut self.value, value, &self.schemas, &mut cells),
                None => Ok(()),
            });
            read.map_err(|problem| self.failure(key, &problem))?;
            for (number, cell) in cells.iter_mut().enumerate() {
                // Null again for the next entry.
                let cell = std::mem::replace(cell, Cell::NULL);
                if let Err(problem) = self.builders[number].append(&cell, &self.schemas) {
                    return Err(self.misfit(key, self.places[number], &problem, cell.into_value()));
                }
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// What was decoded, as a batch.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }

    fn failure(&self, key: &Data, problem: &str) -> DataFusionError {
        let (map, key) = (&self.layout.map, shown(key, &self.schemas.catalog));
        SqlError::Refused(format!("map {map:?}, key {key}: {problem}")).into_plan()
    }

    /// What is said of a value that does not fit its column. It is noted where the next statement can have a column that it fits.
    fn misfit(&self, key: &Data, place: usize, problem: &str, value: Value) -> DataFusionError {
        let layout = &self.layout;
        let column = &layout.columns[place];
        let what_to_do = match (self.wider(column, &value), &layout.surprises) {
            (Some(wider), Some(surprises)) => {
                surprises.note(&layout.map, column.side, column.field.as_deref(), &value);
                let wider = sql_name(&wider);
                format!(
                    "run the statement again: from now on the type of the column is {wider}, which holds it"
                )
            }
            _ => "leave the column out, or CREATE MAPPING with another type for it".to_owned(),
        };
        let (name, data_type) = (&column.name, sql_name(&column.data_type));
        self.failure(key, &format!("column {name:?} of type {data_type}: {problem}; {what_to_do}"))
    }

    /// The type that a column would have if this value were known, if that is another one and holds it.
    fn wider(&self, column: &Column, value: &Value) -> Option<DataType> {
        let mut seen = Seen::default();
        column.kinds.iter().for_each(|kind| seen.add_kind(*kind));
        if let Some(surprises) = &self.layout.surprises {
            surprises.add_to(&mut seen, &self.layout.map, column.side, column.field.as_deref());
        }
        seen.add(value);
        let wider = match column.typing {
            Typing::Declared => return None,
            Typing::WithoutDigits => seen.widened(&column.data_type),
            Typing::Found => seen.data_type(),
        };
        let mut builder = ColumnBuilder::new(&wider)?;
        let fits = builder.append(&Cell::Value(value.clone()), &self.schemas).is_ok();
        (fits && wider != column.data_type).then_some(wider)
    }
}

/// A key, for messages.
pub(crate) fn shown(key: &Data, catalog: &Catalog) -> String {
    let value = Value::from_data_with(key, catalog).ok();
    let text = value.and_then(|value| super::text::text_of(&value, catalog).ok());
    let unread = || format!("of {} bytes that only its own serializer reads", key.payload().len());
    text.map_or_else(unread, |text| text.chars().take(100).collect())
}

/// Reads what is wanted of one side of an entry.
fn read<'a>(
    wanted: &mut Wanted,
    data: &'a Data,
    schemas: &'a MetSchemas,
    cells: &mut [Cell<'a>],
) -> Result<(), String> {
    if !wanted.fields.wanted().is_empty() {
        fields(&mut wanted.fields, &mut wanted.places, data, schemas, cells)?;
    }
    if let Some((last, others)) = wanted.wholes.split_last() {
        let cell = whole(data, schemas)?;
        others.iter().for_each(|place| cells[*place] = cell.clone());
        cells[*last] = cell;
    }
    Ok(())
}

/// A whole key or value; text is not copied.
fn whole<'a>(data: &'a Data, schemas: &MetSchemas) -> Result<Cell<'a>, String> {
    if matches!(data.type_id(), type_id::STRING | type_id::JSON) {
        let text = Input::new(data.payload()).text().map_err(|error| error.to_string())?;
        return Ok(text.map_or(Cell::NULL, Cell::of_text));
    }
    Value::from_data_with(data, schemas).map(Cell::Value).map_err(|error| error.to_string())
}

fn fields<'a>(
    fields: &mut MemberPick,
    places: &mut Places,
    data: &'a Data,
    schemas: &'a MetSchemas,
    cells: &mut [Cell<'a>],
) -> Result<(), String> {
    match data.type_id() {
        type_id::JSON => {
            let text = Input::new(data.payload()).text().map_err(|error| error.to_string())?;
            fields
                .pick(text.unwrap_or("null"), cells)
                .map_err(|error| format!("its JSON does not read: {error}"))
        }
        type_id::COMPACT => {
            let record = CompactRecord::of_data(data, schemas).map_err(|error| error.to_string())?;
            places.look(record.schema(), fields.wanted());
            for ((_, cell), place) in fields.wanted().iter().zip(&places.fields) {
                let Some(place) = *place else { continue };
                let value = match record.schema().fields()[place].kind {
                    FieldKind::String => {
                        record.text_at(place).map(|text| text.map_or(Cell::NULL, Cell::of_text))
                    }
                    _ => record.field_at(place).map(Cell::Value),
                };
                cells[*cell] = value.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
        type_id::PORTABLE => {
            for (name, place) in fields.wanted() {
                cells[*place] = Cell::Value(portable_field(data, name).map_err(|error| error.to_string())?);
            }
            Ok(())
        }
        // Something without fields: they are null.
        _ => Ok(()),
    }
}

/// A field of a Portable object; null when it has none of that name. Each field pays its reading on its own.
fn portable_field(data: &Data, name: &str) -> Result<Value, DecodeError> {
    let mut reader = PortableReader::new(data.as_bytes());
    let object = reader.root()?;
    Ok(match reader.field(object, name)? {
        Some(PortableField::Value(value)) => value,
        Some(PortableField::Record(record)) => reader.opaque(record)?,
        _ => Value::Null,
    })
}
