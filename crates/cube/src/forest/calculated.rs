//! Columns that the table does not have, computed from those that it has.

use super::measure::ExpressionText;
use crate::expression::Expression;
use serde::{Deserialize, Serialize};

/// A column computed row by row, as good as one of the table: to group by, to filter by, to aggregate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalculatedColumn {
    /// Its name.
    pub name: String,
    /// How it is computed.
    #[serde(flatten)]
    pub formula: ColumnFormula,
}

/// How a calculated column is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ColumnFormula {
    /// A formula over columns of the table and calculated columns that stand before this one.
    Expression(ExpressionText),
    /// A function that was registered under this name, with its columns.
    Function {
        /// The registered name.
        name: String,
        /// The columns that it is given, in order.
        inputs: Vec<String>,
    },
}

impl CalculatedColumn {
    /// The columns that it is computed from.
    pub fn inputs(&self) -> Vec<String> {
        match &self.formula {
            ColumnFormula::Expression(ExpressionText(expression)) => expression.names(),
            ColumnFormula::Function { inputs, .. } => inputs.clone(),
        }
    }

    pub(super) fn expression(name: &str, expression: Expression) -> Self {
        Self { name: name.to_owned(), formula: ColumnFormula::Expression(ExpressionText(expression)) }
    }
}
