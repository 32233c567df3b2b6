//! Refuses clauses that the parser reads and nothing carries out.
//!
//! The parser knows the clauses of a dozen databases, and the planner leaves many of them out without a word: a `PREWHERE` that filters nothing,
//! a `FOR UPDATE` that locks nothing. So every clause of a query is either carried out or refused by its name. The nodes of the tree are taken
//! apart field by field, without `..`: a field that the next version of the parser adds does not compile until somebody decides about it.
//! Statements that the planner takes apart in the same way are left to it.

use crate::error::SqlError;
use crate::walk::read_statement;
use datafusion::sql::parser::CreateExternalTable;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, CharacterLength, ColumnDef, ColumnOption, ColumnOptionDef, CreateTable,
    CreateView, Cte, DataType, Delete, Expr, Fetch, FromTable, Function, GroupByExpr, GroupByWithModifier,
    Join, JoinConstraint, JoinOperator, LimitClause, NullsDistinctOption, OptimizerHint, OrderBy,
    OrderByExpr, OrderByKind, PrimaryKeyConstraint, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableAlias, TableConstraint, TableFactor, TableFunctionArgs, TableWithJoins, UniqueConstraint,
    Update, Visitor, WildcardAdditionalOptions, WindowType, With,
};
use std::ops::ControlFlow;

