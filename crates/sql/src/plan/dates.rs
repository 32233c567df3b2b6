//! Refuses texts that are read as another date than they say.
//!
//! Arrow reads `2026-03-3x` as the third of March: what follows the digits that it looks for is not looked at. A wrong answer is worse than
//! none, so wherever a text becomes a date, by `CAST`, by `to_date` or since it is compared with one, [`WholeDates`] looks first: at a text
//! that stands in the statement while it is planned, at a column's by a function ([`WholeText`]) that hands whole dates on and refuses
//! others. `TRY_CAST` makes NULL of them. A number is no date either, also for `TRY_CAST`: it would be days since 1970. Times are looked at only while a statement is planned: Arrow reads all of them or nothing.
//!
//! The rule runs after types are coerced, so that it sees every cast that there will be. Threads: planning and fragments.

use super::expressions::changed_expressions;
use crate::error::SqlError;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::{Arc, LazyLock};

/// Lets whole dates only pass from texts to dates.
#[derive(Debug)]
pub(crate) struct WholeDates;

impl AnalyzerRule for WholeDates {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(of_plan)?.data)
    }

    fn name(&self) -> &str {
        "whole_dates"
    }
}

fn of_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    changed_expressions(plan, |expr| moment_of(expr).is_some(), looked_at)
}

/// What an expression makes a date or a time of, and of which type that is.
fn moment_of(expr: &Expr) -> Option<(&Expr, &DataType)> {
    let (from, to) = match expr {
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
            (expr.as_ref(), field.data_type())
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "to_date" => match &args[..] {
            [one] => (one, &DataType::Date32),
            _ => return None,
        },
        _ => return None,
    };
    matches!(to, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)).then_some((from, to))
}

fn looked_at(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Some((number, to)) = compared_number(&expr) {
        return Err(no_moment(number.to_string(), to));
    }
    let Some((from, to)) = moment_of(&expr) else { return Ok(Transformed::no(expr)) };
    if let Some(number) = number_for_date(from, to, schema) {
        if let Expr::Literal(number, _) = from {
            return Err(no_moment(number.to_string(), to));
        }
        return plan_err!(
            "{number} cannot be read as DATE; write dates like '2026-03-31', and count days by date + INTERVAL '1 day'"
        );
    }
    let tries = matches!(expr, Expr::TryCast(_));
    if let Expr::Literal(value, _) = from {
        return match value.try_as_str().flatten() {
            Some(text) if !tries && !is_moment(text, value, to) => Err(wrong(text, to)),
            Some(text) if tries && !is_whole(text) => {
                let none = ScalarValue::try_from(to)?;
                Ok(Transformed::yes(Expr::Literal(none, None)))
            }
            _ => Ok(Transformed::no(expr)),
        };
    }
    // What has no type here, such as a column of a query around this one, is seen where it has one, or by nobody.
    let is_text = from.get_type(schema).is_ok_and(|from| is_text(&from));
    if !is_text || matches!(to, DataType::Timestamp(..)) || is_looked_at(from) {
        return Ok(Transformed::no(expr));
    }
    let whole = |from: Expr| whole_text(tries).call(vec![from]);
    Ok(Transformed::yes(match expr {
        Expr::Cast(cast) => Expr::Cast(Cast::new_from_field(Box::new(whole(*cast.expr)), cast.field)),
        Expr::TryCast(cast) => {
            Expr::TryCast(TryCast::new_from_field(Box::new(whole(*cast.expr)), cast.field))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let args = args.into_iter().map(whole).collect();
            Expr::ScalarFunction(ScalarFunction { func, args })
        }
        other => other,
    }))
}

/// The number that is compared with a date: as days since 1970, which nobody means by `day = 20260331`.
fn compared_number(expr: &Expr) -> Option<(&ScalarValue, &DataType)> {
    let sides: Vec<&Expr> = match expr {
        Expr::BinaryExpr(compared) if compares(compared.op) => {
            vec![&compared.left, &compared.right]
        }
        Expr::Between(between) => vec![&between.low, &between.high, &between.expr],
        Expr::InList(list) => list.list.iter().collect(),
        _ => return None,
    };
    sides.into_iter().find_map(|side| match side {
        Expr::Cast(Cast { expr, field }) => match (expr.as_ref(), field.data_type()) {
            (Expr::Literal(number, _), to @ (DataType::Date32 | DataType::Date64))
                if number.data_type().is_integer() && !number.is_null() =>
            {
                Some((number, to))
            }
            _ => None,
        },
        _ => None,
    })
}

/// The type of a number that is to become a date: days since 1970, which nobody means.
fn number_for_date(from: &Expr, to: &DataType, schema: &DFSchema) -> Option<DataType> {
    let is_date = matches!(to, DataType::Date32 | DataType::Date64);
    let is_null = matches!(from, Expr::Literal(value, _) if value.is_null());
    let number = from.get_type(schema).ok().filter(DataType::is_numeric)?;
    (is_date && !is_null).then_some(number)
}

