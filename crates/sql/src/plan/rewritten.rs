//! Says what the planner does not know in words that it knows.
//!
//! - `FROM t` is `SELECT * FROM t`; `FETCH FIRST 5 ROWS ONLY` is `LIMIT 5`; `mod(a, b)` is `a % b`.
//! - `EXISTS (...)` in a select list is a count of the rows that are there.
//! - `LIKE ... ESCAPE '!'` and `SIMILAR TO` become patterns of the operators that there are.
//! - `doc -> 'a'` and `doc ->> 'a'` are functions over JSON.
//! - `CAST(a AS VARCHAR(9))` and `CHAR(9)` cut the text.
//! - `SELECT id::INT FROM t ORDER BY id` orders by what is selected: the column gets the name `id`.
//! - A whole number that no BIGINT holds is a decimal number of its digits.
//! - Two columns of one name get two names for the planner; [`shown_name`] takes the difference away.
//!
//! A column keeps the name that its expression had.

use crate::error::SqlError;
use crate::functions::{GET, GET_TEXT, LIKE_PATTERN, SIMILAR_PATTERN, like_pattern, similar_pattern};
use crate::names::Names;
use crate::walk::{change_item, change_statement, read_item};
use datafusion::arrow::datatypes::DECIMAL256_MAX_PRECISION;
use datafusion::sql::sqlparser::ast::{
    AssignmentTarget, BinaryOperator, CastKind, CharacterLength, DataType, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, LimitClause,
    ObjectName, OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement,
    TableAlias, TableFactor, TableWithJoins, Value, ValueWithSpan, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

/// Digits of the largest whole number that the planner reads as one.
const U64_DIGITS: usize = 20;

/// What tells two columns of one name apart: behind it is a number.
const SECOND: char = '\u{e000}';

/// The name of a column as its reader sees it.
pub(crate) fn shown_name(name: &str) -> &str {
    name.split_once(SECOND).map_or(name, |(name, _)| name)
}

/// The columns that get a name for the planner beside the one that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnNames {
    /// Those that are written as another one is.
    Equal,
    /// All that are no plain column: for a statement in which the planner found equal names behind different words, as of `- -a` and `-(-a)`.
    All,
}

/// Changes a statement so that the planner understands it.
pub(super) fn rewrite(statement: &mut Statement, names: Names, columns: ColumnNames) -> Result<(), SqlError> {
    let mut rewriting = Statements { names, wrong: None };
    let _ = change_statement(statement, &mut rewriting);
    rewriting.wrong.map_or(Ok(()), Err)?;
    // Only where the reader sees the names: elsewhere two columns of one name are a mistake.
    let asked = match statement {
        Statement::Query(query) => Some(query.as_mut()),
        Statement::Insert(insert) => insert.source.as_deref_mut(),
        Statement::Prepare { statement, .. } => match statement.as_mut() {
            Statement::Query(query) => Some(query.as_mut()),
            _ => None,
        },
        _ => None,
    };
    let is_ordered = asked
        .as_ref()
        .is_some_and(|query| query.order_by.is_some() && matches!(*query.body, SetExpr::Select(_)));
    let mut bodies: Vec<&mut SetExpr> = asked.into_iter().map(|query| query.body.as_mut()).collect();
    while let Some(body) = bodies.pop() {
        match body {
            SetExpr::Select(select) => name_apart(&mut select.projection, names, is_ordered, columns),
            SetExpr::Query(query) => bodies.push(query.body.as_mut()),
            SetExpr::SetOperation { left, right, .. } => bodies.extend([left.as_mut(), right.as_mut()]),
            _ => {}
        }
    }
    Ok(())
}

struct Statements {
    names: Names,
    wrong: Option<SqlError>,
}

