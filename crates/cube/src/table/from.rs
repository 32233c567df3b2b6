//! What a user calls a table of a database, as a part of a statement: a name, or a query.

use super::select::quoted;
use crate::error::CubeError;
use std::sync::Arc;

/// The name of a table for messages, and what stands after `FROM`.
pub(super) fn from(table: &str) -> Result<(Arc<str>, String), CubeError> {
    let table = table.trim();
    let first = table.split(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or("");
    let is_query = first.len() < table.len()
        && ["", "select", "with", "values", "table", "from"]
            .iter()
            .any(|word| first.eq_ignore_ascii_case(word));
    if is_query {
        // On a line of its own: the query may end with a comment.
        return Ok(("query".into(), format!("({}\n) AS query", table.trim_end_matches(';'))));
    }
    let invalid = || CubeError::InvalidTable {
        table: table.to_owned(),
        problem:
            "this is no name of a table; write table, schema.table or \"Schema\".\"table.x\", or a SELECT"
                .to_owned(),
    };
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = table.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => part.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            '\0' => return Err(invalid()),
            other => part.push(other),
        }
    }
    parts.push(part);
    if is_quoted || parts.len() > 3 || parts.iter().any(String::is_empty) {
        return Err(invalid());
    }
    let parts: Vec<String> = parts.iter().map(|part| quoted(part)).collect();
    Ok((table.into(), parts.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_name_or_a_query() {
        let written = |table: &str| from(table).map(|(_, from)| from).map_err(|error| error.to_string());
        assert_eq!(written("trades").unwrap(), r#""trades""#);
        assert_eq!(written("risk.Trades").unwrap(), r#""risk"."Trades""#);
        assert_eq!(written(r#""a.b"."c""d""#).unwrap(), r#""a.b"."c""d""#);
        assert_eq!(written("selection").unwrap(), r#""selection""#);
        assert_eq!(written("SELECT 1 AS x;").unwrap(), "(SELECT 1 AS x\n) AS query");
        assert_eq!(written("(select 1)").unwrap(), "((select 1)\n) AS query");
        for wrong in ["", "a..b", "\"a", "a.b.c.d", "select"] {
            assert!(written(wrong).is_err() == (wrong != "select"), "{wrong}");
        }
    }
}
