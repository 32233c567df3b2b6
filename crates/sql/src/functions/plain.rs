//! A function of SQL that is a Rust function over columns.

use arrow::array::{ArrayRef, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Makes a column of columns with as many rows.
type Body = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// A function by its name, which tells it apart from all others.
#[derive(Debug)]
pub(super) struct PlainFunction {
    name: &'static str,
    signature: Signature,
    returns: Field,
    body: Body,
}

impl PlainFunction {
    /// A function whose answer has the type of `returns`, and the marks that it has.
    pub(super) fn function(
        name: &'static str,
        signature: Signature,
        returns: Field,
        body: Body,
    ) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(Self { name, signature, returns, body }))
    }
}

impl PartialEq for PlainFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PlainFunction {}

impl Hash for PlainFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for PlainFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.returns.clone().with_name(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        by_rows(&args.args, args.number_rows, self.body)
    }
}

/// Calls a body with columns; with one row when all arguments are constants.
pub(super) fn by_rows(
    args: &[ColumnarValue],
    rows: usize,
    body: impl Fn(&[ArrayRef]) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_constant = args.iter().all(|one| matches!(one, ColumnarValue::Scalar(_)));
    let rows = if is_constant { 1 } else { rows };
    let columns = args.iter().map(|one| one.to_array(rows)).collect::<Result<Vec<_>>>()?;
    let answer = body(&columns)?;
    Ok(match is_constant {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&answer, 0)?),
        false => ColumnarValue::Array(answer),
    })
}

/// A column of texts, whatever its encoding is.
pub(super) fn texts(column: &ArrayRef) -> Result<StringArray> {
    Ok(StringArray::from(cast(column, &DataType::Utf8)?.to_data()))
}