/// What is refused, and what to write in its place.
type Found = Option<(String, &'static str)>;

/// Refuses a statement with a clause that would have no effect.
pub(super) fn check_clauses(statement: &Statement) -> Result<(), SqlError> {
    let mut search = Search::default();
    let _ = read_statement(statement, &mut search);
    search.found.map_or(Ok(()), |found| Err(refused(found)))
}

/// Refuses a table of files with columns that promise more than is kept.
pub(super) fn check_external_table(table: &CreateExternalTable) -> Result<(), SqlError> {
    let CreateExternalTable {
        name: _,
        columns,
        file_type: _,
        locations: _,
        table_partition_cols: _,
        order_exprs: _,
        if_not_exists: _,
        or_replace: _,
        temporary,
        unbounded: _, // Refused where the table is made.
        options: _,
        constraints,
    } = table;
    let found = temporary
        .then(|| ("TEMPORARY".to_owned(), "every table of files is gone with the member"))
        .or_else(|| columns.iter().find_map(|one| column(one).or_else(|| key(one)).or_else(|| default(one))))
        .or_else(|| constraints.iter().find_map(constraint))
        .or_else(|| when(!constraints.is_empty(), "PRIMARY KEY and UNIQUE", FILES));
    found.map_or(Ok(()), |found| Err(refused(found)))
}

fn refused((clause, instead): (String, &'static str)) -> SqlError {
    SqlError::NoClause { clause, instead }
}

#[derive(Default)]
struct Search {
    found: Found,
    /// Of an `EXISTS`, which asks for rows and no columns.
    may_be_bare: Vec<*const Select>,
}

impl Search {
    fn keep(&mut self, found: Found) -> ControlFlow<()> {
        self.found = found;
        if self.found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Search {
    type Break = ();

    fn pre_visit_query(&mut self, node: &Query) -> ControlFlow<()> {
        self.keep(query(node))
    }

    fn pre_visit_select(&mut self, node: &Select) -> ControlFlow<()> {
        let is_bare = node.projection.is_empty() && node.flavor != SelectFlavor::FromFirstNoSelect;
        if is_bare && !self.may_be_bare.contains(&std::ptr::from_ref(node)) {
            return self.keep(no("SELECT without columns", "SELECT * takes all"));
        }
        self.keep(select(node))
    }

    fn pre_visit_table_factor(&mut self, node: &TableFactor) -> ControlFlow<()> {
        self.keep(factor(node))
    }

    fn pre_visit_expr(&mut self, node: &Expr) -> ControlFlow<()> {
        if let Expr::Exists { subquery, negated: _ } = node
            && let SetExpr::Select(asked) = subquery.body.as_ref()
        {
            self.may_be_bare.push(std::ptr::from_ref(asked.as_ref()));
        }
        self.keep(expression(node))
    }

    fn pre_visit_statement(&mut self, node: &Statement) -> ControlFlow<()> {
        self.keep(match node {
            Statement::Delete(delete) => of_delete(delete),
            Statement::Update(update) => of_update(update),
            Statement::CreateTable(table) => of_table(table),
            Statement::CreateView(view) => of_view(view),
            Statement::Drop {
                object_type: _,
                if_exists: _,
                names: _,    // Those of several are dropped elsewhere.
                cascade: _,  // A view stays, and says when it is read what it misses.
                restrict: _, // It is what is done.
                purge,
                temporary,
                table,
            } => when(*purge, "PURGE", "leave it away")
                .or_else(|| when(*temporary, "TEMPORARY", "leave it away"))
                .or_else(|| when(table.is_some(), "ON", "DROP takes the name alone")),
            _ => None,
        })
    }
}

fn no(clause: impl Into<String>, instead: &'static str) -> Found {
    Some((clause.into(), instead))
}

fn when(is_there: bool, clause: &str, instead: &'static str) -> Found {
    is_there.then(|| (clause.to_owned(), instead))
}

/// The words of a clause at its begin: the rest may be long.
fn words(clause: &impl std::fmt::Display, count: usize) -> String {
    clause.to_string().split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

fn query(node: &Query) -> Found {
    let Query {
        with,
        body: _,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators: _, // The planner refuses those that it does not know.
    } = node;
    let mut ctes = with.iter().flat_map(|With { with_token: _, recursive: _, cte_tables }| cte_tables);
    let of_cte = |cte: &Cte| {
        let Cte { alias: name, query: _, from, materialized: _, closing_paren_token: _ } = cte;
        alias(name).or_else(|| when(from.is_some(), "FROM", "a WITH has none behind its query"))
    };
    let limit = match limit_clause {
        Some(LimitClause::LimitOffset { limit: _, offset: _, limit_by }) => when(
            !limit_by.is_empty(),
            "BY",
            "row_number() OVER (PARTITION BY ...) limits the rows of a group",
        ),
        Some(LimitClause::OffsetCommaLimit { offset: _, limit: _ }) | None => None,
    };
    let fetch = fetch.as_ref().and_then(|Fetch { with_ties, percent, quantity: _ }| {
        when(*with_ties, "WITH TIES", "rank() OVER (ORDER BY ...) counts equal rows")
            .or_else(|| when(*percent, "PERCENT", "FETCH FIRST n ROWS ONLY takes a number of rows"))
    });
    ctes.find_map(of_cte)
        .or_else(|| order_by.as_ref().and_then(order))
        .or(limit)
        .or(fetch)
        .or_else(|| {
            let lock = locks.first()?;
            no(words(lock, 2), "there are no transactions, and so no locks that a query could take")
        })
        .or_else(|| no(words(for_clause.as_ref()?, 2), "filbert sql --format json writes rows as JSON"))
        .or_else(|| when(settings.is_some(), "SETTINGS", "SET name = value sets them for a session"))
        .or_else(|| when(format_clause.is_some(), "FORMAT", "the client chooses how rows are written"))
}

fn order(node: &OrderBy) -> Found {
    let OrderBy { kind, interpolate } = node;
    let exprs = match kind {
        OrderByKind::All(_) => None,
        OrderByKind::Expressions(exprs) => ordered(exprs),
    };
    exprs.or_else(|| when(interpolate.is_some(), "INTERPOLATE", "leave it away"))
}

fn ordered(exprs: &[OrderByExpr]) -> Found {
    exprs.iter().find_map(|OrderByExpr { expr: _, options: _, with_fill }| {
        when(with_fill.is_some(), "WITH FILL", "a join with generate_series(...) fills gaps")
    })
}

fn select(node: &Select) -> Found {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by: _,
        sort_by,
        having: _,
        named_window: _,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        flavor: _,
    } = node;
    let modifiers = match group_by {
        GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    let modifier = modifiers.first().and_then(|modifier| match modifier {
        GroupByWithModifier::Rollup => no("WITH ROLLUP", "write GROUP BY ROLLUP (...)"),
        GroupByWithModifier::Cube => no("WITH CUBE", "write GROUP BY CUBE (...)"),
        GroupByWithModifier::Totals => no("WITH TOTALS", "write GROUP BY GROUPING SETS ((...), ())"),
        // The planner reads it as an expression of the list or refuses it.
        GroupByWithModifier::GroupingSets(_) => no("GROUPING SETS", "put a comma before it"),
    });
    let set = select_modifiers.as_ref().filter(|modifiers| modifiers.is_any_set());
    (set.and_then(|set| no(words(set, 1), "leave it away")))
        .or_else(|| hinted(optimizer_hints))
        .or_else(|| when(top.is_some(), "TOP", "LIMIT n ends the statement"))
        .or_else(|| projection.iter().find_map(item))
        .or_else(|| when(exclude.is_some(), "EXCLUDE", "it stands directly behind the *"))
        .or_else(|| when(into.is_some(), "INTO", "CREATE TABLE name AS SELECT ... makes a table"))
        .or_else(|| from.iter().find_map(joined))
        .or_else(|| when(!lateral_views.is_empty(), "LATERAL VIEW", "unnest(...) makes rows of a list"))
        .or_else(|| when(prewhere.is_some(), "PREWHERE", "WHERE filters"))
        .or_else(|| {
            let first = connect_by.first()?;
            no(words(first, 2), "WITH RECURSIVE follows rows to rows")
        })
        .or(modifier)
        .or_else(|| when(!cluster_by.is_empty(), "CLUSTER BY", "ORDER BY sorts"))
        .or_else(|| when(!sort_by.is_empty(), "SORT BY", "ORDER BY sorts"))
        .or_else(|| when(value_table_mode.is_some(), "SELECT AS", "struct(...) makes a struct of columns"))
}

fn item(node: &SelectItem) -> Found {
    match node {
        SelectItem::ExprWithAliases { expr: _, aliases: _ } => {
            no("AS with a list of names", "each column has one name")
        }
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => None,
        SelectItem::QualifiedWildcard(_, options) | SelectItem::Wildcard(options) => wildcard(options),
    }
}

fn wildcard(options: &WildcardAdditionalOptions) -> Found {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude: _,
        opt_except: _,
        opt_replace: _,
        opt_rename: _, // Refused by the planner.
        opt_alias,
    } = options;
    when(opt_ilike.is_some(), "ILIKE behind *", "name the columns")
        .or_else(|| when(opt_alias.is_some(), "AS behind *", "each column has a name of its own"))
}

fn joined(node: &TableWithJoins) -> Found {
    let TableWithJoins { relation: _, joins } = node;
    joins.iter().find_map(|Join { relation: _, global, join_operator }| {
        when(*global, "GLOBAL", "leave it away").or_else(|| match join_operator {
            JoinOperator::Join(_)
            | JoinOperator::Inner(_)
            | JoinOperator::Left(_)
            | JoinOperator::LeftOuter(_)
            | JoinOperator::Right(_)
            | JoinOperator::RightOuter(_)
            | JoinOperator::FullOuter(_)
            | JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::RightSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_)
            | JoinOperator::RightAnti(_)
            | JoinOperator::CrossApply
            | JoinOperator::OuterApply
            | JoinOperator::CrossJoin(JoinConstraint::None) => None,
            JoinOperator::CrossJoin(
                JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural,
            ) => no("CROSS JOIN with a condition", "JOIN ... ON takes one"),
            JoinOperator::AsOf { match_condition: _, constraint: _ } => {
                no("ASOF JOIN", "a join with row_number() OVER (...) = 1 finds the nearest row")
            }
            JoinOperator::StraightJoin(_) => no("STRAIGHT_JOIN", "write JOIN"),
            JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                no("ARRAY JOIN", "unnest(...) makes rows of a list")
            }
        })
    })
}

fn factor(node: &TableFactor) -> Found {
    let named = |name: &Option<TableAlias>| name.as_ref().and_then(alias);
    match node {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample: _, // Planned by `SampleTables`.
            index_hints,
        } => {
            let settings =
                args.as_ref().is_some_and(|TableFunctionArgs { args: _, settings }| settings.is_some());
            named(alias)
                .or_else(|| when(settings, "SETTINGS", "SET name = value sets them for a session"))
                .or_else(|| when(!with_hints.is_empty(), "WITH", "hints of tables have no effect"))
                .or_else(|| no(words(version.as_ref()?, 2), "tables have no older versions"))
                .or_else(|| {
                    let of_table = *with_ordinality && args.is_none();
                    when(of_table, "WITH ORDINALITY", NUMBERS) // Of functions it is planned by `NumberFunctions`.
                })
                .or_else(|| when(!partitions.is_empty(), "PARTITION", "WHERE chooses rows"))
                .or_else(|| {
                    when(json_path.is_some(), "a path behind the name of a table", "-> and ->> read JSON")
                })
                .or_else(|| no(words(index_hints.first()?, 2), "the planner chooses indexes"))
        }
        TableFactor::Derived { lateral: _, subquery: _, alias, sample: _ }
        | TableFactor::TableFunction { expr: _, alias }
        | TableFactor::NestedJoin { table_with_joins: _, alias } => named(alias).or_else(|| match node {
            TableFactor::NestedJoin { table_with_joins, .. } => joined(table_with_joins),
            _ => None,
        }),
        TableFactor::Function { lateral: _, name: _, args: _, with_ordinality: _, alias } => named(alias),
        TableFactor::UNNEST { alias, array_exprs: _, with_offset, with_offset_alias, with_ordinality: _ } => {
            let has_offset = *with_offset || with_offset_alias.is_some();
            named(alias).or_else(|| when(has_offset, "WITH OFFSET", "write WITH ORDINALITY"))
        }
        TableFactor::JsonTable { .. } => no("JSON_TABLE", "json_value(...) and ->> read JSON"),
        TableFactor::OpenJsonTable { .. } => no("OPENJSON", "json_value(...) and ->> read JSON"),
        TableFactor::Pivot { .. } => no("PIVOT", "sum(x) FILTER (WHERE ...) makes a column of a value"),
        TableFactor::Unpivot { .. } => no("UNPIVOT", "UNION ALL makes rows of columns"),
        TableFactor::MatchRecognize { .. } => {
            no("MATCH_RECOGNIZE", "lag(...) OVER (...) looks at other rows")
        }
        TableFactor::XmlTable { .. } => no("XMLTABLE", "XML is not read"),
        TableFactor::SemanticView { .. } => no("SEMANTIC_VIEW", "CREATE VIEW makes a view"),
    }
}

const NUMBERS: &str = "row_number() OVER () numbers rows";

fn alias(node: &TableAlias) -> Found {
    let TableAlias { explicit, name, columns, at } = node;
    // Another database's word for deduplicated rows, which would become a name here.
    let is_final = !explicit && name.quote_style.is_none() && name.value.eq_ignore_ascii_case("final");
    let typed = columns.iter().any(|column| column.data_type.is_some());
    when(is_final, "FINAL", "AS \"final\" gives a table that name")
        .or_else(|| {
            when(typed, "a type in a list of column names", "CAST(...) in the select list says a type")
        })
        .or_else(|| when(at.is_some(), "AT", NUMBERS))
}

fn expression(node: &Expr) -> Found {
    match node {
        Expr::Cast { kind: _, expr: _, data_type: _, array, format } => {
            when(*array, "ARRAY", "CAST(... AS type[]) says a list")
                .or_else(|| when(format.is_some(), "FORMAT", "to_char and to_timestamp take a format"))
        }
        Expr::Function(Function {
            name: _,
            uses_odbc_syntax: _,
            parameters: _, // The planner refuses it.
            args: _,
            filter: _,
            null_treatment: _,
            over,
            within_group,
        }) => ordered(within_group).or_else(|| match over {
            Some(WindowType::WindowSpec(window)) => ordered(&window.order_by),
            Some(WindowType::NamedWindow(_)) | None => None,
        }),
        _ => None,
    }
}

/// A comment to this database is no hint: who wrote one expects something of it.
fn hinted(hints: &[OptimizerHint]) -> Found {
    let hint = hints.first()?;
    no(words(hint, 1), "hints have no effect; a comment begins with /* or -- alone")
}

fn of_delete(node: &Delete) -> Found {
    let Delete {
        delete_token: _,
        optimizer_hints,
        tables: _, // The planner refuses what is written in these and does nothing.
        from,
        using: _,
        selection: _,
        returning: _,
        output: _,
        order_by: _,
        limit: _, // Carried out.
    } = node;
    let from = match from {
        FromTable::WithFromKeyword(_) => None,
        FromTable::WithoutKeyword(_) => no("DELETE without FROM", "write DELETE FROM table WHERE ..."),
    };
    from.or_else(|| hinted(optimizer_hints))
}

fn of_update(node: &Update) -> Found {
    let Update {
        update_token: _,
        optimizer_hints,
        table: _,
        assignments,
        from: _, // The planner refuses it, and the four behind the condition.
        selection: _,
        returning: _,
        output: _,
        or: _,
        order_by,
        limit: _,
    } = node;
    let mut seen = Vec::with_capacity(assignments.len());
    for Assignment { target, value: _ } in assignments {
        let AssignmentTarget::ColumnName(name) = target else {
            return no("SET (a, b) = ...", "SET a = ..., b = ... sets several columns");
        };
        let name = name.to_string();
        if seen.contains(&name) {
            return no(format!("SET {name}, twice in one UPDATE,"), "a column has one new value");
        }
        seen.push(name);
    }
    when(!order_by.is_empty(), "ORDER BY", "an UPDATE changes all rows at once")
        .or_else(|| hinted(optimizer_hints))
}

fn of_table(node: &CreateTable) -> Found {
    node.columns.iter().find_map(column).or_else(|| node.constraints.iter().find_map(constraint))
}

fn of_view(node: &CreateView) -> Found {
    let CreateView {
        or_alter,
        or_replace: _,
        materialized: _, // The planner refuses it, and the seven that have no name here.
        secure,
        name: _,
        name_before_not_exists: _,
        columns: _,
        query: _,
        options: _,
        cluster_by: _,
        comment: _,
        with_no_schema_binding: _,
        if_not_exists: _,
        temporary,
        copy_grants: _,
        to: _,
        params,
    } = node;
    when(*or_alter, "OR ALTER", "write OR REPLACE")
        .or_else(|| when(*secure, "SECURE", "rights say who may read a view"))
        .or_else(|| when(*temporary, "TEMPORARY", "every view is gone with the member"))
        .or_else(|| when(params.is_some(), "ALGORITHM, DEFINER and SQL SECURITY", "leave them away"))
}

fn key(node: &ColumnDef) -> Found {
    let is_key =
        |one: &ColumnOptionDef| matches!(one.option, ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_));
    when(node.options.iter().any(is_key), "PRIMARY KEY and UNIQUE", FILES)
}

