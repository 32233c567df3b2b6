//! Whose memory a function charges: that of the query whose fragment has its turn on this thread.

use super::{FREE_BYTES, charged, refused};
use crate::error::SqlError;
use crate::query::QueryContext;
use datafusion::arrow::array::Array;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::ColumnarValue;
use std::cell::RefCell;
use std::sync::Arc;

/// Bytes of a constant that may be computed while a statement is planned; larger ones are computed when it runs.
const CONSTANT_BYTES: u64 = 4 << 20;

/// Bytes of a constant that is not charged: a statement has not that many.
const FREE_CONSTANT_BYTES: u64 = 1 << 10;

/// Bytes of a result that no query asks for.
const OUTSIDE_BYTES: u64 = 64 << 20;

thread_local! {
    static HERE: RefCell<Here> = const { RefCell::new(Here { query: None, plans: false, scalars: Vec::new() }) };
}

struct Here {
    query: Option<Arc<QueryContext>>,
    /// The query is being planned.
    plans: bool,
    /// Charges of values that nothing but this turn holds.
    scalars: Vec<MemoryReservation>,
}

/// Functions that run on this thread are those of a query, until this is dropped.
pub(crate) struct InQuery(Here);

/// Functions that run on this thread belong to `query` from now on.
pub(crate) fn enter(query: &Arc<QueryContext>) -> InQuery {
    InQuery(HERE.replace(Here { query: Some(Arc::clone(query)), plans: false, scalars: Vec::new() }))
}

impl Drop for InQuery {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut self.0, Here { query: None, plans: false, scalars: Vec::new() });
        drop(HERE.replace(before));
    }
}

/// The query of this thread is planned, until this is dropped.
pub(crate) struct Plans(bool);

/// What functions make from now on become constants of a plan.
pub(crate) fn enter_planning() -> Plans {
    Plans(HERE.with_borrow_mut(|here| std::mem::replace(&mut here.plans, true)))
}

impl Drop for Plans {
    fn drop(&mut self) {
        HERE.with_borrow_mut(|here| here.plans = self.0);
    }
}

/// Bytes of a result that is not charged by itself.
pub(super) fn free_bytes() -> u64 {
    if HERE.with_borrow(|here| here.plans) { FREE_CONSTANT_BYTES } else { FREE_BYTES }
}

/// Ends a function whose query was cancelled.
pub(super) fn check_cancelled() -> Result<()> {
    let is_cancelled = HERE.with_borrow(|here| here.query.as_ref().is_some_and(|query| query.is_cancelled()));
    if is_cancelled { Err(SqlError::Cancelled.into_plan()) } else { Ok(()) }
}

/// Ends the planning of a query that was cancelled, or has planned for too long.
pub(crate) fn check_planning() -> Result<()> {
    let Some(query) = HERE.with_borrow(|here| here.query.clone()) else { return Ok(()) };
    query.check_planning().map_err(SqlError::into_plan)
}

/// Bytes that a result takes of its query's memory.
pub(super) struct Charge(Option<MemoryReservation>);

impl Charge {
    /// Charges the query of this thread, or says why it may not have so much.
    pub(super) fn of(function: &str, bytes: u64) -> Result<Self> {
        let (query, plans) = HERE.with_borrow(|here| (here.query.clone(), here.plans));
        if plans && bytes > CONSTANT_BYTES {
            return Err(refused(format!(
                "{function} would make a constant of up to {bytes} bytes, more than the {CONSTANT_BYTES} that a plan may hold"
            )));
        }
        let Some(query) = query else {
            return match bytes <= OUTSIDE_BYTES {
                true => Ok(Self(None)),
                false => Err(refused(format!("{function} would make {bytes} bytes outside of a query"))),
            };
        };
        if bytes <= free_bytes() {
            return Ok(Self(None));
        }
        let held = MemoryConsumer::new(format!("function {function}")).register(query.memory());
        held.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(Self(Some(held)))
    }

    /// The result is there, and has that size.
    pub(super) fn resize(&mut self, bytes: u64) {
        if let Some(held) = &mut self.0 {
            held.resize(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }

    /// Keeps the charge as long as the value lives.
    pub(super) fn hold(mut self, value: ColumnarValue) -> ColumnarValue {
        let plans = HERE.with_borrow(|here| here.plans.then(|| here.query.clone()).flatten());
        if let Some(query) = plans {
            // It becomes a part of the plan.
            if let Some(held) = self.0 {
                query.hold(held);
            }
            return value;
        }
        match value {
            ColumnarValue::Array(array) => {
                self.resize(charged::bytes_of(&array));
                let query = HERE.with_borrow(|here| here.query.clone());
                match self.0.zip(query) {
                    Some((held, query)) => ColumnarValue::Array(charged::holding(array, query.lend(held))),
                    None => ColumnarValue::Array(array),
                }
            }
            ColumnarValue::Scalar(scalar) => {
                self.resize(scalar_bytes(&scalar));
                // Whatever is made of it is made in this turn.
                if let Some(held) = self.0 {
                    HERE.with_borrow_mut(|here| here.scalars.push(held));
                }
                ColumnarValue::Scalar(scalar)
            }
        }
    }
}

fn scalar_bytes(scalar: &ScalarValue) -> u64 {
    let bytes = match scalar {
        ScalarValue::List(list) => list.get_array_memory_size(),
        other => other.size(),
    };
    bytes as u64
}
