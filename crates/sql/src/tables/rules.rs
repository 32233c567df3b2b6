//! What the rows of a table must be: unique in its keys, and with texts no longer than declared.

use super::declared::Declared;
use super::memory::{TableCharge, TableMemory, WhenNoRoom};
use super::serial::Serial;
use crate::error::SqlError;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use arrow::util::display::array_value_to_string;
use datafusion::common::{Constraint, Constraints, Result};
use datafusion::error::DataFusionError;
use filbert_pool::checkpoint;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The rules of one table.
#[derive(Debug)]
pub(super) struct Rules {
    table: String,
    schema: SchemaRef,
    keys: Vec<Key>,
    /// By the place of the column.
    lengths: Vec<(usize, usize)>,
    serials: Vec<Arc<Serial>>,
    /// The statement that declared them, without a query.
    definition: Option<String>,
    /// The keys of all rows; `None` when they have to be read again. Whoever changes rows holds it
    /// until they are there.
    pub(super) taken: Mutex<Option<TakenKeys>>,
}

/// Columns in which no two rows are equal.
#[derive(Debug)]
struct Key {
    columns: Vec<usize>,
    is_primary: bool,
}

/// Bytes of a key beside its columns: in the set, which is half empty at worst, and of the heap.
const KEY_BYTES: usize = 64;

/// The keys that rows have, for each key of the table. They count as memory of tables.
#[derive(Debug)]
pub(super) struct TakenKeys {
    sets: Vec<HashSet<Box<[u8]>>>,
    charge: TableCharge,
    when_no_room: WhenNoRoom,
}

impl Rules {
    /// The rules of a table; nothing when it has none.
    pub(super) fn new(
        table: &str,
        schema: &SchemaRef,
        constraints: &Constraints,
        declared: &Declared,
        serials: Vec<Arc<Serial>>,
    ) -> Option<Arc<Self>> {
        let keys = constraints.iter().map(|constraint| match constraint {
            Constraint::PrimaryKey(columns) => Key { columns: columns.clone(), is_primary: true },
            Constraint::Unique(columns) => Key { columns: columns.clone(), is_primary: false },
        });
        let keys: Vec<Key> = keys.collect();
        let lengths = declared.lengths.iter().filter_map(|(name, length)| {
            let place = schema.fields().iter().position(|field| field.name() == name)?;
            Some((place, *length))
        });
        let lengths: Vec<_> = lengths.collect();
        let (table, schema, taken) = (table.to_owned(), Arc::clone(schema), Mutex::default());
        let definition = declared.definition.clone();
        let has_some = definition.is_some() || !(keys.is_empty() && lengths.is_empty() && serials.is_empty());
        has_some.then(|| Arc::new(Self { table, schema, keys, lengths, serials, definition, taken }))
    }

    /// True when one of these columns is of a key.
    pub(super) fn has_key_of(&self, columns: &[usize]) -> bool {
        self.keys.iter().any(|key| key.columns.iter().any(|column| columns.contains(column)))
    }

    /// Lets the columns that number their rows begin anew.
    pub(super) fn restart(&self) {
        self.serials.iter().for_each(|serial| serial.restart());
    }

    /// The statement that declared them.
    pub(super) fn definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }

    /// The next number of each column that numbers its rows.
    pub(super) fn serials(&self) -> Vec<i64> {
        self.serials.iter().map(|serial| serial.next_number()).collect()
    }

    /// Lets the columns that number their rows go on with these numbers.
    pub(super) fn go_on(&self, numbers: &[i64]) {
        self.serials.iter().zip(numbers).for_each(|(serial, number)| serial.go_on(*number));
    }

    /// Refuses rows with a text that is too long.
    pub(super) fn check_lengths(&self, rows: &RecordBatch) -> Result<()> {
        for (place, most) in &self.lengths {
            let column = rows.column(*place);
            let is_long = |text: &&str| text.chars().count() > *most;
            let long = match column.data_type() {
                DataType::Utf8 => column.as_string::<i32>().iter().flatten().find(is_long),
                DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().find(is_long),
                DataType::Utf8View => column.as_string_view().iter().flatten().find(is_long),
                _ => None,
            };
            if let Some(long) = long {
                let name = rows.schema_ref().field(*place).name();
                let letters = long.chars().count();
                return Err(SqlError::TooLong(format!(
                    "table {:?}, column {name:?}: a text has {letters} letters, more than its type VARCHAR({most}) allows",
                    self.table
                ))
                .into_plan());
            }
        }
        Ok(())
    }

    /// The keys of rows, none of which is another's.
    pub(super) async fn keys_of(
        &self,
        rows: &[RecordBatch],
        memory: &Arc<TableMemory>,
        when_no_room: WhenNoRoom,
    ) -> Result<TakenKeys> {
        let sets = self.keys.iter().map(|_| HashSet::new()).collect();
        let mut taken = TakenKeys { sets, charge: TableCharge::new(memory), when_no_room };
        for batch in rows {
            self.take(&mut taken, batch)?;
            checkpoint().await;
        }
        // Later rows are those of an INSERT.
        taken.when_no_room = WhenNoRoom::Refuse;
        Ok(taken)
    }

    /// Adds the keys of rows, unless one is there already; then none of these rows may be written.
    pub(super) fn take(&self, taken: &mut TakenKeys, rows: &RecordBatch) -> Result<()> {
        let TakenKeys { sets, charge, when_no_room } = taken;
        for (key, known) in self.keys.iter().zip(sets) {
            let columns: Vec<_> = key.columns.iter().map(|place| Arc::clone(rows.column(*place))).collect();
            let fields = columns.iter().map(|column| SortField::new(column.data_type().clone()));
            let converter = RowConverter::new(fields.collect())?;
            let encoded = converter.convert_columns(&columns)?;
            let bytes = encoded.iter().map(|row| row.as_ref().len() + KEY_BYTES).sum();
            charge.grow(&self.table, bytes, *when_no_room)?;
            for row in 0..rows.num_rows() {
                // NULL is equal to nothing.
                if columns.iter().any(|column| column.is_null(row)) {
                    charge.shrink(encoded.row(row).as_ref().len() + KEY_BYTES);
                    continue;
                }
                if !known.insert(encoded.row(row).as_ref().into()) {
                    return Err(self.taken(key, rows, row));
                }
            }
        }
        Ok(())
    }

    fn taken(&self, key: &Key, rows: &RecordBatch, row: usize) -> DataFusionError {
        let schema: &Schema = &self.schema;
        let names: Vec<&str> = key.columns.iter().map(|place| schema.field(*place).name().as_str()).collect();
        let values = key.columns.iter().map(|place| array_value_to_string(rows.column(*place), row));
        let values: Vec<String> = values.map(std::result::Result::unwrap_or_default).collect();
        let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
        SqlError::Taken(format!(
            "table {:?} has a row with ({}) = ({}) already, and these columns are {kind}; nothing was written",
            self.table,
            names.join(", "),
            values.join(", ")
        ))
        .into_plan()
    }
}
