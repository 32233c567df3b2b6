//! Predicates as text, in the manner of a WHERE clause: `active AND (age > 20 OR name LIKE 'A%')`.
//!
//! ```text
//! either    = all { OR all }
//! all       = other { AND other }
//! other     = { NOT } ( "(" either ")" | attribute [ test ] )
//! test      = ( = | == | != | <> | < | <= | > | >= ) value
//!           | [ NOT ] BETWEEN value AND value | [ NOT ] IN "(" value { , value } ")"
//!           | [ NOT ] ( LIKE | ILIKE | REGEX ) value | IS [ NOT ] NULL
//! ```
//!
//! An attribute alone means that it is true. Words are taken in any case, attributes as they are. A value is text in single quotes (a quote
//! within is doubled), or a word without quotes; `null` is null. What the text of a value means, a number or a boolean or just text,
//! depends on the attribute that it meets (see [`Operand`](super::Operand)). A `%` before an attribute, Hazelcast's way to keep
//! an index from being used, is taken and means nothing.
//!
//! The text is bounded ([`MAX_TEXT`]), and so is the nesting of parentheses ([`MAX_DEPTH`](super::MAX_DEPTH)). Chains of AND and OR become one flat
//! predicate, however long.

mod lexer;
mod parser;
mod print;

use super::error::{MAX_TEXT, QueryError};
use super::pattern::RegexCompiler;
use super::predicate::Predicate;

/// The predicate that the text stands for. A predicate's `Display` is the way back.
///
/// ```
/// use filbert_grid::query::sql;
///
/// let predicate = sql::parse("age >= 18 AND NOT name LIKE 'A%'")?;
/// assert_eq!(predicate.to_string(), "age >= '18' AND NOT name LIKE 'A%'");
/// let error = sql::parse("age >= ").unwrap_err();
/// assert_eq!(error.to_string(), "in the predicate text at position 7: expected a value, found the end");
/// # Ok::<(), filbert_grid::query::QueryError>(())
/// ```
pub fn parse(text: &str) -> Result<Predicate, QueryError> {
    parse_with(text, &mut RegexCompiler::default())
}

/// The same for a text that is a part of a predicate.
pub(super) fn parse_with(text: &str, regexes: &mut RegexCompiler) -> Result<Predicate, QueryError> {
    if text.len() > MAX_TEXT {
        return Err(QueryError::TooLarge {
            what: "the text of a predicate",
            size: text.len(),
            limit: MAX_TEXT,
        });
    }
    parser::Parser::new(text, regexes)?.predicate()
}

#[cfg(test)]
mod tests;
