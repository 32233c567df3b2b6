//! `a || b` of texts or bytes as a function, so that what it makes is charged before it is made.
//!
//! An operator cannot be [bounded](crate::bounded), a function can. It computes what the operator does: NULL where one side is, other than
//! `concat`. Its place is taken after types are coerced (see `plan::operators`).

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::scalar::ScalarValue;
use std::sync::{Arc, LazyLock};

/// The name that the function is known by; it cannot be written as a call.
pub(crate) const JOIN_TEXTS: &str = "||";

/// One text behind another.
pub(crate) fn join_texts() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(JoinTexts { signature }))
    });
    Arc::clone(&FUNCTION)
}

/// The type of what two columns make, where they are texts or bytes.
pub(crate) fn joined_type(left: &DataType, right: &DataType) -> Option<DataType> {
    let is_text = |kind: &DataType| kind.is_string() || kind.is_binary();
    if !is_text(left) || !is_text(right) {
        return None;
    }
    BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type().ok()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JoinTexts {
    signature: Signature,
}

impl ScalarUDFImpl for JoinTexts {
    fn name(&self) -> &str {
        JOIN_TEXTS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, right] => match joined_type(left, right) {
                Some(kind) => Ok(kind),
                None => internal_err!("{JOIN_TEXTS} takes two texts"),
            },
            _ => internal_err!("{JOIN_TEXTS} takes two texts"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(JOIN_TEXTS, self.return_type(&types)?, is_nullable)))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|one| one.schema_name().to_string()).collect();
        Ok(names.join(" || "))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let mut sides: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
        for arg in args.args {
            sides.push(match arg {
                ColumnarValue::Scalar(constant) => Arc::new(Literal::new(constant)),
                ColumnarValue::Array(column) => {
                    fields.push(Field::new("text", column.data_type().clone(), true));
                    columns.push(column);
                    Arc::new(Column::new("text", columns.len() - 1))
                }
            });
        }
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return internal_err!("{JOIN_TEXTS} takes two texts");
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let joined = BinaryExpr::new(left, Operator::StringConcat, right).evaluate(&batch)?;
        match is_one {
            // Not as often as there are rows.
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&joined.into_array(1)?, 0)?)),
            false => Ok(joined),
        }
    }
}