impl Statements {
    fn done(&mut self, done: Result<(), SqlError>) -> ControlFlow<()> {
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.wrong = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl VisitorMut for Statements {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        // The planner takes these names as they are written.
        if let Statement::Update(update) = statement {
            for assignment in &mut update.assignments {
                if let AssignmentTarget::ColumnName(name) = &mut assignment.target
                    && let Some(ident) = name.0.last().and_then(|part| part.as_ident())
                {
                    *name = ObjectName::from(vec![Ident::with_quote('"', self.names.read(ident))]);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let done = name_casts(query, self.names).and_then(|()| fetch(query));
        self.done(done)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        let mut wrong = None;
        for item in &mut select.projection {
            let before = item.to_string();
            let mut exprs = Exprs { depth: 0, in_list: true, is_changed: false, wrong: None };
            let _ = change_item(item, &mut exprs);
            wrong = wrong.or(exprs.wrong);
            if exprs.is_changed
                && let SelectItem::UnnamedExpr(expr) = item
            {
                let alias = Ident::with_quote('"', before);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        self.done(wrong.map_or(Ok(()), Err))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let mut exprs = Exprs { depth: 0, in_list: false, is_changed: false, wrong: None };
        exprs.change(expr);
        self.done(exprs.wrong.map_or(Ok(()), Err))
    }
}

/// Reads a whole number that is too large for the planner's integers, which would make it a double and round it.
fn long_number(number: &str) -> Result<Option<Expr>, SqlError> {
    let digits = number.trim_start_matches('0');
    if digits.len() < U64_DIGITS
        || !digits.bytes().all(|byte| byte.is_ascii_digit())
        || digits.parse::<u64>().is_ok()
    {
        return Ok(None);
    }
    let precision = digits.len() as u64;
    if precision > u64::from(DECIMAL256_MAX_PRECISION) {
        return Err(SqlError::NoClause {
            clause: format!("a number of more than {DECIMAL256_MAX_PRECISION} digits"),
            instead: "write it as a DOUBLE, such as 1e80",
        });
    }
    Ok(Some(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(digits.to_owned()))),
        data_type: DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision, 0)),
        array: false,
        format: None,
    }))
}

/// `FETCH` as `LIMIT`. Ties and percents were refused before.
fn fetch(query: &mut Query) -> Result<(), SqlError> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    let one = || Expr::value(Value::Number("1".to_owned(), false));
    let rows = Some(fetch.quantity.unwrap_or_else(one));
    query.limit_clause = Some(match query.limit_clause.take() {
        None => LimitClause::LimitOffset { limit: rows, offset: None, limit_by: Vec::new() },
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => {
            LimitClause::LimitOffset { limit: rows, offset, limit_by }
        }
        Some(_) => return Err(SqlError::Refused("a query has one LIMIT or one FETCH, not both".to_owned())),
    });
    Ok(())
}

/// Gives the columns that are cast, and by whose names alone the rows are ordered, these names, as in PostgreSQL: the order is that of what
/// is selected. Within an expression the name means the column as it was before the cast.
fn name_casts(query: &mut Query, names: Names) -> Result<(), SqlError> {
    let (Some(order), SetExpr::Select(select)) = (&query.order_by, query.body.as_mut()) else {
        return Ok(());
    };
    let OrderByKind::Expressions(order) = &order.kind else { return Ok(()) };
    let items = &mut select.projection;
    if items.iter().any(is_all) {
        return Ok(());
    }
    let name_of = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => column_name(expr).map(|name| names.read(name)),
        SelectItem::ExprWithAlias { alias, .. } => Some(names.read(alias)),
        _ => None,
    };
    let all: Vec<_> = items.iter().map(name_of).collect();
    for (item, name) in items.iter_mut().zip(&all) {
        let (SelectItem::UnnamedExpr(expr @ Expr::Cast { .. }), Some(name)) = (&*item, name) else {
            continue;
        };
        let is_alone = |by: &OrderByExpr| matches!(&by.expr, Expr::Identifier(of) if names.read(of) == *name);
        if !order.iter().any(is_alone) || all.iter().flatten().filter(|other| *other == name).count() > 1 {
            continue;
        }
        let may_be_inside = |by: &OrderByExpr| {
            let inside = !matches!(by.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            inside && by.expr.to_string().to_lowercase().contains(&name.to_lowercase())
        };
        if order.iter().any(may_be_inside) {
            return Err(SqlError::Refused(format!(
                "ORDER BY has the column \"{name}\", which is cast, by itself and in an expression; AS gives the cast another name"
            )));
        }
        let alias = Ident::with_quote('"', name.clone());
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
    Ok(())
}

fn is_all(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// The name of a column that is alone, or cast.
fn column_name(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => column_name(expr),
        _ => None,
    }
}

/// Gives columns of one name other names, which [`shown_name`] shows as one again. What rows are ordered by may be a column more.
fn name_apart(items: &mut [SelectItem], names: Names, is_ordered: bool, columns: ColumnNames) {
    let has_all = items.iter().any(is_all);
    // The planner calls a column that is cast as the column itself.
    let of_columns: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) => column_name(expr).map(|name| names.read(name)),
            _ => None,
        })
        .collect();
    let stands_again = |expr: &Expr| match (expr, column_name(expr)) {
        (Expr::Cast { .. }, Some(name)) => {
            let name = names.read(name);
            has_all || is_ordered || of_columns.iter().filter(|other| **other == name).count() > 1
        }
        _ => false,
    };
    let mut seen = HashSet::new();
    for (number, item) in items.iter_mut().enumerate() {
        let (key, name, expr) = match &*item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(name) => names.read(name),
                    Expr::CompoundIdentifier(parts) => match parts.last() {
                        Some(name) => names.read(name),
                        None => continue,
                    },
                    other => other.to_string(),
                };
                // Of two tables both columns keep their names, and so the places where else they stand.
                let key =
                    if matches!(expr, Expr::CompoundIdentifier(_)) { expr.to_string() } else { name.clone() };
                (key, name, expr)
            }
            SelectItem::ExprWithAlias { expr, alias } => (names.read(alias), names.read(alias), expr),
            _ => continue,
        };
        let is_cast_again = matches!(&*item, SelectItem::UnnamedExpr(expr) if stands_again(expr));
        let is_plain = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let may_be_there =
            is_cast_again || (has_all && is_plain) || (columns == ColumnNames::All && !is_plain);
        let is_new = seen.insert(key);
        if (is_new && !may_be_there) || is_volatile_place(expr) {
            continue;
        }
        let alias = Ident::with_quote('"', format!("{name}{SECOND}{number}"));
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// True for what makes several columns or rows of itself, under names of its own.
fn is_volatile_place(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("unnest"))
}

