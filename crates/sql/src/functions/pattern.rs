//! Patterns of `LIKE ... ESCAPE` and `SIMILAR TO` in the words of the operators that the engine has.
//!
//! DataFusion knows the backslash alone as the sign that takes the meaning from the next letter, and takes a pattern of `SIMILAR TO` for a
//! regular expression that may match anywhere.

use super::plain::{PlainFunction, texts};
use crate::error::SqlError;
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::logical_expr::{ScalarUDF, Signature, Volatility};
use std::sync::Arc;

/// Makes a pattern of `LIKE` with another sign one with the backslash.
pub(crate) const LIKE_PATTERN: &str = "__like_pattern";

/// Makes a regular expression of a pattern of `SIMILAR TO`.
pub(crate) const SIMILAR_PATTERN: &str = "__similar_pattern";

pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    let two = || Signature::string(2, Volatility::Immutable);
    let text = || Field::new("pattern", DataType::Utf8, true);
    vec![
        PlainFunction::function(LIKE_PATTERN, two(), text(), |args| changed(args, like_pattern)),
        PlainFunction::function(SIMILAR_PATTERN, two(), text(), |args| changed(args, similar_pattern)),
    ]
}

fn changed(args: &[ArrayRef], change: fn(&str, &str) -> Result<String, SqlError>) -> Result<ArrayRef> {
    let (patterns, escapes) = (texts(&args[0])?, texts(&args[1])?);
    let each = patterns.iter().zip(escapes.iter()).map(|both| match both {
        (Some(pattern), Some(escape)) => change(pattern, escape).map(Some).map_err(SqlError::into_plan),
        _ => Ok(None),
    });
    Ok(Arc::new(each.collect::<Result<StringArray>>()?))
}

/// The one letter that an `ESCAPE` names; nothing for `''`, with which every letter keeps its meaning.
fn sign(escape: &str) -> Result<Option<char>, SqlError> {
    let mut letters = escape.chars();
    match (letters.next(), letters.next()) {
        (sign, None) => Ok(sign),
        _ => Err(SqlError::Refused(format!("ESCAPE takes one character or none, not '{escape}'"))),
    }
}

fn unfinished(pattern: &str) -> SqlError {
    SqlError::Refused(format!("the pattern '{pattern}' ends with its escape character; nothing follows it"))
}

/// A pattern of `LIKE` as the engine reads it.
pub(crate) fn like_pattern(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let sign = sign(escape)?;
    let mut plain = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if Some(letter) == sign {
            plain.push('\\');
            plain.push(letters.next().ok_or_else(|| unfinished(pattern))?);
        } else if letter == '\\' {
            plain.push_str("\\\\");
        } else {
            plain.push(letter);
        }
    }
    Ok(plain)
}

/// A pattern of `SIMILAR TO` as a regular expression that matches a whole text.
pub(crate) fn similar_pattern(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let sign = sign(escape)?;
    let mut plain = String::from("^(?s:");
    let mut letters = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        if Some(letter) == sign {
            let next = letters.next().ok_or_else(|| unfinished(pattern))?;
            if !next.is_alphanumeric() {
                plain.push('\\');
            }
            plain.push(next);
            continue;
        }
        match letter {
            '\\' => plain.push_str("\\\\"),
            ']' if in_class => {
                in_class = false;
                plain.push(']');
            }
            '[' if !in_class => {
                in_class = true;
                plain.push('[');
            }
            '[' => plain.push_str("\\["),
            _ if in_class => plain.push(letter),
            '%' => plain.push_str(".*"),
            '_' => plain.push('.'),
            '(' => plain.push_str("(?:"),
            '.' | '^' | '$' => {
                plain.push('\\');
                plain.push(letter);
            }
            _ => plain.push(letter),
        }
    }
    plain.push_str(")$");
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_said_with_a_backslash() {
        let like = |pattern, escape| like_pattern(pattern, escape).map_err(|error| error.to_string());
        assert_eq!(like("a!%b%", "!").as_deref(), Ok("a\\%b%"));
        assert_eq!(like("a!!_", "!").as_deref(), Ok("a\\!_"));
        assert_eq!(like("a\\_", "!").as_deref(), Ok("a\\\\_"));
        assert_eq!(like("a\\_", "\\").as_deref(), Ok("a\\_"));
        assert_eq!(like("a\\_", "").as_deref(), Ok("a\\\\_"));
        assert!(like("a!", "!").unwrap_err().contains("ends with its escape character"));
        assert!(like("a", "!!").unwrap_err().contains("one character"));
    }

    #[test]
    fn a_similar_pattern_matches_a_whole_text() {
        let similar = |pattern| similar_pattern(pattern, "\\").unwrap();
        assert_eq!(similar("p1%"), "^(?s:p1.*)$");
        assert_eq!(similar("a.|_(b|c)+[^d%]{2}"), "^(?s:a\\.|.(?:b|c)+[^d%]{2})$");
        assert_eq!(similar("50\\%"), "^(?s:50\\%)$");
        assert_eq!(similar("^a$"), "^(?s:\\^a\\$)$");
    }
}
