//! `generate_stream(rate)`: so many rows a second, numbered from 0, without end. What a client tries streaming with.
//!
//! Rows that are due come together, so a reader that was slow catches up; between them the fragment sleeps until a timer of the stages
//! wakes it.

use crate::table_functions::COLUMN;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use filbert_pool::Clock;
use futures::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Rows of one batch, however many are due.
const BATCH_ROWS: i64 = 8_192;

/// Timers are not set finer than this.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// The function.
#[derive(Debug)]
pub(crate) struct GenerateStream {
    pub(crate) clock: Clock,
}

impl TableFunctionImpl for GenerateStream {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let rate = match args.exprs() {
            [Expr::Literal(rate, _)] => rate.cast_to(&DataType::Int64).ok(),
            _ => None,
        };
        let Some(ScalarValue::Int64(Some(rate @ 0..))) = rate else {
            return plan_err!("generate_stream takes the rows of a second, a number that is not negative");
        };
        let schema = Arc::new(Schema::new(vec![Field::new(COLUMN, DataType::Int64, false)]));
        let stream = Rated { clock: self.clock.clone(), rate, schema: Arc::clone(&schema) };
        Ok(Arc::new(StreamingTable::try_new(schema, vec![Arc::new(stream)])?.with_infinite_table(true)))
    }
}

/// A stream of so many rows a second.
#[derive(Debug)]
struct Rated {
    clock: Clock,
    rate: i64,
    schema: SchemaRef,
}

impl PartitionStream for Rated {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (clock, schema) = (self.clock.clone(), Arc::clone(&self.schema));
        let begin = clock.now();
        let rows = Rows { begin, clock, rate: self.rate, given: 0, schema: Arc::clone(&schema), idle: None };
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}

struct Rows {
    clock: Clock,
    begin: Duration,
    rate: i64,
    given: i64,
    schema: SchemaRef,
    /// Of a reader that nothing will wake: a task that nobody could wake is over, and this one is until it is cancelled.
    idle: Option<Waker>,
}

impl Rows {
    /// Rows that are due by now.
    fn due(&self) -> i64 {
        let elapsed = self.clock.now().saturating_sub(self.begin).as_nanos();
        let due = elapsed.saturating_mul(self.rate.unsigned_abs().into()) / 1_000_000_000;
        i64::try_from(due).unwrap_or(i64::MAX)
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let count = (self.due() - self.given).min(BATCH_ROWS);
        if count > 0 {
            let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(self.given..self.given + count));
            self.given += count;
            return Poll::Ready(Some(Ok(RecordBatch::try_new(Arc::clone(&self.schema), vec![rows])?)));
        }
        if self.rate == 0 {
            // Nothing is ever due.
            self.idle = Some(context.waker().clone());
        } else {
            let pause = Duration::from_secs(1).div_f64(self.rate as f64).max(LEAST_PAUSE);
            let waker = context.waker().clone();
            self.clock.after(pause, move || waker.wake());
        }
        Poll::Pending
    }
}