/// Changes expressions, but none of a query within them.
struct Exprs {
    depth: usize,
    /// In a select list, where the planner knows no `EXISTS`.
    in_list: bool,
    is_changed: bool,
    wrong: Option<SqlError>,
}

impl VisitorMut for Exprs {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            self.change(expr);
        }
        if self.wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Exprs {
    fn change(&mut self, expr: &mut Expr) {
        match changed(expr, self.in_list) {
            Ok(None) => {}
            Ok(Some(new)) => {
                *expr = new;
                self.is_changed = true;
            }
            Err(error) => self.wrong = Some(error),
        }
    }
}

fn changed(expr: &Expr, in_list: bool) -> Result<Option<Expr>, SqlError> {
    let nested = |expr: Expr| Expr::Nested(Box::new(expr));
    Ok(match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => long_number(number)?,
        Expr::Exists { subquery, negated } if in_list => count(subquery, *negated).map(nested),
        Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => {
            Some(call(GET, [left.as_ref().clone(), right.as_ref().clone()]))
        }
        Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right } => {
            Some(call(GET_TEXT, [left.as_ref().clone(), right.as_ref().clone()]))
        }
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("mod") => {
            match two_arguments(function) {
                Some([left, right]) => {
                    let (left, right) = (Box::new(nested(left)), Box::new(nested(right)));
                    Some(nested(Expr::BinaryOp { left, op: BinaryOperator::Modulo, right }))
                }
                None => None,
            }
        }
        Expr::Like { negated, any, expr, pattern, escape_char: Some(escape) } => {
            let pattern = Box::new(said(pattern, escape, LIKE_PATTERN, like_pattern)?);
            let (negated, any, expr) = (*negated, *any, expr.clone());
            Some(Expr::Like { negated, any, expr, pattern, escape_char: None })
        }
        Expr::ILike { negated, any, expr, pattern, escape_char: Some(escape) } => {
            let pattern = Box::new(said(pattern, escape, LIKE_PATTERN, like_pattern)?);
            let (negated, any, expr) = (*negated, *any, expr.clone());
            Some(Expr::ILike { negated, any, expr, pattern, escape_char: None })
        }
        Expr::SimilarTo { negated, expr, pattern, escape_char } => {
            let backslash = Value::SingleQuotedString("\\".to_owned());
            let escape = escape_char.clone().unwrap_or_else(|| ValueWithSpan::from(backslash));
            let pattern = said(pattern, &escape, SIMILAR_PATTERN, similar_pattern)?;
            let op = match negated {
                true => BinaryOperator::PGRegexNotMatch,
                false => BinaryOperator::PGRegexMatch,
            };
            let (left, right) = (Box::new(nested(expr.as_ref().clone())), Box::new(pattern));
            Some(nested(Expr::BinaryOp { left, op, right }))
        }
        Expr::Cast { kind, expr, data_type, array: false, format: None } => cut(kind, expr, data_type),
        _ => None,
    })
}

