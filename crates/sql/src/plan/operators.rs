//! Puts functions in the place of operators that DataFusion 55 answers wrongly.
//!
//! - `+`, `-` and `*` of whole numbers wrap around where the result does not fit; [`checked`] ends with an error.
//! - `(a XOR b) XOR a` becomes `b` in the optimizer, also where `a` is NULL; it knows nothing of [`xor`].
//! - `x ~ '.*'` becomes `x IS NOT NULL`, which is false and not NULL for a NULL; `(.*)` means the same and is left alone.
//!
//! The rule runs after types are coerced, so that both sides have one type. Threads: planning.

use super::expressions::changed_expressions;
use crate::functions::{checked, xor};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

/// Takes operators out of a plan whose answers would be wrong.
#[derive(Debug)]
pub(crate) struct RightOperators;

impl AnalyzerRule for RightOperators {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let right = |plan| changed_expressions(plan, is_concerned, replaced);
        Ok(plan.transform_up_with_subqueries(right)?.data)
    }

    fn name(&self) -> &str {
        "right_operators"
    }
}

fn is_concerned(expr: &Expr) -> bool {
    let Expr::BinaryExpr(binary) = expr else { return false };
    matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::BitwiseXor)
        || is_any_text(binary)
}

fn is_any_text(binary: &BinaryExpr) -> bool {
    let is_regex = matches!(
        binary.op,
        Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch
    );
    let mut pattern = binary.right.as_ref();
    while let Expr::Cast(cast) = pattern {
        pattern = cast.expr.as_ref();
    }
    is_regex && matches!(pattern, Expr::Literal(pattern, _) if pattern.try_as_str() == Some(Some(".*")))
}

fn replaced(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(mut binary) = expr else { return Ok(Transformed::no(expr)) };
    if is_any_text(&binary) {
        let kind = binary.right.get_type(schema)?;
        let pattern = ScalarValue::from("(.*)").cast_to(&kind)?;
        *binary.right = Expr::Literal(pattern, None);
        return Ok(Transformed::yes(Expr::BinaryExpr(binary)));
    }
    let function = match binary.op {
        Operator::BitwiseXor => Some(xor()),
        op => checked(op),
    };
    // What has no type here, such as a column of a query around this one, is looked at by nobody.
    let kind = |expr: &Expr| expr.get_type(schema).ok().filter(|kind| kind.is_integer());
    match (function, kind(&binary.left), kind(&binary.right)) {
        (Some(function), Some(left), Some(right)) if left == right => {
            Ok(Transformed::yes(function.call(vec![*binary.left, *binary.right])))
        }
        _ => Ok(Transformed::no(Expr::BinaryExpr(binary))),
    }
}
