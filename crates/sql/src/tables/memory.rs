//! What tables in memory hold together, and how much that may be.
//!
//! A table's rows stay when the statement that wrote them is over, so they count for no query. Each column of each batch that a table takes is
//! entered here, by its handle, and leaves when nobody has that handle any more: neither a table, nor a query that still reads a table that was
//! dropped or changed. A column that stays where others are updated is the same handle, and counts once.
//!
//! Handles that are gone are looked for when there is no room, when somebody asks, and each time that twice as many were entered. Rejected: to
//! count when a table is dropped. Who keeps a cursor open and drops the table would hold its rows for nothing.

use crate::error::SqlError;
use crate::memory::TotalMemory;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::prelude::SessionConfig;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Bytes of a handle and its entry, beside those of its values.
const ENTRY_BYTES: usize = 128;

/// Handles that are entered before those that are gone are looked for.
const FEW_ENTRIES: usize = 4_096;

/// The account of all tables in memory. Travels as an extension of every session's configuration.
#[derive(Debug)]
pub(crate) struct TableMemory {
    total: Arc<TotalMemory>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// By the address of the column, which nobody else gets while it is here.
    columns: HashMap<usize, Entry>,
    /// How many there are when the next look is due.
    look_at: usize,
}

#[derive(Debug)]
struct Entry {
    column: Weak<dyn Array>,
    bytes: usize,
}

/// What is done when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenNoRoom {
    /// The rows are not taken.
    Refuse,
    /// They are: where fewer rows stay than there were.
    Take,
}

impl TableMemory {
    /// An account of at most `limit` bytes, as a part of `all`.
    pub(crate) fn new(limit: usize, all: &Arc<TotalMemory>) -> Arc<Self> {
        Arc::new(Self { total: TotalMemory::of_tables(limit, all), entries: Mutex::default() })
    }

    /// The account of the member that a session belongs to.
    pub(crate) fn of(session: &SessionConfig) -> Result<Arc<Self>> {
        let missing = || SqlError::Refused("there is no memory for tables in this session".to_owned());
        session.get_extension::<Self>().ok_or_else(|| missing().into_plan())
    }

    /// Bytes that tables hold, and queries that still read what tables held.
    pub(crate) fn held(&self) -> usize {
        self.sweep(&mut self.lock());
        self.total.held()
    }

    /// Enters the rows of `table`, in the form in which it is to keep them.
    pub(crate) fn keep(
        &self,
        table: &str,
        rows: &RecordBatch,
        when_no_room: WhenNoRoom,
    ) -> Result<RecordBatch> {
        let columns = rows.columns().iter().map(compact).collect::<Result<Vec<_>>>()?;
        let mut entries = self.lock();
        let new: Vec<(usize, Entry)> = columns
            .iter()
            .map(|column| (address(column), column))
            .filter(|(address, _)| !entries.columns.contains_key(address))
            .map(|(address, column)| {
                let bytes = column.get_array_memory_size() + ENTRY_BYTES;
                (address, Entry { column: Arc::downgrade(column), bytes })
            })
            .collect();
        let more = new.iter().map(|(_, entry)| entry.bytes).sum();
        self.add(table, more, when_no_room, &mut entries)?;
        for (address, entry) in new {
            // Two columns of a row can be the same handle.
            if let Some(twice) = entries.columns.insert(address, entry) {
                self.total.sub(twice.bytes);
            }
        }
        if entries.columns.len() > entries.look_at {
            self.sweep(&mut entries);
            entries.look_at = (entries.columns.len() * 2).max(FEW_ENTRIES);
        }
        drop(entries);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
    }

    /// Adds bytes, after a look for handles that are gone where there is no room.
    fn add(&self, table: &str, more: usize, when_no_room: WhenNoRoom, entries: &mut Entries) -> Result<()> {
        if self.total.try_add(more).is_ok() {
            return Ok(());
        }
        self.sweep(entries);
        match (self.total.try_add(more), when_no_room) {
            (Ok(()), _) => Ok(()),
            (Err(_), WhenNoRoom::Take) => {
                self.total.add(more);
                Ok(())
            }
            (Err((held, full)), WhenNoRoom::Refuse) => Err(SqlError::Full(format!(
                "table {table:?} asks for {more} bytes more; {held} of the {} bytes that {} allows are in use. DROP TABLE and \
                 DELETE make room, or raise {}",
                full.limit(),
                full.setting(),
                full.setting()
            ))
            .into_plan()),
        }
    }

