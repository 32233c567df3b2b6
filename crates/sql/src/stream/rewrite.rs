//! `journal(...)`, `TUMBLE(...)` and `HOP(...)` in a `FROM`, as the planner knows them.
//!
//! The planner has no functions that take tables. A journal becomes a table in a schema of its own. A window becomes a subquery with two
//! more columns, whose functions ([`super::window`]) are only marks: they are replaced before anything runs. It is done before the rights of
//! a session are checked, so that what such a function reads is seen there as any other table.
//!
//! The parser has no tables as arguments either, and so the word `TABLE` of `TUMBLE(TABLE trades, ...)` is blanked out of the text before;
//! places in messages stay what they were.

use super::journal::{JOURNALS, JournalStart, journal_name};
use super::window::{WINDOW_END, WINDOW_START};
use crate::error::SqlError;
use crate::files::read_function;
use crate::text::token_places;
use crate::walk::{change_query, change_statement};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, SelectItem,
    SetExpr, TableAlias, TableFactor, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use std::borrow::Cow;
use std::ops::ControlFlow;

/// The functions that take a table.
const WINDOWS: [&str; 2] = ["tumble", "hop"];

/// The text without the word `TABLE` at the begin of a window's arguments.
pub(crate) fn without_table_words(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mentions =
        |word: &str| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    if !WINDOWS.into_iter().any(mentions) {
        return Cow::Borrowed(text);
    }
    let is = |token: &Token, word: &str| matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let tokens: Vec<(Token, usize)> =
        token_places(text).filter(|(token, _)| !matches!(token, Token::Whitespace(_))).collect();
    let mut plain = Cow::Borrowed(text);
    for three in tokens.windows(3) {
        let [(function, _), (Token::LParen, _), (table, at)] = three else { continue };
        if WINDOWS.into_iter().any(|word| is(function, word)) && is(table, "table") {
            plain.to_mut().replace_range(*at..at + "table".len(), "     ");
        }
    }
    plain
}

/// Changes a statement so that the planner understands it.
pub(crate) fn rewritten(statement: &mut Statement) -> Result<(), SqlError> {
    let mut rewrite = Rewrite { wrong: None };
    // Breaks off only when it keeps what is wrong.
    let _ = match statement {
        Statement::Statement(inner) => change_statement(inner, &mut rewrite),
        Statement::Explain(explain) => return rewritten(&mut explain.statement),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => change_query(query, &mut rewrite),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    rewrite.wrong.map_or(Ok(()), |says| Err(SqlError::Refused(says)))
}

struct Rewrite {
    wrong: Option<String>,
}

impl VisitorMut for Rewrite {
    type Break = ();

    /// What is put in place of a table is visited next: the arguments of a window are found there.
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let Some((name, arguments, alias)) = call_of(factor) else { return ControlFlow::Continue(()) };
        let new = match name.as_str() {
            "journal" => journal(&arguments, alias),
            "tumble" => window(arguments, alias, &TUMBLE),
            "hop" => window(arguments, alias, &HOP),
            _ => match read_function(&name, &arguments, factor) {
                Some(new) => new,
                None => return ControlFlow::Continue(()),
            },
        };
        match new {
            Ok(new) => {
                *factor = new;
                ControlFlow::Continue(())
            }
            Err(says) => {
                self.wrong = Some(says);
                ControlFlow::Break(())
            }
        }
    }
}

/// The name in lower case, the arguments and the alias of a table that is a function's, written `f(...)` or `TABLE(f(...))`.
fn call_of(factor: &TableFactor) -> Option<(String, Vec<FunctionArg>, Option<TableAlias>)> {
    let (name, arguments, alias) = match factor {
        TableFactor::TableFunction { expr: Expr::Function(function), alias } => match &function.args {
            FunctionArguments::List(list) => (&function.name, &list.args, alias),
            _ => return None,
        },
        TableFactor::Table { name, args: Some(arguments), alias, .. } => (name, &arguments.args, alias),
        _ => return None,
    };
    let [part] = name.0.as_slice() else { return None };
    Some((part.as_ident()?.value.to_lowercase(), arguments.clone(), alias.clone()))
}