fn compares(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn is_looked_at(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if func.name() == WholeText::NAME)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// True when all of a text is a date or time of this type.
fn is_moment(text: &str, value: &ScalarValue, to: &DataType) -> bool {
    is_whole(text) && value.cast_to(to).is_ok_and(|moment| !moment.is_null())
}

/// True when Arrow reads all of a text as a date, or nothing: it skips what follows the day in texts that are no longer than dates are.
fn is_whole(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_signed = matches!(bytes.first(), Some(b'+' | b'-'));
    let is_plain = bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
        && bytes.last().is_some_and(u8::is_ascii_digit);
    bytes.len() > "2026-03-31".len() || is_signed || is_plain
}

fn wrong(text: &str, to: &DataType) -> DataFusionError {
    let quoted = format!("'{text}'");
    if let DataType::Timestamp(TimeUnit::Nanosecond, zone) = to {
        let far = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
        if is_moment(text, &ScalarValue::from(text), &far) {
            let what = "timestamp of the years 1677 to 2262, as those with nanoseconds are; CAST(... AS TIMESTAMP(6)) reaches all";
            return SqlError::NoMoment { text: quoted, what, form: "2026-03-31 09:30:00" }.into_plan();
        }
    }
    no_moment(quoted, to)
}

fn no_moment(text: String, to: &DataType) -> DataFusionError {
    let (what, form) = match to {
        DataType::Date32 | DataType::Date64 => ("date", "2026-03-31"),
        _ => ("timestamp", "2026-03-31 09:30:00"),
    };
    SqlError::NoMoment { text, what, form }.into_plan()
}

/// The function that looks at texts: it fails, or with `tries` gives NULL, where one is not whole.
fn whole_text(tries: bool) -> Arc<ScalarUDF> {
    static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
        [false, true].map(|tries| {
            let signature = Signature::any(1, Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(WholeText { tries, signature }))
        })
    });
    Arc::clone(&FUNCTIONS[usize::from(tries)])
}

/// Hands on texts that are whole dates, or no dates at all, which a cast tells of.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeText {
    tries: bool,
    signature: Signature,
}

impl WholeText {
    const NAME: &str = "__whole_date";

    fn texts<'a>(&self, texts: impl Iterator<Item = Option<&'a str>>, all: &ArrayRef) -> Result<ArrayRef> {
        if !self.tries {
            let mut texts = texts.flatten();
            return texts
                .find(|text| !is_whole(text))
                .map_or_else(|| Ok(Arc::clone(all)), |text| Err(wrong(text, &DataType::Date32)));
        }
        let wrong: BooleanArray = texts.map(|text| Some(text.is_some_and(|text| !is_whole(text)))).collect();
        Ok(if wrong.has_true() { nullif(all, &wrong)? } else { Arc::clone(all) })
    }
}

impl ScalarUDFImpl for WholeText {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] => Ok(of.clone()),
            _ => internal_err!("{} takes one text", Self::NAME),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [text] = args.arg_fields else { return internal_err!("{} takes one text", Self::NAME) };
        let is_nullable = self.tries || text.is_nullable();
        Ok(Arc::new(Field::new(Self::NAME, text.data_type().clone(), is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(value) = args.args.into_iter().next() else {
            return internal_err!("{} takes one text", Self::NAME);
        };
        let (is_scalar, all) = match &value {
            ColumnarValue::Scalar(scalar) => (true, scalar.to_array()?),
            ColumnarValue::Array(all) => (false, Arc::clone(all)),
        };
        let whole = match all.data_type() {
            DataType::Utf8 => self.texts(all.as_string::<i32>().iter(), &all)?,
            DataType::LargeUtf8 => self.texts(all.as_string::<i64>().iter(), &all)?,
            DataType::Utf8View => self.texts(all.as_string_view().iter(), &all)?,
            DataType::Dictionary(..) => {
                let plain = cast(&all, &DataType::Utf8)?;
                self.texts(plain.as_string::<i32>().iter(), &all)?
            }
            _ => return Ok(value),
        };
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&whole, 0)?),
            false => ColumnarValue::Array(whole),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrow_skips_is_not_whole() {
        for whole in ["2026-03-31", "2026-3-1", "20260331", "+10999-12-31", "2026-03-30x", "2026-02-31"] {
            assert!(is_whole(whole), "{whole}");
        }
        for part in ["2026-03-3x", "2026-3-31x", "2026-3-3xy", "2026-03-3-", "2026-03-3 ", ""] {
            assert!(!is_whole(part), "{part}");
        }
    }
}
