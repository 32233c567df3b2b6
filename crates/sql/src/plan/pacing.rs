//! Hands a join the side that it reads in pieces, and a node with costly functions its input.
//!
//! A join compares each batch of this side with the rows of the other before it asks for the next one, and comes back earlier only with rows that
//! met its condition. When nothing does, a batch takes as long as the other side is large: eight thousand rows against ten million
//! hold a thread for minutes. How large a piece may be depends on the join:
//!
//! - One that looks up keys takes pieces of any size at the same cost per row. How many rows have a key is not known before, so the next piece
//!   is half as large when the turn is over after one, and twice as large when it is not.
//! - One that compares all pairs is many times slower with few rows at a time, so its pieces are no smaller than it needs to be quick, unless
//!   the other side, whose rows are [counted](TallyExec), is so large that this would take far longer than a turn.
//!
//! Functions are like a look-up of keys, but a single row may take a turn: their first piece has one.

use super::passing::{Pass, PassExec};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, RecordBatchStream, SendableRecordBatchStream};
use filbert_pool::turn_is_over;
use futures::{Stream, StreamExt, TryStreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

/// A node below a join that cuts batches as the join can take them.
pub(crate) type PaceExec = PassExec<Pieces>;

/// A node that counts the rows of the side that a join keeps, as they come.
pub(crate) type TallyExec = PassExec<Tally>;

impl PaceExec {
    /// For a join that looks up keys.
    pub(super) fn by_turns(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(Pieces { other_rows: None, first: FIRST_ROWS }, input)
    }

    /// For a node where a single row may take a turn.
    pub(super) fn one_by_one(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(Pieces { other_rows: None, first: 1 }, input)
    }

    /// For a join that compares all pairs: both sides of it.
    pub(super) fn of_pairs(
        kept: Arc<dyn ExecutionPlan>,
        read: Arc<dyn ExecutionPlan>,
    ) -> [Arc<dyn ExecutionPlan>; 2] {
        let rows = Arc::new(AtomicUsize::new(0));
        let pieces = Pieces { other_rows: Some(Arc::clone(&rows)), first: 1 };
        [Arc::new(TallyExec::of(Tally { rows }, kept)), Arc::new(Self::of(pieces, read))]
    }
}

/// Rows of the first piece where their cost is not known.
const FIRST_ROWS: usize = 64;

/// Pairs that are compared within a few milliseconds.
const PAIRS_OF_A_TURN: usize = 1 << 22;

/// Pairs that are compared within one or two tenths of a second, for which a spare worker serves others. With fewer of them, joins with a side of
/// a hundred thousand rows would already go the slow way.
const PAIRS_AT_MOST: usize = 1 << 27;

/// The rows of a piece that is compared with so many others, when batches have `batch_rows`.
fn rows_against(others: usize, batch_rows: usize) -> usize {
    let others = others.max(1);
    // With less than an eleventh of a batch the join goes another way, made for a side of very few rows.
    let quick = batch_rows.div_ceil(8);
    if quick.saturating_mul(others) > PAIRS_AT_MOST {
        return (PAIRS_OF_A_TURN / 8 / others).max(1);
    }
    (PAIRS_OF_A_TURN / others).clamp(quick, batch_rows.max(quick))
}

/// Cuts batches into pieces.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    /// How many rows the other side has, where each is compared with all of them.
    other_rows: Option<Arc<AtomicUsize>>,
    /// Rows of the first piece otherwise.
    first: usize,
}

impl Pass for Pieces {
    const NAME: &'static str = "PaceExec";

    fn pass(
        &self,
        input: &dyn ExecutionPlan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size();
        let input = input.execute(partition, context)?;
        let pace = match &self.other_rows {
            None => Pace::new(self.first),
            Some(others) => Pace { others: Some((Arc::clone(others), batch_rows)), ..Pace::new(1) },
        };
        Ok(Box::pin(Paced { input, rest: None, pace }))
    }
}

/// How many rows a piece has.
#[derive(Debug)]
struct Pace {
    rows: usize,
    /// A piece was handed on, and what became of its turn is not looked at yet.
    is_out: bool,
    /// The rows of the other side, and of a batch: then the piece follows from these.
    others: Option<(Arc<AtomicUsize>, usize)>,
}

impl Pace {
    fn new(rows: usize) -> Self {
        Self { rows, is_out: false, others: None }
    }

