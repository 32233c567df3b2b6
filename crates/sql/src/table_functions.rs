//! `TABLE(f(...))`, as Hazelcast's clients write it, becomes `f(...)`, as the planner knows it: the one column of such a table is `v`.

use crate::walk::change_statement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Ident, ObjectName, Statement, TableAlias, TableAliasColumnDef, TableFactor,
    TableFunctionArgs, VisitorMut,
};
use std::ops::ControlFlow;

/// The column of series and streams.
pub(crate) const COLUMN: &str = "v";

/// Changes a statement so that the planner understands the table functions in it.
pub(crate) fn plain_table_functions(statement: &mut Statement) {
    let _ = change_statement(statement, &mut Plain);
}

struct Plain;

impl VisitorMut for Plain {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::TableFunction { expr: Expr::Function(function), alias } = factor
            && let FunctionArguments::List(arguments) = &mut function.args
            && let [part] = function.name.0.as_slice()
            && let Some(name) = part.as_ident().map(|name| name.value.to_lowercase())
        {
            let mut alias = alias.take().unwrap_or_else(|| TableAlias {
                explicit: true,
                name: Ident::new(&name),
                columns: Vec::new(),
                at: None,
            });
            if alias.columns.is_empty() {
                alias.columns = vec![TableAliasColumnDef::from_name(COLUMN)];
            }
            *factor = TableFactor::Table {
                name: ObjectName::from(vec![Ident::new(name)]),
                alias: Some(alias),
                args: Some(TableFunctionArgs { args: std::mem::take(&mut arguments.args), settings: None }),
                with_hints: Vec::new(),
                version: None,
                with_ordinality: false,
                partitions: Vec::new(),
                json_path: None,
                sample: None,
                index_hints: Vec::new(),
            };
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn plain(text: &str) -> String {
        let mut statement = Parser::parse_sql(&GenericDialect {}, text).unwrap().remove(0);
        plain_table_functions(&mut statement);
        statement.to_string()
    }

    #[test]
    fn a_table_of_a_function_is_the_function() {
        let text = plain("SELECT * FROM TABLE(Generate_Series(1, 3)) JOIN TABLE(f(2)) AS g(x) ON true");
        assert_eq!(
            text,
            "SELECT * FROM generate_series(1, 3) AS generate_series (v) JOIN f(2) AS g (x) ON true"
        );
        let inner = plain("SELECT (SELECT max(v) FROM TABLE(f(1)) AS a)");
        assert_eq!(inner, "SELECT (SELECT max(v) FROM f(1) AS a (v))");
        for same in ["SELECT * FROM f(1)", "SELECT * FROM t AS a"] {
            assert_eq!(plain(same), same);
        }
    }
}