fn alias_or(alias: Option<TableAlias>, name: &str) -> Option<TableAlias> {
    let new = || TableAlias { explicit: true, name: Ident::new(name), columns: Vec::new(), at: None };
    Some(alias.unwrap_or_else(new))
}

fn table(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

fn journal(arguments: &[FunctionArg], alias: Option<TableAlias>) -> Result<TableFactor, String> {
    let texts: Option<Vec<&str>> = arguments.iter().map(|argument| text_of(expression(argument)?)).collect();
    let (map, start) = match texts.as_deref() {
        Some([map]) => (*map, Some(JournalStart::Oldest)),
        Some([map, start]) => (*map, JournalStart::of_word(start)),
        _ => ("", None),
    };
    let Some(start) = start else {
        return Err(
            "journal takes the name of a map, and where to begin: journal('trades'), journal('trades', 'newest')"
                .to_owned(),
        );
    };
    let name = vec![Ident::new(JOURNALS), Ident::with_quote('"', journal_name(start, map))];
    Ok(table(ObjectName::from(name), alias_or(alias, "journal")))
}

fn expression(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// How a window is written.
struct Form {
    name: &'static str,
    /// Arguments behind the column: without and with how late rows may be.
    sizes: usize,
    says: &'static str,
}

const TUMBLE: Form = Form {
    name: "tumble",
    sizes: 1,
    says: "TUMBLE takes a table, the column of its time, the size of a window, and how late rows may be: \
           TUMBLE(TABLE trades, DESCRIPTOR(time), INTERVAL '1' MINUTE, INTERVAL '2' SECOND)",
};

const HOP: Form = Form {
    name: "hop",
    sizes: 2,
    says: "HOP takes a table, the column of its time, the size of a window, the step from one to the next, and how late rows may be: \
           HOP(TABLE trades, DESCRIPTOR(time), INTERVAL '1' MINUTE, INTERVAL '10' SECOND, INTERVAL '2' SECOND)",
};

fn window(
    arguments: Vec<FunctionArg>,
    alias: Option<TableAlias>,
    form: &Form,
) -> Result<TableFactor, String> {
    let says = || form.says.to_owned();
    let exprs: Option<Vec<Expr>> = arguments.iter().map(|argument| expression(argument).cloned()).collect();
    let mut exprs = exprs.ok_or_else(says)?;
    if exprs.len() != 2 + form.sizes && exprs.len() != 3 + form.sizes {
        return Err(says());
    }
    let sizes = exprs.split_off(2);
    let (Some(time), Some(input)) = (exprs.pop(), exprs.pop()) else { return Err(says()) };
    let time = descriptor(&time).ok_or_else(says)?;
    let input = input_of(input).ok_or_else(says)?;
    // Of a tumbling window the step is its size.
    let step = sizes[form.sizes - 1].clone();
    let lag =
        sizes.get(form.sizes).cloned().unwrap_or_else(|| Expr::value(Value::Number("0".to_owned(), false)));
    let subquery = subquery(input, [time, sizes[0].clone(), step, lag]).ok_or_else(says)?;
    let alias = alias_or(alias, form.name);
    Ok(TableFactor::Derived { lateral: false, subquery, alias, sample: None })
}

/// The column in `DESCRIPTOR(column)`.
fn descriptor(expr: &Expr) -> Option<Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
        return None;
    };
    let [part] = name.0.as_slice() else { return None };
    let [argument] = list.args.as_slice() else { return None };
    let column = expression(argument)?;
    let is_column = matches!(column, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    (is_column && part.as_ident()?.value.eq_ignore_ascii_case("descriptor")).then(|| column.clone())
}

/// The table that an argument is.
fn input_of(expr: Expr) -> Option<TableFactor> {
    match expr {
        Expr::Identifier(name) => Some(table(ObjectName::from(vec![name]), None)),
        Expr::CompoundIdentifier(name) => Some(table(ObjectName::from(name), None)),
        Expr::Nested(inner) => input_of(*inner),
        Expr::Function(_) => Some(TableFactor::TableFunction { expr, alias: None }),
        Expr::Subquery(subquery) => {
            let alias = alias_or(None, "input");
            Some(TableFactor::Derived { lateral: false, subquery, alias, sample: None })
        }
        _ => None,
    }
}

/// All columns of a table, and the windows of each row.
fn subquery(input: TableFactor, arguments: [Expr; 4]) -> Option<Box<Query>> {
    let text = format!("SELECT *, {WINDOW_START}() AS window_start, {WINDOW_END}() AS window_end FROM input");
    let mut query = Parser::new(&GenericDialect {}).try_with_sql(&text).ok()?.parse_query().ok()?;
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    select.from.first_mut()?.relation = input;
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr: Expr::Function(function), .. } = item
            && let FunctionArguments::List(list) = &mut function.args
        {
            list.args = arguments
                .iter()
                .cloned()
                .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
                .collect();
        }
    }
    Some(query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    fn plain(text: &str) -> Result<String, String> {
        let text = without_table_words(text);
        let mut statement = DFParser::parse_sql(&text).unwrap().pop_front().unwrap();
        rewritten(&mut statement).map_err(|error| error.to_string())?;
        Ok(statement.to_string())
    }

    #[test]
    fn journals_are_tables_of_their_schema() {
        let expected = "SELECT * FROM journal.\"oldest/my map\" AS journal";
        assert_eq!(plain("SELECT * FROM TABLE(journal('my map'))").as_deref(), Ok(expected));
        let expected = "SELECT t.a FROM journal.\"newest/x\" t";
        assert_eq!(plain("SELECT t.a FROM journal('x', 'NEWEST') t").as_deref(), Ok(expected));
        for wrong in ["journal()", "journal(x)", "journal('x', 'now')", "journal('x', 'oldest', 1)"] {
            let text = plain(&format!("SELECT * FROM {wrong}")).unwrap_err();
            assert!(text.contains("journal('trades', 'newest')"), "{wrong}: {text}");
        }
    }

    #[test]
    fn windows_are_subqueries_of_their_tables() {
        let text =
            plain("SELECT * FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS w")
                .unwrap();
        let arguments = "(ts, INTERVAL '1' MINUTE, INTERVAL '1' MINUTE, 0)";
        let expected = format!(
            "SELECT * FROM (SELECT *, {WINDOW_START}{arguments} AS window_start, {WINDOW_END}{arguments} AS window_end FROM trades) AS w"
        );
        assert_eq!(text, expected);
        let text = plain("SELECT * FROM hop((journal('t')), descriptor(__time), 4, 2, 1)").unwrap();
        assert!(
            text.contains("(__time, 4, 2, 1)") && text.contains("FROM journal.\"oldest/t\" AS journal"),
            "{text}"
        );
        let text = plain("SELECT * FROM TUMBLE((SELECT a FROM s.t), DESCRIPTOR(a), 4)").unwrap();
        assert!(text.contains("FROM (SELECT a FROM s.t) AS input) AS tumble"), "{text}");
        for wrong in [
            "tumble(t)",
            "tumble(t, a, 4)",
            "tumble(t, DESCRIPTOR(a + 1), 4)",
            "hop(t, DESCRIPTOR(a), 4)",
            "tumble(t, DESCRIPTOR(a), 4, 5, 6)",
            "tumble(4, DESCRIPTOR(a), 4)",
        ] {
            let text = plain(&format!("SELECT * FROM {wrong}")).unwrap_err();
            assert!(text.contains("DESCRIPTOR(time)"), "{wrong}: {text}");
        }
    }

    #[test]
    fn only_the_word_of_an_argument_is_blanked() {
        let text = "SELECT 'tumble(table x' FROM tumble ( TABLE x, 1) JOIN TABLE(f(1)) ON \"tumble\"(1)";
        let expected = "SELECT 'tumble(table x' FROM tumble (       x, 1) JOIN TABLE(f(1)) ON \"tumble\"(1)";
        assert_eq!(without_table_words(text), expected);
        assert!(matches!(without_table_words("SELECT 1 FROM t"), Cow::Borrowed(_)));
    }
}
