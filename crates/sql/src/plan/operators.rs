//! Puts functions in the place of operators that DataFusion 55 answers wrongly, or that make more than they were given without being charged.
//!
//! - `+`, `-` and `*` of whole numbers wrap around where the result does not fit; [`checked`] ends with an error. So does `-a`, as `0 - a`.
//! - `(a XOR b) XOR a` becomes `b` in the optimizer, also where `a` is NULL; it knows nothing of [`xor`].
//! - `x ~ '.*'` becomes `x IS NOT NULL`, which is false and not NULL for a NULL; `(.*)` means the same and is left alone.
//! - `x ~ pattern` compiles the pattern of each row and keeps them all; `regexp_like` does too, but is [bounded](crate::bounded). A pattern that
//!   is written out stays with the operator, which compiles it once.
//! - `a || b` of texts can be twice as large as a batch; [`join_texts`] is bounded.
//!
//! The rule runs after types are coerced, so that both sides have one type. Threads: planning.

use super::expressions::changed_expressions;
use crate::functions::{checked, join_texts, joined_type, xor};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::functions::regex::regexp_like;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, cast, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

/// Takes operators out of a plan whose answers would be wrong, or too large.
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
    match expr {
        Expr::Negative(_) => true,
        Expr::BinaryExpr(binary) => {
            matches!(
                binary.op,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Multiply
                    | Operator::BitwiseXor
                    | Operator::StringConcat
            ) || pattern_match(binary.op).is_some()
        }
        _ => false,
    }
}

/// How an operator matches a pattern; nothing for other operators.
fn pattern_match(op: Operator) -> Option<PatternMatch> {
    let (is_negated, ignores_case) = match op {
        Operator::RegexMatch => (false, false),
        Operator::RegexIMatch => (false, true),
        Operator::RegexNotMatch => (true, false),
        Operator::RegexNotIMatch => (true, true),
        _ => return None,
    };
    Some(PatternMatch { is_negated, ignores_case })
}

struct PatternMatch {
    is_negated: bool,
    ignores_case: bool,
}

/// The pattern of an operator, where it is written out.
fn written_pattern(binary: &BinaryExpr) -> Option<&ScalarValue> {
    let mut pattern = binary.right.as_ref();
    while let Expr::Cast(cast) = pattern {
        pattern = cast.expr.as_ref();
    }
    match pattern {
        Expr::Literal(pattern, _) => Some(pattern),
        _ => None,
    }
}

fn replaced(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    // What has no type here, such as a column of a query around this one, is looked at by nobody.
    let kind = |expr: &Expr| expr.get_type(schema).ok();
    let mut binary = match expr {
        Expr::BinaryExpr(binary) => binary,
        Expr::Negative(number) => {
            let zero =
                kind(&number).filter(DataType::is_signed_integer).map(|kind| ScalarValue::new_zero(&kind));
            return match (zero.transpose()?, checked(Operator::Minus)) {
                (Some(zero), Some(minus)) => Ok(Transformed::yes(minus.call(vec![lit(zero), *number]))),
                _ => Ok(Transformed::no(Expr::Negative(number))),
            };
        }
        expr => return Ok(Transformed::no(expr)),
    };
    if let Some(how) = pattern_match(binary.op) {
        return match written_pattern(&binary) {
            Some(pattern) if pattern.try_as_str() == Some(Some(".*")) => {
                let kind = binary.right.get_type(schema)?;
                *binary.right = Expr::Literal(ScalarValue::from("(.*)").cast_to(&kind)?, None);
                Ok(Transformed::yes(Expr::BinaryExpr(binary)))
            }
            Some(_) => Ok(Transformed::no(Expr::BinaryExpr(binary))),
            None => {
                let sides = [*binary.left, *binary.right].map(|side| cast(side, DataType::Utf8));
                Ok(Transformed::yes(matched(sides, &how)))
            }
        };
    }
    let (left, right) = match (kind(&binary.left), kind(&binary.right)) {
        (Some(left), Some(right)) => (left, right),
        _ => return Ok(Transformed::no(Expr::BinaryExpr(binary))),
    };
    let are_numbers = left == right && left.is_integer();
    let function = match binary.op {
        Operator::StringConcat => joined_type(&left, &right).map(|_| join_texts()),
        Operator::BitwiseXor => are_numbers.then(xor),
        op => checked(op).filter(|_| are_numbers),
    };
    match function {
        Some(function) => Ok(Transformed::yes(function.call(vec![*binary.left, *binary.right]))),
        None => Ok(Transformed::no(Expr::BinaryExpr(binary))),
    }
}

fn matched(sides: [Expr; 2], how: &PatternMatch) -> Expr {
    let mut args = Vec::from(sides);
    args.extend(how.ignores_case.then(|| lit("i")));
    let found = regexp_like().call(args);
    if how.is_negated { Expr::Not(Box::new(found)) } else { found }
}
