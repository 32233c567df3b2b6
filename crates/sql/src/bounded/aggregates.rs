//! Aggregates that make room for as much as a literal says, before they see a row.
//!
//! `approx_percentile_cont(v, 0.5, 1000000000000)` reserves space for so many centroids for each group: 16 TB, and an abort of the
//! member. A thousand of them are 16 kB for a group, and more exact than anybody needs.

use crate::error::SqlError;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Signature};
use datafusion::physical_expr::expressions::Literal;
use std::sync::Arc;

/// Centroids of one group.
const MOST_CENTROIDS: i128 = 1_000;

/// The functions, and which of their arguments is the number of centroids.
const NAMED: [(&str, usize); 2] = [("approx_percentile_cont", 2), ("approx_percentile_cont_with_weight", 3)];

/// Puts a bound around the aggregates that need one.
pub(super) fn bound_aggregates(state: &mut SessionState) -> Result<()> {
    for (name, place) in NAMED {
        let Ok(inner) = state.udaf(name) else { continue };
        if inner.inner().downcast_ref::<BoundedAggregate>().is_none() {
            state.register_udaf(Arc::new(AggregateUDF::new_from_impl(BoundedAggregate { inner, place })))?;
        }
    }
    Ok(())
}

/// An aggregate of DataFusion with a number that it makes room for.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BoundedAggregate {
    inner: Arc<AggregateUDF>,
    /// Which argument the number is.
    place: usize,
}

impl AggregateUDFImpl for BoundedAggregate {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let number = args.exprs.get(self.place).and_then(|expr| expr.downcast_ref::<Literal>());
        let number = number.and_then(|number| number.value().cast_to(&DataType::Decimal128(38, 0)).ok());
        if let Some(datafusion::scalar::ScalarValue::Decimal128(Some(number), _, _)) = number
            && number > MOST_CENTROIDS
        {
            let text =
                format!("{} keeps at most {MOST_CENTROIDS} centroids, not {number}", self.inner.name());
            return Err(SqlError::Refused(text).into_plan());
        }
        self.inner.accumulator(args)
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