    /// The reader is back.
    fn learn(&mut self, turn_is_over: bool) {
        let was_out = std::mem::take(&mut self.is_out);
        if let Some((others, batch_rows)) = &self.others {
            // A join reads this side when it has the other one.
            self.rows = rows_against(others.load(Ordering::Relaxed), *batch_rows);
        } else if was_out {
            self.rows = if turn_is_over { (self.rows / 2).max(1) } else { self.rows.saturating_mul(2) };
        }
    }

    /// The rows of the next piece, out of so many.
    fn piece(&mut self, rows: usize) -> usize {
        // No piece is larger than the batch, so it does not count as one that large.
        self.rows = self.rows.min(rows).max(1);
        self.is_out = true;
        self.rows.min(rows)
    }
}

struct Paced {
    input: SendableRecordBatchStream,
    /// Of the last batch, what was not handed on.
    rest: Option<RecordBatch>,
    pace: Pace,
}

impl Stream for Paced {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let is_over = turn_is_over();
        self.pace.learn(is_over);
        if is_over {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let batch = match self.rest.take() {
            Some(batch) => batch,
            None => match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => batch,
                end => return Poll::Ready(end),
            },
        };
        let rows = self.pace.piece(batch.num_rows());
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        Poll::Ready(Some(Ok(batch.slice(0, rows))))
    }
}

impl RecordBatchStream for Paced {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// Counts rows.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    rows: Arc<AtomicUsize>,
}

impl Pass for Tally {
    const NAME: &'static str = "TallyExec";

    fn pass(
        &self,
        input: &dyn ExecutionPlan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = Arc::clone(&self.rows);
        // A join that begins again, for want of memory or in a recursion, counts what it reads then.
        rows.store(0, Ordering::Relaxed);
        let counted = input.execute(partition, context)?.inspect_ok(move |batch| {
            rows.fetch_add(batch.num_rows(), Ordering::Relaxed);
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), counted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use futures::executor::block_on;
    use futures::stream;

    #[test]
    fn a_piece_is_half_as_large_after_a_turn_that_ended_and_never_empty() {
        let mut pace = Pace::new(4);
        pace.learn(true);
        assert_eq!(pace.rows, 4, "nothing was handed on");
        for rows in [2, 1, 1] {
            pace.is_out = true;
            pace.learn(true);
            assert_eq!(pace.rows, rows);
        }
        pace.is_out = true;
        pace.learn(false);
        assert_eq!(pace.rows, 2);
    }

    #[test]
    fn pieces_against_many_rows_are_as_small_as_stays_quick_or_tiny() {
        assert_eq!(rows_against(0, 8_192), 8_192);
        assert_eq!(rows_against(100, 8_192), 8_192);
        assert_eq!(rows_against(2_048, 8_192), 2_048);
        assert_eq!(rows_against(100_000, 8_192), 1_024);
        assert_eq!(rows_against(1_000_000, 8_192), 1);
        assert_eq!(rows_against(10_000_000, 8_192), 1);
        assert_eq!(rows_against(10_000_000, 7), 1);
        assert_eq!(rows_against(usize::MAX, usize::MAX), 1);
        let others = Arc::new(AtomicUsize::new(0));
        let mut pace = Pace { others: Some((Arc::clone(&others), 8_192)), ..Pace::new(1) };
        others.store(4_096, Ordering::Relaxed);
        pace.learn(true);
        assert_eq!((pace.piece(5_000), pace.piece(10)), (1_024, 10));
        pace.learn(true);
        assert_eq!(pace.piece(5_000), 1_024, "a short batch changes nothing");
    }

    #[test]
    fn pieces_are_the_rows_of_the_batches_in_their_order() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let batches = [0..100, 100..100, 100..107].map(|rows| {
            let column = Int64Array::from_iter_values(rows);
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)]).map_err(Into::into)
        });
        let input = Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches)));
        let paced = Paced { input, rest: None, pace: Pace::new(3) };
        let pieces: Vec<RecordBatch> = block_on(paced.map(Result::unwrap).collect());
        let sizes: Vec<usize> = pieces.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(sizes, [3, 6, 12, 24, 48, 7, 0, 2, 4, 1]);
        let rows =
            pieces.iter().flat_map(|piece| piece.column(0).as_primitive::<Int64Type>().values().to_vec());
        assert!(rows.eq(0..107));
    }
}
