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
use std::iter::Peekable;
use std::str::Chars;
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
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if Some(letter) == sign {
            push_escaped(&mut plain, letters.next().ok_or_else(|| unfinished(pattern))?);
            continue;
        }
        match letter {
            '[' => class(pattern, &mut letters, sign, &mut plain)?,
            '\\' => plain.push_str("\\\\"),
            '%' => plain.push_str(".*"),
            '_' => plain.push('.'),
            '(' => plain.push_str("(?:"),
            '.' | '^' | '$' => push_escaped(&mut plain, letter),
            _ => plain.push(letter),
        }
    }
    plain.push_str(")$");
    Ok(plain)
}

fn push_escaped(plain: &mut String, letter: char) {
    if !letter.is_alphanumeric() {
        plain.push('\\');
    }
    plain.push(letter);
}

/// What a minus sign in a class follows, which says what it means.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    /// The begin, a range or a named class: it is a letter.
    Begin,
    /// A letter: it makes a range, unless it is the last one.
    Letter,
    /// Another minus sign, which makes a range: it is the end of that.
    Range,
}

/// A class of letters, behind its opening bracket. Regular expressions here know operators between classes (`&&`, `--`, `~~`), SQL has none.
fn class(
    pattern: &str,
    letters: &mut Peekable<Chars<'_>>,
    sign: Option<char>,
    plain: &mut String,
) -> Result<(), SqlError> {
    plain.push('[');
    if letters.next_if_eq(&'^').is_some() {
        plain.push('^');
    }
    let mut follows = Follows::Begin;
    let mut is_first = true;
    while let Some(letter) = letters.next() {
        let then = if follows == Follows::Range { Follows::Begin } else { Follows::Letter };
        match letter {
            _ if Some(letter) == sign => {
                push_escaped(plain, letters.next().ok_or_else(|| unfinished(pattern))?);
                follows = then;
            }
            ']' if !is_first => {
                plain.push(']');
                return Ok(());
            }
            '[' if letters.peek() == Some(&':') => {
                plain.push_str(named_class(pattern, letters)?);
                follows = Follows::Begin;
            }
            '-' if follows == Follows::Letter && letters.peek() != Some(&']') => {
                plain.push('-');
                follows = Follows::Range;
            }
            '\\' | '[' | ']' | '&' | '~' | '-' | '^' => {
                push_escaped(plain, letter);
                follows = then;
            }
            _ => {
                plain.push(letter);
                follows = then;
            }
        }
        is_first = false;
    }
    Err(SqlError::Refused(format!("the pattern '{pattern}' has a [ without its ]")))
}

/// A class that has a name, such as `[:alpha:]`, behind its opening bracket.
fn named_class(pattern: &str, letters: &mut Peekable<Chars<'_>>) -> Result<&'static str, SqlError> {
    const NAMED: [(&str, &str); 12] = [
        (":alpha:]", "\\p{Alphabetic}"),
        (":digit:]", "\\d"),
        (":alnum:]", "\\p{Alphabetic}\\d"),
        (":upper:]", "\\p{Uppercase}"),
        (":lower:]", "\\p{Lowercase}"),
        (":space:]", "\\s"),
        (":blank:]", "[:blank:]"),
        (":punct:]", "[:punct:]"),
        (":cntrl:]", "[:cntrl:]"),
        (":graph:]", "[:graph:]"),
        (":print:]", "[:print:]"),
        (":xdigit:]", "[:xdigit:]"),
    ];
    let rest: String = letters.clone().collect();
    let Some((name, class)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) else {
        let text = format!(
            "the pattern '{pattern}' names a class that is not known; there are [:alpha:], [:digit:], [:alnum:] and the like"
        );
        return Err(SqlError::Refused(text));
    };
    letters.nth(name.len() - 1);
    Ok(class)
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
        assert_eq!(similar("[[:alpha:]_]+"), "^(?s:[\\p{Alphabetic}_]+)$");
        assert_eq!(similar("[^[:punct:]]%"), "^(?s:[^[:punct:]].*)$");
        assert_eq!(similar("[a&&b~~c]"), "^(?s:[a\\&\\&b\\~\\~c])$");
        assert_eq!(similar("[a-c-][+--][--/]"), "^(?s:[a-c\\-][+-\\-][\\--/])$");
        assert_eq!(similar("[]a][^]a]"), "^(?s:[\\]a][^\\]a])$");
        assert_eq!(similar("[\\]a]"), "^(?s:[\\]a])$");
        let refused = |pattern| similar_pattern(pattern, "\\").unwrap_err().to_string();
        assert!(refused("[[:letter:]]").contains("names a class that is not known"));
        assert!(refused("[a").contains("has a [ without its ]"));
    }
}