const FILES: &str = "rows of files are not checked against each other";

fn default(node: &ColumnDef) -> Found {
    let has_default = node.options.iter().any(|one| matches!(one.option, ColumnOption::Default(_)));
    when(has_default, "DEFAULT", "files have the values that are in them")
}

fn column(node: &ColumnDef) -> Found {
    let ColumnDef { name: _, data_type, options } = node;
    length(data_type).or_else(|| {
        options.iter().find_map(|ColumnOptionDef { name: _, option }| match option {
            ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Default(_) => None,
            ColumnOption::PrimaryKey(key) => primary_key(key),
            ColumnOption::Unique(key) => unique(key),
            ColumnOption::ForeignKey(_) => no("REFERENCES", RULES),
            ColumnOption::Check(_) => no("CHECK", RULES),
            other => no(
                words(other, 1),
                "of a column only NULL, NOT NULL, DEFAULT, PRIMARY KEY and UNIQUE are kept",
            ),
        })
    })
}

const RULES: &str =
    "of the rules of a table PRIMARY KEY, UNIQUE, NOT NULL and the length of VARCHAR are kept";

/// What is refused of a key, whose rows are checked as they are written.
fn primary_key(node: &PrimaryKeyConstraint) -> Found {
    let PrimaryKeyConstraint { name: _, index_name, index_type, columns: _, index_options, characteristics } =
        node;
    when(characteristics.is_some(), "DEFERRABLE", "rows are checked as they are written").or_else(|| {
        let has_index = index_name.is_some() || index_type.is_some() || !index_options.is_empty();
        when(has_index, "USING", "a key of a table has no index that could be chosen")
    })
}

