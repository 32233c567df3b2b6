//! Functions that give moments: `now` and `to_timestamp`.
//!
//! In a session with a time zone DataFusion's own give moments of that zone's type, which no other moment of the engine can be subtracted from or compared with:
//! all of them are in UTC. These are too. The zone still says which moment a text, a day or a time of the clock is.

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::functions::datetime;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use std::sync::Arc;

/// The functions, in a session without a zone.
pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    let none = ConfigOptions::default();
    let all = [
        datetime::now(&none),
        datetime::to_timestamp(&none),
        datetime::to_timestamp_seconds(&none),
        datetime::to_timestamp_millis(&none),
        datetime::to_timestamp_micros(&none),
        datetime::to_timestamp_nanos(&none),
    ];
    let own = |inner: Arc<ScalarUDF>| MomentFunction { here: Arc::clone(&inner), inner };
    all.into_iter().map(|inner| Arc::new(ScalarUDF::new_from_impl(own(inner)))).collect()
}

/// A function of DataFusion whose answers are in UTC, if the session has a zone.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MomentFunction {
    /// In UTC, or in no zone where the session has none.
    inner: Arc<ScalarUDF>,
    /// In the zone of the session.
    here: Arc<ScalarUDF>,
}

/// True for what is a moment in some zone alone.
fn needs_zone(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(_, None)
    )
}

impl ScalarUDFImpl for MomentFunction {
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

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let mut in_utc = config.clone();
        in_utc.execution.time_zone = config.execution.time_zone.as_ref().map(|_| "UTC".to_owned());
        let inner = Arc::new(self.inner.inner().with_updated_config(&in_utc)?);
        let here = Arc::new(self.inner.inner().with_updated_config(config)?);
        Some(ScalarUDF::new_from_impl(Self { inner, here }))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let returns = args.return_field.data_type().clone();
        let first = args.args.first().map(ColumnarValue::data_type);
        let has_zone = matches!(returns, DataType::Timestamp(_, Some(_)));
        if !has_zone || !first.is_some_and(|first| needs_zone(&first)) {
            return self.inner.invoke_with_args(args);
        }
        let field = Field::new(self.name(), self.here.return_type(&[])?, true);
        let args = ScalarFunctionArgs { return_field: Arc::new(field), ..args };
        // Of a column of texts it gives the right numbers without the zone that it promised, which its wrapper looks at in debug builds.
        self.here.inner().invoke_with_args(args)?.cast_to(&returns, None)
    }
}
