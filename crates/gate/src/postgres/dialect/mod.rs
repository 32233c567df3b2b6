//! What clients say that only PostgreSQL understands, said in the engine's words: `version()`, `OPERATOR(pg_catalog.~)`, `'t'::regclass`, and
//! the queries by which tools read the catalog.
//!
//! A statement that mentions none of it passes untouched, byte for byte. The others are parsed, changed and written anew: calls whose answer
//! the session knows become that answer, casts and operators of PostgreSQL become those of the engine, and a query that can only be empty
//! (policies, triggers, publications) becomes one that is. Functions of the engine were considered: most of these answers differ by session.

mod empty;
mod functions;
mod parameters;
mod types;
mod wildcards;

pub(super) use parameters::{cast_types, catalog_types, compared, mentions_array};

use super::catalog::{Definition, Shelf};
use super::variables::Variables;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, Statement,
    TableFactor, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use filbert_sql::postgres_name;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Longer texts are not those of tools.
const MOST_BYTES: usize = 32 << 10;

/// Deeper texts neither; parsing and dropping them takes stack.
const MOST_DEPTH: usize = 250;

/// What makes a text worth a closer look.
const MENTIONS: [&str; 22] = [
    "pg_",
    "information_schema",
    "to_reg",
    "parse_ident",
    "array_upper",
    "array_lower",
    "::oid",
    "version",
    "current_",
    "session_user",
    "format_type",
    "quote_ident",
    "set_config",
    "inet_",
    "txid_",
    "_description",
    "::reg",
    "has_",
    "operator",
    "collate",
    "bytea",
    "'{",
];

/// What a session knows of itself.
#[derive(Debug)]
pub(super) struct Dialect<'a> {
    pub(super) variables: &'a Variables,
    pub(super) user: &'a str,
    pub(super) process: i32,
}

impl Dialect<'_> {
    /// The statement in the engine's words.
    pub(super) fn adapted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let unchanged = Cow::Borrowed(text);
        if text.len() > MOST_BYTES || !mentions(text) || filbert_sql::check_depth(text, MOST_DEPTH).is_err() {
            return unchanged;
        }
        // What cannot be parsed, the engine refuses with its own words.
        let Ok(mut statements) = Parser::parse_sql(&PostgreSqlDialect {}, text) else { return unchanged };
        let [statement] = statements.as_mut_slice() else { return unchanged };
        match statement {
            Statement::Query(_) | Statement::Explain { .. } => {}
            // For the bytes that drivers write into a statement.
            Statement::Insert(_) if contains(text, "bytea") => {}
            _ => return unchanged,
        }
        let said = parameters::of(&*statement);
        let mut rewriting = Rewriting { session: self, changed: false };
        let _ = filbert_sql::walk::change_statement(statement, &mut rewriting);
        if !rewriting.changed {
            return unchanged;
        }
        parameters::keep(statement, &said);
        Cow::Owned(statement.to_string())
    }
}

fn mentions(text: &str) -> bool {
    MENTIONS.iter().any(|word| contains(text, word))
}

fn contains(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// A walk over a statement.
struct Rewriting<'a> {
    session: &'a Dialect<'a>,
    changed: bool,
}

/// An expression that is written here, and therefore parses.
fn written(text: &str) -> Option<Expr> {
    Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?.parse_expr().ok()
}

/// The last part of a name, when what is before it is nothing or the catalog.
fn catalog_name(name: &ObjectName) -> Option<String> {
    let word = |part: &ObjectNamePart| part.as_ident().map(|ident| ident.value.to_lowercase());
    match name.0.as_slice() {
        [name] => word(name),
        [schema, name] if word(schema)? == "pg_catalog" => word(name),
        _ => None,
    }
}

/// True when a collation compares texts as the engine does.
fn is_by_bytes(collation: &ObjectName) -> bool {
    let by_bytes = ["c", "posix", "ucs_basic", "default"];
    catalog_name(collation).is_some_and(|name| by_bytes.contains(&name.as_str()))
}

/// The table of the catalog that a name means, and its schema.
fn catalog_table(name: &ObjectName) -> Option<(Shelf, &'static Definition)> {
    let word = |part: &ObjectNamePart| {
        let ident = part.as_ident()?;
        Some(if ident.quote_style.is_none() { ident.value.to_lowercase() } else { ident.value.clone() })
    };
    let (shelf, name) = match name.0.as_slice() {
        [name] => (Shelf::Catalog, word(name)?),
        [.., schema, name] => (Shelf::of(&word(schema)?)?, word(name)?),
        [] => return None,
    };
    Some((shelf, shelf.find(&name)?))
}