/// A pattern in the engine's words: computed here when it is written out.
fn said(
    pattern: &Expr,
    escape: &ValueWithSpan,
    function: &str,
    change: fn(&str, &str) -> Result<String, SqlError>,
) -> Result<Expr, SqlError> {
    if let Expr::Value(text) = pattern
        && let Value::SingleQuotedString(text) = &text.value
        && let Value::SingleQuotedString(escape) = &escape.value
    {
        return Ok(Expr::value(Value::SingleQuotedString(change(text, escape)?)));
    }
    Ok(call(function, [pattern.clone(), Expr::Value(escape.clone())]))
}

fn two_arguments(function: &Function) -> Option<[Expr; 2]> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(one)), FunctionArg::Unnamed(FunctionArgExpr::Expr(two))] =
        list.args.as_slice()
    else {
        return None;
    };
    Some([one.clone(), two.clone()])
}

fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    let args = args.into_iter().map(|one| FunctionArg::Unnamed(FunctionArgExpr::Expr(one))).collect();
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// A cast to a text of a certain length, which the planner takes for one of any length.
fn cut(kind: &CastKind, expr: &Expr, data_type: &DataType) -> Option<Expr> {
    // PostgreSQL fills a CHAR with blanks, and leaves them out of every comparison and most functions: here there are none.
    let length = match data_type {
        DataType::Varchar(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::CharVarying(Some(length))
        | DataType::Char(Some(length))
        | DataType::Character(Some(length)) => length,
        _ => return None,
    };
    let CharacterLength::IntegerLength { length, unit: _ } = length else { return None };
    let text = Expr::Cast {
        kind: kind.clone(),
        expr: Box::new(expr.clone()),
        data_type: DataType::Varchar(None),
        array: false,
        format: None,
    };
    let length = Expr::value(Value::Number(length.to_string(), false));
    Some(call("left", [text, length]))
}

/// How many rows a query has, compared with none. With `count` there is a row for every row around the subquery.
fn count(subquery: &Query, negated: bool) -> Option<Expr> {
    let compared = if negated { "count(*) = 0" } else { "count(*) > 0" };
    let template = format!("SELECT {compared} FROM counted AS counted_rows");
    let mut outer = Parser::new(&GenericDialect {}).try_with_sql(&template).ok()?.parse_query().ok()?;
    let SetExpr::Select(counted) = outer.body.as_mut() else { return None };
    if let SetExpr::Select(inner) = subquery.body.as_ref()
        && is_plain(subquery, inner)
    {
        let mut inner = inner.clone();
        inner.projection = std::mem::take(&mut counted.projection);
        let mut query = subquery.clone();
        // Neither their order matters, nor how many they are, nor which are the same.
        query.order_by = None;
        query.limit_clause = None;
        inner.distinct = None;
        query.body = Box::new(SetExpr::Select(inner));
        return Some(Expr::Subquery(Box::new(query)));
    }
    let alias =
        TableAlias { explicit: true, name: Ident::new("counted_rows"), columns: Vec::new(), at: None };
    let subquery = Box::new(subquery.clone());
    let relation = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    counted.from = vec![TableWithJoins { relation, joins: Vec::new() }];
    Some(Expr::Subquery(outer))
}

/// True for a query with rows if there is a row of its `FROM` that its `WHERE` takes.
fn is_plain(query: &Query, select: &Select) -> bool {
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(exprs, _) if exprs.is_empty());
    let limited = !query.limit_clause.as_ref().is_none_or(lets_one)
        || query.fetch.is_some()
        || !query.pipe_operators.is_empty();
    !is_grouped
        && !limited
        && select.having.is_none()
        && select.qualify.is_none()
        && !select.from.is_empty()
        && !select.projection.iter().any(has_call)
}

/// True for a `LIMIT` of a number of rows that is not 0, and no `OFFSET`.
fn lets_one(limit: &LimitClause) -> bool {
    let LimitClause::LimitOffset { limit, offset: None, limit_by } = limit else { return false };
    let is_some_number = |limit: &Expr| match limit {
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => {
            number.parse::<u64>().is_ok_and(|number| number > 0)
        }
        _ => false,
    };
    limit_by.is_empty() && limit.as_ref().is_none_or(is_some_number)
}

