//! Reads a table into memory, as far as there is room for it.

use super::super::no_rows::{counting, rows_by};
use super::super::{Arguments, Watch, rows_read};
use filbert::arrow::array::RecordBatch;
use filbert::cube::{DrillThrough, MemoryTable};
use std::error::Error;

/// Reads all rows and columns of the table that the command line names.
pub(super) fn read(watch: &Watch<'_>, arguments: &Arguments) -> Result<MemoryTable, Box<dyn Error>> {
    let cube = watch.open(arguments, counting(&[])?)?;
    let mut rows = cube.drill_through(DrillThrough::new(rows_by(&[])))?;
    let (seen, limit) = (rows.progress(), watch.member.cube_memory().limit() / 2);
    let (mut batches, mut bytes): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
    loop {
        let taking = async move {
            let batch = rows.next().await;
            (batch, rows)
        };
        let (batch, left) = watch.wait("read rows", taking, || rows_read(&seen))?;
        rows = left;
        let Some(batch) = batch.transpose()? else { break };
        bytes = bytes.saturating_add(batch.get_array_memory_size());
        if bytes > limit {
            return Err(format!(
                "the table has more than the {} MB that may be in memory; choose columns or rows by --table \"SELECT ...\", raise --memory-mb, \
                 or ask without --interactive",
                limit >> 20
            )
            .into());
        }
        batches.push(batch);
    }
    let Some(first) = batches.first() else { return Err("the table cannot be read".into()) };
    let schema = first.schema();
    Ok(MemoryTable::new(arguments.table(), schema, batches)?)
}