impl Rewriting<'_> {
    fn put(&mut self, expr: &mut Expr, text: &str) {
        if let Some(new) = written(text) {
            *expr = new;
            self.changed = true;
        }
    }

    /// Operators and types with the catalog's name before them.
    fn plain(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Collate { expr: inner, collation } if is_by_bytes(collation) => {
                *expr = inner.as_ref().clone();
                self.changed = true;
            }
            Expr::BinaryOp { left, op, right } => {
                self.changed |= types::numbers_as_names(left, right) || types::numbers_as_names(right, left);
                if let BinaryOperator::PGCustomBinaryOperator(parts) = op
                    && let Some(known) = parts.last().and_then(|sign| operator(sign))
                {
                    *op = known;
                    self.changed = true;
                }
            }
            // The engine knows one sign that takes the meaning from the next.
            Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
                if let Some(Value::SingleQuotedString(sign)) = escape_char.as_ref().map(|sign| &sign.value)
                    && sign != "\\"
                    && let Some(new) =
                        written(&format!("replace({pattern}, {}, '\\')", functions::literal(sign)))
                {
                    **pattern = new;
                    *escape_char = None;
                    self.changed = true;
                }
            }
            Expr::Cast { expr: inner, data_type, .. } => match types::cast(data_type, inner) {
                Some(text) => self.put(expr, &text),
                None => self.changed |= types::plain_items(data_type),
            },
            _ => {}
        }
    }
}

fn operator(sign: &str) -> Option<BinaryOperator> {
    Some(match sign {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        ">" => BinaryOperator::Gt,
        "<=" => BinaryOperator::LtEq,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "||" => BinaryOperator::StringConcat,
        _ => return None,
    })
}

impl VisitorMut for Rewriting<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(replaced) = empty::replaced(query) {
            *query = replaced;
            self.changed = true;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        keep_names(select);
        self.changed |= wildcards::without_named(select) | empty::join_nothing(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        if let Some(empty) = empty::function(table) {
            *table = empty;
            self.changed = true;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let Some((shelf, _)) = catalog_table(relation) {
            let name = relation.0.last().cloned();
            let schema = ObjectNamePart::Identifier(Ident::new(shelf.schema()));
            let full: Vec<ObjectNamePart> = std::iter::once(schema).chain(name).collect();
            self.changed |= full != relation.0;
            relation.0 = full;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query) if empty::is_always_empty(query) => self.put(expr, functions::NO_TEXT),
            Expr::Subquery(query) => self.changed |= empty::one_row(query),
            Expr::Exists { subquery, negated } if empty::is_always_empty(subquery) => {
                let text = negated.to_string();
                self.put(expr, &text);
            }
            Expr::InSubquery { expr: inner, subquery, negated } => {
                if let Some(text) = functions::in_search_path(self.session, inner, subquery, *negated) {
                    self.put(expr, &text);
                }
            }
            // As its table is called now.
            Expr::CompoundIdentifier(parts)
                if parts.len() > 2 && parts[0].value.eq_ignore_ascii_case("information_schema") =>
            {
                parts[0] = Ident::new(Shelf::Information.schema());
                self.changed = true;
            }
            Expr::Case { operand: None, conditions, else_result, .. } => {
                if let Some(text) = types::without_kinds(conditions, else_result.as_deref()) {
                    self.put(expr, &text);
                }
            }
            Expr::Function(function) => {
                // Before its arguments are visited: they may be what cannot be said otherwise.
                if let Some(text) = functions::call(self.session, function) {
                    self.put(expr, &text);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.plain(expr);
        ControlFlow::Continue(())
    }
}

/// Gives columns the names that PostgreSQL would, before what they are computed from changes. Not in itself a change.
fn keep_names(select: &mut Select) {
    let mut taken = HashSet::new();
    for item in &mut select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => {
                taken.insert(alias.value.clone());
            }
            SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => {}
            SelectItem::UnnamedExpr(expr) => {
                let alias = unique(postgres_name(expr), &mut taken);
                *item =
                    SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', alias) };
            }
            _ => {}
        }
    }
}

/// A name that no column before has: the engine wants that.
fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let mut number = 1;
    let mut unique = name.clone();
    while !taken.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}_{number}");
    }
    unique
}

#[cfg(test)]
mod tests;
