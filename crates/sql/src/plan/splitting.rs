//! Hands an operator that makes a row of each element of a list lists that are no longer than a batch.
//!
//! It makes one batch of one batch, however long the lists are. So a batch is handed on in pieces of so many elements, and a list that is
//! longer is cut: a row with the list `[1, 2, 3]` becomes the same rows as two with `[1, 2]` and `[3]`. Where several lists of a row are read side
//! by side, all are cut at the same places, and the shorter ones are empty where the longer ones go on.

use super::passing::{Pass, PassExec};
use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowNativeType, DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, RecordBatchStream, SendableRecordBatchStream};
use futures::{Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A node that cuts lists.
pub(super) type SplitExec = PassExec<Lists>;

/// The columns whose lists are cut.
#[derive(Debug, Clone)]
pub(super) struct Lists {
    columns: Arc<[usize]>,
}

/// The input of such an operator with its lists cut; nothing where they cannot be.
pub(super) fn split_lists(unnest: &UnnestExec) -> Option<Arc<dyn ExecutionPlan>> {
    let lists = unnest.list_column_indices();
    let schema = unnest.input().schema();
    let is_list = |column: usize| {
        matches!(schema.field(column).data_type(), DataType::List(_) | DataType::LargeList(_))
    };
    // Lists of lists would be cut at the outer ones and be as long inside.
    let can_cut = lists.iter().all(|list| list.depth == 1 && is_list(list.index_in_input_schema));
    if lists.is_empty() || !can_cut {
        return None;
    }
    let columns = lists.iter().map(|list| list.index_in_input_schema).collect();
    Some(Arc::new(SplitExec::of(Lists { columns }, Arc::clone(unnest.input()))))
}

impl Pass for Lists {
    const NAME: &'static str = "SplitListsExec";

    fn pass(
        &self,
        input: &dyn ExecutionPlan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let most = context.session_config().batch_size();
        let input = input.execute(partition, context)?;
        Ok(Box::pin(Splitting { input, columns: Arc::clone(&self.columns), most, batch: None }))
    }
}

struct Splitting {
    input: SendableRecordBatchStream,
    columns: Arc<[usize]>,
    /// Elements of a piece.
    most: usize,
    batch: Option<Position>,
}

/// How far a batch is handed on: to that element of that row.
struct Position {
    batch: RecordBatch,
    row: usize,
    element: usize,
}

/// Elements of the list in that row.
fn length(column: &ArrayRef, row: usize) -> usize {
    if column.is_null(row) {
        return 0;
    }
    match column.as_list_opt::<i32>() {
        Some(list) => list.value_length(row).as_usize(),
        None => column.as_list::<i64>().value_length(row).as_usize(),
    }
}

/// One row with a part of its list.
fn part<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    row: usize,
    from: usize,
    most: usize,
) -> Result<ArrayRef> {
    let (field, offsets, values, _) = list.slice(row, 1).into_parts();
    let (begin, end) = (offsets[0].as_usize(), offsets[1].as_usize());
    let begin = (begin + from).min(end);
    let rows = most.min(end - begin);
    let offsets = OffsetBuffer::from_lengths([rows]);
    Ok(Arc::new(GenericListArray::<O>::try_new(field, offsets, values.slice(begin, rows), None)?))
}

impl Position {
    fn longest(&self, columns: &[usize], row: usize) -> usize {
        columns.iter().map(|column| length(self.batch.column(*column), row)).max().unwrap_or(0)
    }

    /// The next piece; nothing when the whole batch was handed on.
    fn next(&mut self, columns: &[usize], most: usize) -> Result<Option<RecordBatch>> {
        let rows = self.batch.num_rows();
        if self.row >= rows {
            return Ok(None);
        }
        let first = self.longest(columns, self.row);
        if first > most {
            let piece = self.cut(columns, most)?;
            self.element += most;
            if self.element >= first {
                (self.row, self.element) = (self.row + 1, 0);
            }
            return Ok(Some(piece));
        }
        let (begin, mut elements) = (self.row, 0);
        while self.row < rows {
            elements += self.longest(columns, self.row).max(1);
            if elements > most && self.row > begin {
                break;
            }
            self.row += 1;
        }
        Ok(Some(self.batch.slice(begin, self.row - begin)))
    }

    fn cut(&self, columns: &[usize], most: usize) -> Result<RecordBatch> {
        let row = self.batch.slice(self.row, 1);
        let mut cut = row.columns().to_vec();
        for column in columns {
            let whole = self.batch.column(*column);
            if whole.is_null(self.row) {
                continue;
            }
            cut[*column] = match whole.as_list_opt::<i32>() {
                Some(list) => part(list, self.row, self.element, most)?,
                None => part(whole.as_list::<i64>(), self.row, self.element, most)?,
            };
        }
        Ok(RecordBatch::try_new(row.schema(), cut)?)
    }
}

impl Stream for Splitting {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let (columns, most) = (Arc::clone(&self.columns), self.most);
            if let Some(position) = &mut self.batch {
                match position.next(&columns, most) {
                    Ok(Some(piece)) => return Poll::Ready(Some(Ok(piece))),
                    Ok(None) => self.batch = None,
                    Err(failure) => return Poll::Ready(Some(Err(failure))),
                }
            }
            match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => self.batch = Some(Position { batch, row: 0, element: 0 }),
                end => return Poll::Ready(end),
            }
        }
    }
}

impl RecordBatchStream for Splitting {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, ListArray};
    use arrow::datatypes::{Field, Int64Type, Schema};

    #[test]
    fn lists_are_cut_at_the_same_places_and_whole_rows_stay_together() {
        let lists =
            |rows: Vec<Option<Vec<Option<i64>>>>| ListArray::from_iter_primitive::<Int64Type, _, _>(rows);
        let some = |numbers: std::ops::Range<i64>| Some(numbers.map(Some).collect::<Vec<_>>());
        let long = lists(vec![some(0..2), None, some(0..7), some(0..0), some(0..3)]);
        let other = lists(vec![some(0..1), some(0..1), some(0..4), None, some(0..1)]);
        let number = Int64Array::from(vec![10, 11, 12, 13, 14]);
        let field = |name: &str, of: &dyn Array| Field::new(name, of.data_type().clone(), true);
        let schema = Schema::new(vec![field("n", &number), field("a", &long), field("b", &other)]);
        let batch =
            RecordBatch::try_new(Arc::new(schema), vec![Arc::new(number), Arc::new(long), Arc::new(other)])
                .unwrap();
        let mut position = Position { batch, row: 0, element: 0 };
        let mut pieces = Vec::new();
        while let Some(piece) = position.next(&[1, 2], 3).unwrap() {
            let lengths = |column: usize| -> Vec<usize> {
                (0..piece.num_rows()).map(|row| length(piece.column(column), row)).collect()
            };
            let numbers = piece.column(0).as_primitive::<Int64Type>().values().to_vec();
            pieces.push((numbers, lengths(1), lengths(2)));
        }
        let expected = [
            (vec![10, 11], vec![2, 0], vec![1, 1]),
            (vec![12], vec![3], vec![3]),
            (vec![12], vec![3], vec![1]),
            (vec![12], vec![1], vec![0]),
            (vec![13], vec![0], vec![0]),
            (vec![14], vec![3], vec![1]),
        ];
        assert_eq!(pieces, expected);
    }
}
