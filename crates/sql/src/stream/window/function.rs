//! The functions that mark a window in a statement. They never run: the planner puts [`TimeWindow`](super::node::TimeWindow) in their
//! place.

use super::shape::is_time;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// Where the window begins.
pub(crate) const WINDOW_START: &str = "__window_start";

/// Where it ends.
pub(crate) const WINDOW_END: &str = "__window_end";

/// Both of them.
pub(crate) fn window_functions() -> [Arc<ScalarUDF>; 2] {
    let mark = |name| {
        // Immutable ones would be computed where they stand.
        let signature = Signature::any(4, Volatility::Volatile);
        Arc::new(ScalarUDF::new_from_impl(WindowMark { name, signature }))
    };
    [mark(WINDOW_START), mark(WINDOW_END)]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowMark {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for WindowMark {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is that of a field", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(time) = args.arg_fields.first() else {
            return internal_err!("a window has a column of time");
        };
        let data_type = time.data_type();
        if !is_time(data_type) {
            let (name, text) = (time.name(), "windows are over timestamps and whole numbers");
            let refused = format!(
                "{text}; the column {name:?} has the type {data_type}, which CAST may make one of them"
            );
            return Err(crate::SqlError::Refused(refused).into_plan());
        }
        Ok(Arc::new(Field::new(self.name, data_type.clone(), false)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} is a mark that TUMBLE and HOP leave for the planner, and does not run", self.name)
    }
}
