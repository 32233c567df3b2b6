//! `PREPARE` and `EXECUTE`: prepared statements by SQL. They are those of the protocol, with the same names and limits.

use super::local::{Token, skipped, token};
use super::values::type_by_name;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token as Word;

/// `PREPARE name (types) AS statement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Preparation {
    pub(super) name: String,
    /// The oids of the types; 0 for one that is left open.
    pub(super) types: Vec<u32>,
    pub(super) text: String,
}

/// `EXECUTE name (values)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: usize,
    /// Gives the values as one row; empty without any.
    pub(super) select: String,
}

/// Types of one statement; the protocol counts no more.
const MOST_TYPES: usize = 65_535;

/// Arguments that are nested deeper are not read: parsing takes stack.
const MOST_DEPTH: usize = 250;

impl Preparation {
    /// Reads what follows the first word; `None` when that is something else.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, rest) = token(text)?;
        let name = name.name()?;
        let (mut next, mut rest) = token(rest)?;
        let mut types = Vec::new();
        if next == Token::Sign('(') {
            (types, rest) = read_types(rest)?;
            (next, rest) = token(rest)?;
        }
        let text = skipped(rest)?.trim_end().trim_end_matches(';');
        (next.is("as") && !text.is_empty()).then(|| Self { name, types, text: text.to_owned() })
    }
}

/// The oids of types up to the closing parenthesis, and what follows it.
fn read_types(text: &str) -> Option<(Vec<u32>, &str)> {
    let (mut types, mut name, mut rest) = (Vec::new(), String::new(), text);
    let mut within = false;
    loop {
        let (next, tail) = token(rest)?;
        rest = tail;
        match next {
            // The length of a varchar and the like.
            Token::Sign('(') => within = true,
            Token::Sign(')') if within => within = false,
            _ if within => {}
            Token::Sign(sign @ (',' | ')')) => {
                let oid = match name.trim() {
                    "unknown" => 0,
                    known => type_by_name(known)?.oid(),
                };
                if types.len() == MOST_TYPES {
                    return None;
                }
                types.push(oid);
                if sign == ')' {
                    return Some((types, rest));
                }
                name.clear();
            }
            Token::Sign(sign @ ('[' | ']' | '.')) => {
                name.truncate(name.trim_end().len());
                name.push(sign);
            }
            Token::Sign(_) => return None,
            word => {
                if !name.is_empty() && !name.ends_with('.') {
                    name.push(' ');
                }
                name.push_str(&word.name()?);
            }
        }
    }
}

impl Call {
    /// Reads what follows the first word; `None` when that is something else.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, rest) = token(text)?;
        let name = name.name()?;
        let rest = skipped(rest)?.trim_end().trim_end_matches(';');
        if rest.is_empty() {
            return Some(Self { name, arguments: 0, select: String::new() });
        }
        filbert_sql::check_depth(rest, MOST_DEPTH).ok()?;
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(rest).ok()?;
        parser.expect_token(&Word::LParen).ok()?;
        let arguments = match parser.consume_token(&Word::RParen) {
            true => Vec::new(),
            false => {
                let arguments = parser.parse_comma_separated(Parser::parse_expr).ok()?;
                parser.expect_token(&Word::RParen).ok()?;
                arguments
            }
        };
        parser.expect_token(&Word::EOF).ok()?;
        let columns: Vec<String> =
            arguments.iter().enumerate().map(|(at, value)| format!("{value} AS a{at}")).collect();
        let select =
            if columns.is_empty() { String::new() } else { format!("SELECT {}", columns.join(", ")) };
        Some(Self { name, arguments: columns.len(), select })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preparations_are_read() {
        let read = |text: &str| Preparation::read(text).map(|read| (read.name, read.types, read.text));
        assert_eq!(read(" A as SELECT 1;"), Some(("a".into(), vec![], "SELECT 1".into())));
        assert_eq!(
            read(
                " \"A\"(int, VARCHAR(10), timestamp with time zone, text [], pg_catalog.int8, unknown) /* x */ AS\nSELECT $1"
            ),
            Some(("A".into(), vec![23, 1043, 1184, 1009, 20, 0], "SELECT $1".into()))
        );
        for wrong in [
            "",
            " a",
            " a AS ",
            " a SELECT 1",
            " a (int AS SELECT 1",
            " a (heap) AS SELECT 1",
            " TRANSACTION 'x'",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn calls_are_read() {
        let read = |text: &str| Call::read(text).map(|read| (read.name, read.arguments, read.select));
        assert_eq!(read(" a"), Some(("a".into(), 0, String::new())));
        assert_eq!(read(" a();"), Some(("a".into(), 0, String::new())));
        assert_eq!(
            read(" \"A\"(1 + 1, 'x,)', f(2))"),
            Some(("A".into(), 3, "SELECT 1 + 1 AS a0, 'x,)' AS a1, f(2) AS a2".into()))
        );
        let deep = format!(" a({}1{})", "(".repeat(10_000), ")".repeat(10_000));
        for wrong in ["", " a(", " a(1", " a(1) b", " a 1", deep.as_str()] {
            assert_eq!(read(wrong), None, "{}", &wrong[..wrong.len().min(20)]);
        }
    }
}
