//! Writes lists of expressions as the comparisons that they are.
//!
//! DataFusion 55 intersects two lists by what they say: `a IN (b, c) AND a IN (3)` is false to it, since 3 is neither `b` nor `c`, whatever these are
//! in a row. So only what is the same in all rows stays in a list; `a IN (1, 2, b)` becomes `a IN (1, 2) OR a = b`, which is what it means.

use crate::walk::change_statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Statement, UnaryOperator, Value, VisitorMut};
use std::ops::ControlFlow;

/// Changes a statement so that its lists hold constants only.
pub(super) fn plain_lists(statement: &mut Statement) {
    let _ = change_statement(statement, &mut Plain);
}

struct Plain;

impl VisitorMut for Plain {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::InList { expr: left, list, negated } = expr else { return ControlFlow::Continue(()) };
        if list.iter().all(is_constant) {
            return ControlFlow::Continue(());
        }
        let (constants, others): (Vec<_>, Vec<_>) = std::mem::take(list).into_iter().partition(is_constant);
        let mut parts: Vec<Expr> = others.into_iter().map(|other| equal(left, other)).collect();
        if !constants.is_empty() {
            parts.push(Expr::InList { expr: left.clone(), list: constants, negated: false });
        }
        let any = Expr::Nested(Box::new(any_of(parts)));
        let found = match negated {
            false => any,
            true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(any) },
        };
        *expr = Expr::Nested(Box::new(found));
        ControlFlow::Continue(())
    }
}

/// True for what is written out: it can be compared by its words.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
            matches!(expr.as_ref(), Expr::Value(_))
        }
        _ => false,
    }
}

fn equal(left: &Expr, right: Expr) -> Expr {
    let nested = |expr: Expr| Box::new(Expr::Nested(Box::new(expr)));
    Expr::BinaryOp { left: nested(left.clone()), op: BinaryOperator::Eq, right: nested(right) }
}

/// Halves, so that a long list does not become a deep expression.
fn any_of(mut parts: Vec<Expr>) -> Expr {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_else(|| Expr::value(Value::Boolean(false)));
    }
    let second = parts.split_off(parts.len() / 2);
    Expr::BinaryOp { left: Box::new(any_of(parts)), op: BinaryOperator::Or, right: Box::new(any_of(second)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn plain(condition: &str) -> String {
        let text = format!("SELECT * FROM t WHERE {condition}");
        let mut statement = Parser::parse_sql(&GenericDialect {}, &text).unwrap().remove(0);
        plain_lists(&mut statement);
        statement.to_string().split_once("WHERE ").unwrap().1.to_owned()
    }

    #[test]
    fn constants_stay_in_lists_and_others_are_compared() {
        assert_eq!(plain("a IN (1, -2, 'x', NULL)"), "a IN (1, -2, 'x', NULL)");
        assert_eq!(plain("a NOT IN (1, $1)"), "a NOT IN (1, $1)");
        assert_eq!(plain("a IN (b)"), "(((a) = (b)))");
        assert_eq!(plain("a IN (1, b, 2)"), "(((a) = (b) OR a IN (1, 2)))");
        assert_eq!(plain("a NOT IN (b, c + 1)"), "(NOT ((a) = (b) OR (a) = (c + 1)))");
        assert_eq!(plain("a IN (b IN (c), 1)"), "(((a) = ((((b) = (c)))) OR a IN (1)))");
    }
}
