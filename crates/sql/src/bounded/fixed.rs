//! Types whose values have a size that the statement says: lists and byte strings of a fixed length.
//!
//! A NULL of such a type takes as much room as any other value, so `CAST(NULL AS BIGINT[2000000000])` asks for 16 GB in a few letters. A
//! batch has thousands of them. So one value may have [`VALUE_BYTES`]; a type that says more is refused where it is named, in SQL or as a text
//! for `arrow_cast`.

use crate::error::SqlError;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType as SqlType};
use std::sync::Arc;

/// Bytes of one value of a type with a fixed size.
const VALUE_BYTES: u64 = 32 << 10;

/// Bytes of a number, about, where its type is not looked at.
const NUMBER_BYTES: u64 = 8;

/// Refuses a type of SQL, such as `BIGINT[2000000000]`, whose values are too large.
pub(crate) fn check_sql_type(kind: &SqlType) -> Result<()> {
    check(sql_bytes(kind), kind)
}

fn sql_bytes(kind: &SqlType) -> u64 {
    match kind {
        SqlType::Array(ArrayElemTypeDef::SquareBracket(element, Some(length))) => {
            length.saturating_mul(sql_bytes(element))
        }
        SqlType::Array(
            ArrayElemTypeDef::SquareBracket(element, None) | ArrayElemTypeDef::AngleBracket(element),
        ) => sql_bytes(element),
        _ => NUMBER_BYTES,
    }
}

/// Bytes of a value that its type alone says; a list of any length has none of its own.
pub(crate) fn fixed_bytes(kind: &DataType) -> u64 {
    match kind {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(0),
        DataType::FixedSizeList(element, length) => {
            let element = fixed_bytes(element.data_type()).max(1);
            u64::try_from(*length).unwrap_or(0).saturating_mul(element)
        }
        DataType::Struct(fields) => {
            fields.iter().fold(0, |sum: u64, field| sum.saturating_add(fixed_bytes(field.data_type())))
        }
        DataType::Union(fields, _) => {
            fields.iter().fold(0, |sum: u64, (_, field)| sum.saturating_add(fixed_bytes(field.data_type())))
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::Map(element, _) => fixed_bytes(element.data_type()),
        DataType::Dictionary(_, values) => fixed_bytes(values),
        DataType::RunEndEncoded(_, values) => fixed_bytes(values.data_type()),
        other => other.primitive_width().map_or(NUMBER_BYTES, |width| width as u64),
    }
}

fn check(bytes: u64, kind: &impl std::fmt::Display) -> Result<()> {
    if bytes <= VALUE_BYTES {
        return Ok(());
    }
    let text = format!(
        "each value of type {kind} would have {bytes} bytes, a NULL as well, more than the {VALUE_BYTES} that a type of a fixed size can \
         have; a list without a length has any number of elements"
    );
    Err(SqlError::Refused(text).into_plan())
}

/// The functions that take a type as a text.
const CASTS: [&str; 2] = ["arrow_cast", "arrow_try_cast"];

/// Puts a check before the functions that take a type as a text.
pub(super) fn check_casts(state: &mut SessionState) -> Result<()> {
    for name in CASTS {
        let Ok(inner) = state.udf(name) else { continue };
        if inner.inner().downcast_ref::<CheckedCast>().is_none() {
            state.register_udf(Arc::new(ScalarUDF::new_from_impl(CheckedCast { inner })))?;
        }
    }
    Ok(())
}

/// A cast to a type that a text names.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedCast {
    inner: Arc<ScalarUDF>,
}

/// Refuses a type by its text; what is none is refused by the function itself.
fn check_text(text: Option<&ScalarValue>) -> Result<()> {
    let text = text.and_then(|text| text.try_as_str()).flatten();
    match text.and_then(|text| text.parse::<DataType>().ok()) {
        Some(kind) => check(fixed_bytes(&kind), &kind),
        None => Ok(()),
    }
}

impl ScalarUDFImpl for CheckedCast {
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
        check_text(args.scalar_arguments.get(1).copied().flatten())?;
        self.inner.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if let Some(Expr::Literal(text, _)) = args.get(1) {
            check_text(Some(text))?;
        }
        self.inner.simplify(args, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_as_large_as_all_its_lengths_say() {
        let bytes = |text: &str| fixed_bytes(&text.parse::<DataType>().unwrap());
        assert_eq!(bytes("FixedSizeBinary(100)"), 100);
        assert_eq!(bytes("FixedSizeList(10, Int64)"), 80);
        assert_eq!(bytes("FixedSizeList(10, FixedSizeList(20, Float32))"), 800);
        assert_eq!(bytes("List(Int64)"), 8);
        assert!(check_text(Some(&"FixedSizeList(768, Float32)".into())).is_ok());
        assert!(check_text(Some(&"FixedSizeList(200, FixedSizeList(200, Int64))".into())).is_err());
        assert!(check_text(Some(&"Dictionary(Int32, FixedSizeBinary(2000000000))".into())).is_err());
        assert!(check_text(Some(&"nonsense".into())).is_ok());
        assert!(check_text(None).is_ok());
    }
}