fn unique(node: &UniqueConstraint) -> Found {
    let UniqueConstraint {
        name: _,
        index_name,
        index_type_display: _,
        index_type,
        columns: _,
        index_options,
        characteristics,
        nulls_distinct,
    } = node;
    when(characteristics.is_some(), "DEFERRABLE", "rows are checked as they are written")
        .or_else(|| {
            let is_not_distinct = matches!(nulls_distinct, NullsDistinctOption::NotDistinct);
            when(is_not_distinct, "NULLS NOT DISTINCT", "NULL is equal to nothing")
        })
        .or_else(|| {
            let has_index = index_name.is_some() || index_type.is_some() || !index_options.is_empty();
            when(has_index, "USING", "a key of a table has no index that could be chosen")
        })
}

fn constraint(node: &TableConstraint) -> Found {
    match node {
        TableConstraint::PrimaryKey(key) => primary_key(key),
        TableConstraint::Unique(key) => unique(key),
        TableConstraint::PrimaryKeyUsingIndex(_) => no("PRIMARY KEY USING INDEX", RULES),
        TableConstraint::UniqueUsingIndex(_) => no("UNIQUE USING INDEX", RULES),
        TableConstraint::ForeignKey(_) => no("FOREIGN KEY", RULES),
        TableConstraint::Check(_) => no("CHECK", RULES),
        TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => {
            no(words(node, 1), "CREATE INDEX makes indexes of maps")
        }
    }
}

