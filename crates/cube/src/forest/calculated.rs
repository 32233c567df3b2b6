//! Columns that the table does not have, computed from those that it has.

use super::measure::ExpressionText;
use crate::expression::Expression;
use serde::{Deserialize, Serialize};

/// A column computed row by row, as good as one of the table: to group by, to filter by, to aggregate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenColumn")]
pub struct CalculatedColumn {
    /// Its name.
    pub name: String,
    /// How it is computed.
    #[serde(flatten)]
    pub formula: ColumnFormula,
}

/// A column with all keys that somebody may write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenColumn {
    name: String,
    expression: Option<ExpressionText>,
    function: Option<WrittenFunction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFunction {
    name: String,
    inputs: Vec<String>,
}

impl TryFrom<WrittenColumn> for CalculatedColumn {
    type Error = String;

    fn try_from(WrittenColumn { name, expression, function }: WrittenColumn) -> Result<Self, String> {
        let formula = match (expression, function) {
            (Some(expression), None) => ColumnFormula::Expression(expression),
            (None, Some(WrittenFunction { name, inputs })) => ColumnFormula::Function { name, inputs },
            (Some(_), Some(_)) => {
                return Err(format!(
                    "column {name:?} has both `expression` and `function`; leave one of them out"
                ));
            }
            (None, None) => return Err(format!("column {name:?} needs an `expression` or a `function`")),
        };
        Ok(Self { name, formula })
    }
}

/// How a calculated column is computed.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
