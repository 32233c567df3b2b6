//! From batches to rows, by a closure that sees a whole batch: columns are found and typed once per batch, not once per row.

use super::error::ColumnarError;
use arrow_array::{Array, RecordBatch};
use filbert_flow::{Failure, Inbox, Many, MetaSupplier, Outbox, Processor, Step};

/// Rows per call at most, so that a call stays far below a millisecond.
const ROWS_PER_CALL: usize = 1024;

/// A vertex that makes rows of batches: `each` gives an iterator over the rows of one. See [`parquet`](super::parquet()) for an example.
pub fn rows<R, F>(each: F) -> impl MetaSupplier<Processor = EachRow<R, F>>
where
    R: Iterator + Send + 'static,
    R::Item: Send + 'static,
    F: Fn(&RecordBatch) -> Result<R, Failure> + Clone + Send + Sync + 'static,
{
    move |_| EachRow { each: each.clone(), rows: None }
}

/// A column of a batch, by its name and the type of its array; the bytes are shared, not copied.
pub fn column<A: Array + Clone + 'static>(batch: &RecordBatch, name: &str) -> Result<A, ColumnarError> {
    let typed = batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref::<A>());
    typed.cloned().ok_or_else(|| ColumnarError::NotInBatch {
        column: name.to_owned(),
        expected: std::any::type_name::<A>().to_owned(),
        columns: (batch.schema().fields().iter())
            .map(|field| format!("{:?} ({})", field.name(), field.data_type()))
            .collect(),
    })
}

/// The processor of [`rows`].
pub struct EachRow<R, F> {
    each: F,
    rows: Option<R>,
}

impl<R, F> Processor for EachRow<R, F>
where
    R: Iterator + Send + 'static,
    R::Item: Send + 'static,
    F: Fn(&RecordBatch) -> Result<R, Failure> + Send + 'static,
{
    type In = Many<RecordBatch>;
    type Out = Many<R::Item>;

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<RecordBatch>>,
        outbox: &mut Outbox<Many<R::Item>>,
    ) -> Result<Step, Failure> {
        for _ in 0..ROWS_PER_CALL {
            if outbox.is_full() {
                break;
            }
            let Some(rows) = &mut self.rows else {
                let Some(batch) = inbox.pop() else { break };
                self.rows = Some((self.each)(&batch)?);
                continue;
            };
            match rows.next() {
                Some(row) => outbox.emit(row),
                None => self.rows = None,
            }
        }
        Ok(Step::Again)
    }

    fn wants_call(&mut self) -> bool {
        self.rows.is_some()
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<R::Item>>) -> Result<Step, Failure> {
        let Some(rows) = &mut self.rows else { return Ok(Step::Done) };
        let room = outbox.room().min(ROWS_PER_CALL);
        let mut emitted = 0;
        rows.by_ref().take(room).for_each(|row| {
            emitted += 1;
            outbox.emit(row);
        });
        Ok(if emitted < room { Step::Done } else { Step::Again })
    }
}