/// A length of texts that no table keeps; those that are kept have been taken out of the statement.
fn length(node: &DataType) -> Found {
    match node {
        DataType::Character(Some(length))
        | DataType::Char(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::CharVarying(Some(length))
        | DataType::Varchar(Some(length))
        | DataType::Nvarchar(Some(length))
            if !matches!(length, CharacterLength::Max) =>
        {
            no(node.to_string(), "texts of a column have any length; write VARCHAR")
        }
        DataType::Character(None) | DataType::Char(None) => {
            no(node.to_string(), "texts of a column have any length; write VARCHAR")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn says(text: &str) -> Option<String> {
        let statement = Parser::parse_sql(&GenericDialect {}, text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .remove(0);
        check_clauses(&statement).err().map(|error| error.to_string())
    }

    #[test]
    fn clauses_without_effect_are_refused_by_name() {
        for (text, clause) in [
            ("SELECT id FROM t PREWHERE id = 1", "PREWHERE"),
            ("SELECT id FROM t START WITH id = 1 CONNECT BY PRIOR id = v", "START WITH"),
            ("SELECT id FROM t CONNECT BY PRIOR id = v", "CONNECT BY"),
            ("SELECT g, sum(v) FROM t GROUP BY g WITH ROLLUP", "WITH ROLLUP"),
            ("SELECT g, sum(v) FROM t GROUP BY g WITH TOTALS", "WITH TOTALS"),
            ("SELECT g, sum(v) FROM t GROUP BY g WITH CUBE", "WITH CUBE"),
            ("SELECT id FROM t PARTITION (p0)", "PARTITION"),
            ("SELECT id FROM t FINAL", "FINAL"),
            ("SELECT id FROM t SETTINGS x = 1", "SETTINGS"),
            ("SELECT id FROM t FORMAT JSONCompact", "FORMAT"),
            ("SELECT id FROM t FOR XML PATH", "FOR XML"),
            ("SELECT id FROM t WITH (NOLOCK)", "WITH"),
            ("SELECT id FROM t FOR UPDATE", "FOR UPDATE"),
            ("SELECT id FROM t FOR SHARE SKIP LOCKED", "FOR SHARE"),
            ("SELECT id INTO x FROM t", "INTO"),
            ("SELECT TOP 3 id FROM t", "TOP"),
            ("SELECT id FROM t SORT BY id", "SORT BY"),
            ("SELECT id FROM t CLUSTER BY id", "CLUSTER BY"),
            ("SELECT id FROM t ORDER BY id WITH FILL FROM 1 TO 5", "WITH FILL"),
            ("SELECT id FROM t LIMIT 5 BY id", "BY"),
            ("SELECT id FROM t FETCH FIRST 5 ROWS WITH TIES", "WITH TIES"),
            ("SELECT id FROM t FETCH FIRST 5 PERCENT ROWS ONLY", "PERCENT"),
            ("SELECT * FROM t PIVOT (sum(a) FOR b IN ('x'))", "PIVOT"),
            ("SELECT * FROM t WITH ORDINALITY", "WITH ORDINALITY"),
            ("SELECT FROM t", "SELECT without columns"),
            ("SELECT (SELECT id FROM t FOR UPDATE)", "FOR UPDATE"),
            ("SELECT * FROM (SELECT id FROM t PREWHERE true) x", "PREWHERE"),
            ("WITH c AS (SELECT id FROM t PREWHERE true) SELECT * FROM c", "PREWHERE"),
            ("INSERT INTO u SELECT id FROM t FOR UPDATE", "FOR UPDATE"),
            ("CREATE VIEW v AS SELECT id FROM t FOR UPDATE", "FOR UPDATE"),
            ("CREATE TABLE u (a INT PRIMARY KEY DEFERRABLE)", "DEFERRABLE"),
            ("CREATE TABLE u (a INT, UNIQUE (a) DEFERRABLE)", "DEFERRABLE"),
            ("CREATE TABLE u (a INT, UNIQUE NULLS NOT DISTINCT (a))", "NULLS NOT DISTINCT"),
            ("CREATE TABLE u (a INT CHECK (a > 1))", "CHECK"),
            ("CREATE TABLE u (a INT REFERENCES t (id))", "REFERENCES"),
            ("CREATE TABLE u (a VARCHAR(20))", "VARCHAR(20)"),
            ("CREATE TABLE u (a CHAR(2))", "CHAR(2)"),
            ("CREATE TABLE u (a INT COMMENT 'x')", "COMMENT"),
            ("DELETE t", "DELETE without FROM"),
            ("UPDATE t SET a = 1, a = 2", "SET a, twice"),
            ("DROP TABLE t PURGE", "PURGE"),
            ("SELECT /*+ parallel(8) */ id FROM t", "/*+"),
            ("UPDATE /*+ parallel(8) */ t SET a = 1", "/*+"),
            ("DELETE /*+ parallel(8) */ FROM t", "/*+"),
        ] {
            let said = says(text).unwrap_or_else(|| panic!("{text} is taken"));
            assert!(said.starts_with(clause) && said.contains("not supported"), "{text}: {said}");
        }
    }

    #[test]
    fn everything_else_is_taken() {
        for text in [
            "SELECT DISTINCT ON (a) a, b AS c, t.*, * EXCLUDE (d) FROM t AS t (a, b) WHERE a > 1 ORDER BY a LIMIT 1 OFFSET 2",
            "FROM t",
            "FROM t SELECT a",
            "SELECT a FROM t WHERE EXISTS (SELECT FROM u)",
            "SELECT * FROM generate_series(1, 3) WITH ORDINALITY",
            "SELECT a FROM t TABLESAMPLE BERNOULLI (10) REPEATABLE (1)",
            "SELECT a FROM t GROUP BY ROLLUP (a), CUBE (b) HAVING count(*) > 1",
            "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b ORDER BY c) QUALIFY sum(a) OVER w > 1",
            "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 2) SELECT * FROM r CROSS JOIN t LEFT JOIN u USING (a)",
            "SELECT * FROM t, LATERAL (SELECT 1) FETCH FIRST 5 ROWS ONLY",
            "CREATE TABLE u (a INT NOT NULL DEFAULT 1, b VARCHAR NULL)",
            "CREATE TABLE u (a INT PRIMARY KEY, b INT UNIQUE, c INT, UNIQUE (b, c))",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "UPDATE t SET a = 1, b = 2 WHERE c",
            "DELETE FROM t WHERE a",
            "DROP TABLE IF EXISTS t",
            "SELECT CAST(a AS VARCHAR(9)) FROM t",
        ] {
            assert_eq!(says(text), None, "{text}");
        }
    }
}