    fn sweep(&self, entries: &mut Entries) {
        entries.columns.retain(|_, entry| {
            let is_held = entry.column.strong_count() > 0;
            if !is_held {
                self.total.sub(entry.bytes);
            }
            is_held
        });
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Bytes that a table has beside its rows. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct TableCharge {
    memory: Arc<TableMemory>,
    bytes: usize,
}

impl TableCharge {
    /// A charge of nothing.
    pub(super) fn new(memory: &Arc<TableMemory>) -> Self {
        Self { memory: Arc::clone(memory), bytes: 0 }
    }

    /// Adds bytes of `table`.
    pub(super) fn grow(&mut self, table: &str, more: usize, when_no_room: WhenNoRoom) -> Result<()> {
        self.memory.add(table, more, when_no_room, &mut self.memory.lock())?;
        self.bytes += more;
        Ok(())
    }

    /// Gives bytes back.
    pub(super) fn shrink(&mut self, less: usize) {
        self.memory.total.sub(less);
        self.bytes -= less;
    }
}

impl Drop for TableCharge {
    fn drop(&mut self) {
        self.memory.total.sub(self.bytes);
    }
}

fn address(column: &ArrayRef) -> usize {
    Arc::as_ptr(column).cast::<()>().addr()
}

/// The column, with buffers of its own where it would keep much more than its rows: a thousand rows of a million, each alone, would
/// otherwise keep the million a thousand times.
fn compact(column: &ArrayRef) -> Result<ArrayRef> {
    let Ok(rows) = column.to_data().get_slice_memory_size() else { return Ok(Arc::clone(column)) };
    if column.get_buffer_memory_size() <= rows.saturating_mul(2).saturating_add(1 << 10) {
        return Ok(Arc::clone(column));
    }
    let all = UInt64Array::from_iter_values(0..column.len() as u64);
    let copied = take(column, &all, None)?;
    Ok(match copied.data_type() {
        // The texts themselves are shared until they are gathered.
        DataType::Utf8View => Arc::new(copied.as_string_view().gc()),
        DataType::BinaryView => Arc::new(copied.as_binary_view().gc()),
        _ => copied,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};

    fn batch(from: i64, rows: i64) -> RecordBatch {
        let schema =
            Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)]);
        let numbers = Int64Array::from_iter_values(from..from + rows);
        let texts = StringArray::from_iter_values((from..from + rows).map(|n| n.to_string()));
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
    }

    #[test]
    fn rows_count_once_and_for_as_long_as_somebody_has_them() {
        let all = TotalMemory::new(1 << 20);
        let memory = TableMemory::new(100_000, &all);
        let keep = |rows: &RecordBatch| memory.keep("t", rows, WhenNoRoom::Refuse);
        let first = keep(&batch(0, 1_000)).unwrap();
        let held = memory.held();
        assert!((8_000..30_000).contains(&held), "{held}");
        assert_eq!(all.held(), held, "it is a part of all");
        let reader = keep(&first).unwrap();
        assert_eq!(memory.held(), held, "the same columns");
        drop(first);
        assert_eq!(memory.held(), held, "somebody reads them");
        drop(reader);
        assert_eq!((memory.held(), all.held()), (0, 0));

        let mut kept = Vec::new();
        let full = loop {
            match keep(&batch(0, 1_000)) {
                Ok(rows) => kept.push(rows),
                Err(full) => break full.to_string(),
            }
        };
        assert!(full.contains("table \"t\" asks for") && full.contains("sql.table_bytes"), "{full}");
        assert!(kept.len() >= 3 && memory.held() <= 100_000, "{}", kept.len());
        memory.keep("t", &batch(0, 1_000), WhenNoRoom::Take).unwrap();
        kept.pop();
        keep(&batch(0, 1_000)).unwrap();
    }

    #[test]
    fn a_few_rows_do_not_keep_the_many_that_they_were_among() {
        let memory = TableMemory::new(1 << 30, &TotalMemory::new(1 << 30));
        let one = memory.keep("t", &batch(0, 100_000).slice(77, 1), WhenNoRoom::Refuse).unwrap();
        assert_eq!(one.column(0).as_primitive::<arrow::datatypes::Int64Type>().value(0), 77);
        assert!(one.get_array_memory_size() < 2_000, "{}", one.get_array_memory_size());
        assert!(memory.held() < 2_000, "{}", memory.held());
    }
}