/// An aggregate makes one row of many, `unnest` many of one, or none. A function that is known to be neither does not matter.
fn has_call(item: &SelectItem) -> bool {
    static HARMLESS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let all = datafusion::functions::all_default_functions();
        all.iter()
            .flat_map(|function| function.aliases().iter().cloned().chain([function.name().to_owned()]))
            .collect()
    });

    struct Calls;

    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if !HARMLESS.contains(&function.name.to_string().to_ascii_lowercase()) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    read_item(item, &mut Calls).is_break()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;
    use datafusion::sql::parser::Statement as Parsed;

    fn plain(text: &str) -> String {
        let Some(Parsed::Statement(mut statement)) = dialect::parse(text).unwrap().pop_front() else {
            panic!()
        };
        rewrite(&mut statement, Names::LowerCase, ColumnNames::Equal)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        statement.to_string().replace(SECOND, "#")
    }

    #[test]
    fn statements_are_said_in_the_planners_words() {
        for (text, said) in [
            ("FROM t", "SELECT * FROM t"),
            ("SELECT a FROM (FROM t) AS x", "SELECT a FROM (SELECT * FROM t) AS x"),
            ("SELECT a FROM t FETCH FIRST 5 ROWS ONLY", "SELECT a FROM t LIMIT 5"),
            ("SELECT a FROM t OFFSET 2 FETCH NEXT ROW ONLY", "SELECT a FROM t LIMIT 1 OFFSET 2"),
            ("SELECT a FROM t WHERE mod(a, 2) = 1", "SELECT a FROM t WHERE ((a) % (2)) = 1"),
            ("SELECT a FROM t WHERE a LIKE '!_%' ESCAPE '!'", "SELECT a FROM t WHERE a LIKE '\\_%'"),
            ("SELECT a FROM t WHERE a SIMILAR TO 'b%'", "SELECT a FROM t WHERE ((a) ~ '^(?s:b.*)$')"),
            ("SELECT a FROM t WHERE EXISTS (SELECT 1)", "SELECT a FROM t WHERE EXISTS (SELECT 1)"),
            (
                "SELECT EXISTS (SELECT b FROM u WHERE u.c = t.c) AS e FROM t",
                "SELECT ((SELECT count(*) > 0 FROM u WHERE u.c = t.c)) AS e FROM t",
            ),
            (
                "SELECT EXISTS (SELECT DISTINCT 1 AS a, lower(b) FROM u WHERE u.c = t.c ORDER BY b LIMIT 1) AS e FROM t",
                "SELECT ((SELECT count(*) > 0 FROM u WHERE u.c = t.c)) AS e FROM t",
            ),
            (
                "SELECT EXISTS (SELECT 1 FROM u LIMIT 0) AS e",
                "SELECT ((SELECT count(*) > 0 FROM (SELECT 1 FROM u LIMIT 0) AS counted_rows)) AS e",
            ),
            (
                "SELECT EXISTS (SELECT 1 FROM u LIMIT 1 OFFSET 1) AS e",
                "SELECT ((SELECT count(*) > 0 FROM (SELECT 1 FROM u LIMIT 1 OFFSET 1) AS counted_rows)) AS e",
            ),
            (
                "SELECT NOT EXISTS (SELECT 1) AS e",
                "SELECT ((SELECT count(*) = 0 FROM (SELECT 1) AS counted_rows)) AS e",
            ),
            (
                "SELECT EXISTS (SELECT max(b) FROM u LIMIT 1) AS e",
                "SELECT ((SELECT count(*) > 0 FROM (SELECT max(b) FROM u LIMIT 1) AS counted_rows)) AS e",
            ),
            (
                "SELECT a -> 'x' ->> 0 FROM t",
                "SELECT __json_get_text(__json_get(a, 'x'), 0) AS \"a -> 'x' ->> 0\" FROM t",
            ),
            ("SELECT CAST(a AS VARCHAR(9)) AS b FROM t", "SELECT left(CAST(a AS VARCHAR), 9) AS b FROM t"),
            ("SELECT a::CHAR(9) AS b FROM t", "SELECT left(a::VARCHAR, 9) AS b FROM t"),
            ("SELECT a, a, A FROM t", "SELECT a, a AS \"a#1\", A AS \"a#2\" FROM t"),
            ("SELECT *, a FROM t", "SELECT *, a AS \"a#1\" FROM t"),
            ("SELECT 1, 1, 2 AS b, 3 AS b", "SELECT 1, 1 AS \"1#1\", 2 AS b, 3 AS \"b#3\""),
            ("SELECT x.a, y.a FROM x, y", "SELECT x.a, y.a FROM x, y"),
            ("SELECT 1 AS b FROM (SELECT a, a FROM t) AS s", "SELECT 1 AS b FROM (SELECT a, a FROM t) AS s"),
            ("CREATE TABLE n AS SELECT 1, 1", "CREATE TABLE n AS SELECT 1, 1"),
            ("UPDATE t SET Name = 1", "UPDATE t SET \"name\" = 1"),
        ] {
            assert_eq!(plain(text), said, "{text}");
        }
        assert_eq!(shown_name("b\u{e000}3"), "b");
    }
}
