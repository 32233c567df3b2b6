//! The rows that all contestants group, and what they must all find.

use crate::harness::Draw;
use arrow::array::{AsArray, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, SchemaRef};
use std::sync::Arc;

/// What DataFusion makes its own batches of.
const BATCH_ROWS: usize = 8_192;

/// How many groups, and a sum over their sums with a weight of each key: all values are whole, so it is exact in any order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Answer {
    pub(super) groups: usize,
    pub(super) weighted: f64,
}

impl Answer {
    pub(super) fn add(&mut self, keys: &Int64Array, sums: &Float64Array) {
        self.groups += keys.len();
        let weighted = keys.values().iter().zip(sums.values()).map(|(key, sum)| (key & 255) as f64 * sum);
        self.weighted += weighted.sum::<f64>();
    }

    /// Of batches with a key and a sum.
    #[cfg(feature = "sql-peers")]
    pub(super) fn of(batches: &[RecordBatch]) -> Self {
        let mut answer = Self::default();
        for batch in batches {
            answer.add(
                batch.column(0).as_primitive::<Int64Type>(),
                batch.column(1).as_primitive::<Float64Type>(),
            );
        }
        answer
    }
}

pub(super) fn schema() -> SchemaRef {
    let field = |name, data_type| Field::new(name, data_type, false);
    Arc::new(Schema::new(vec![field("k", DataType::Int64), field("v", DataType::Float64)]))
}

/// `rows` rows with about `keys` different keys, spread over all 64 bits, and a value from 0 to 999.
pub(super) fn batches(rows: usize, keys: usize) -> Vec<RecordBatch> {
    let mut draw = Draw::new(11);
    let schema = schema();
    let batch = |start| {
        let rows = BATCH_ROWS.min(rows - start);
        let key = |_| (draw.below(keys) as i64).wrapping_mul(0x5851_f42d_4c95_7f2d);
        let keys = Int64Array::from_iter_values((0..rows).map(key));
        let values = Float64Array::from_iter_values((0..rows).map(|_| draw.below(1_000) as f64));
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys), Arc::new(values)])
            .expect("the columns fit")
    };
    (0..rows).step_by(BATCH_ROWS).map(batch).collect()
}

/// The columns of a batch.
pub(super) fn columns(batch: &RecordBatch) -> (&Int64Array, &Float64Array) {
    (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Float64Type>())
}
