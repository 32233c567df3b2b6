//! Filters as people write them: `ccy = 'EUR' and (desk in ('FX', 'Rates') or not book like 'test%')`.

use super::pattern::{MOST_PATTERNS, too_many_patterns};
use super::{Comparison, Filter, Matcher, Pattern};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::syntax::{Kind, MAX_DEPTH, Token, Tokens};
use std::str::FromStr;

const KEYWORDS: [&str; 9] = ["and", "or", "not", "in", "is", "like", "null", "true", "false"];

/// True for words that a bare name cannot be.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

impl FromStr for Filter {
    type Err = CubeError;

    fn from_str(text: &str) -> Result<Self, CubeError> {
        let mut tokens = Tokens::of(text, Kind::Filter)?;
        // Each is compiled while it is read.
        if tokens.count(&["~", "!~"]) > MOST_PATTERNS {
            return Err(tokens.error(too_many_patterns()));
        }
        let filter = any(&mut tokens, 0)?;
        tokens.expect_end()?;
        Ok(filter)
    }
}

fn any(tokens: &mut Tokens, depth: usize) -> Result<Filter, CubeError> {
    let mut filters = vec![all(tokens, depth)?];
    while tokens.take_word("or") {
        filters.push(all(tokens, depth)?);
    }
    Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::Or(filters) })
}

fn all(tokens: &mut Tokens, depth: usize) -> Result<Filter, CubeError> {
    let mut filters = vec![one(tokens, depth)?];
    while tokens.take_word("and") {
        filters.push(one(tokens, depth)?);
    }
    Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::And(filters) })
}

fn one(tokens: &mut Tokens, depth: usize) -> Result<Filter, CubeError> {
    if depth > MAX_DEPTH {
        return Err(tokens.error(format!("it is nested deeper than {MAX_DEPTH} levels; write it flatter")));
    }
    if tokens.take_word("not") {
        return Ok(one(tokens, depth + 1)?.negated());
    }
    if tokens.take_sign("(") {
        let inner = any(tokens, depth + 1)?;
        tokens.expect_sign(")")?;
        return Ok(inner);
    }
    if tokens.take_word("true") {
        return Ok(Filter::All);
    }
    if tokens.take_word("false") {
        return Ok(Filter::None);
    }
    condition(tokens)
}

fn condition(tokens: &mut Tokens) -> Result<Filter, CubeError> {
    let column = match tokens.peek() {
        Some(Token::Name(name)) if !is_keyword(name) => name.clone(),
        Some(Token::Quoted(name)) => name.clone(),
        _ => return Err(tokens.error("a column is expected here".to_owned())),
    };
    tokens.take();
    if tokens.take_word("is") {
        let negated = tokens.take_word("not");
        if !tokens.take_word("null") {
            return Err(tokens.error("null is expected after is".to_owned()));
        }
        return Ok(negate_if(negated, Filter::is_null(&column)));
    }
    let negated = tokens.take_word("not");
    if tokens.take_word("in") {
        return Ok(negate_if(negated, Filter::is_in(&column, list(tokens)?)));
    }
    if tokens.take_word("like") {
        let pattern = text(tokens)?;
        return Ok(negate_if(negated, Filter::like(&column, &pattern)));
    }
    if negated {
        return Err(tokens.error("in or like is expected after not".to_owned()));
    }
    let Some(Token::Sign(sign)) = tokens.peek().cloned() else {
        return Err(tokens.error("=, <>, <, <=, >, >=, ~, in, like or is is expected here".to_owned()));
    };
    tokens.take();
    let comparison = match sign {
        "=" => return Ok(Filter::equals(&column, literal(tokens)?)),
        "<>" | "!=" => return Ok(Filter::equals(&column, literal(tokens)?).negated()),
        "~" | "!~" => {
            let pattern = Pattern::new(&text(tokens)?);
            if pattern.as_regex().is_none() {
                return Err(
                    tokens.error(format!("{pattern:?} is not a regular expression, or too large a one"))
                );
            }
            let matcher = Matcher::Regex(pattern);
            return Ok(negate_if(sign == "!~", Filter::Column(column.into(), matcher)));
        }
        "<" => Comparison::Less,
        "<=" => Comparison::AtMost,
        ">" => Comparison::Greater,
        ">=" => Comparison::AtLeast,
        other => return Err(tokens.error(format!("{other} does not compare; use =, <>, <, <=, >, >= or ~"))),
    };
    match literal(tokens)? {
        Coordinate::Null => Err(tokens.error("nothing is less or greater than null; use is null".to_owned())),
        value => Ok(Filter::compare(&column, comparison, value)),
    }
}

fn negate_if(negated: bool, filter: Filter) -> Filter {
    if negated { filter.negated() } else { filter }
}

fn list(tokens: &mut Tokens) -> Result<Vec<Coordinate>, CubeError> {
    tokens.expect_sign("(")?;
    let mut values = Vec::new();
    if tokens.take_sign(")") {
        return Ok(values);
    }
    loop {
        values.push(literal(tokens)?);
        if tokens.take_sign(")") {
            return Ok(values);
        }
        tokens.expect_sign(",")?;
    }
}

fn text(tokens: &mut Tokens) -> Result<String, CubeError> {
    match tokens.take() {
        Some(Token::Text(text)) => Ok(text),
        _ => Err(tokens.error("a text in single quotes is expected before this".to_owned())),
    }
}

fn literal(tokens: &mut Tokens) -> Result<Coordinate, CubeError> {
    let negative = tokens.take_sign("-");
    let value = match tokens.peek() {
        Some(Token::Int(value)) => Coordinate::Int(if negative { -value } else { *value }),
        Some(Token::Float(value)) => Coordinate::Float(if negative { -value } else { *value }),
        Some(Token::Text(text)) if !negative => Coordinate::Text(text.as_str().into()),
        Some(token) if !negative && token.is_word("null") => Coordinate::Null,
        Some(token) if !negative && token.is_word("true") => Coordinate::Bool(true),
        Some(token) if !negative && token.is_word("false") => Coordinate::Bool(false),
        Some(Token::Name(word) | Token::Quoted(word)) if !is_keyword(word) => {
            let text = word.replace('\'', "''");
            return Err(tokens.error(format!("a text stands in single quotes: '{text}'")));
        }
        _ => {
            return Err(tokens.error(
                "a number, a text in single quotes, true, false or null is expected here".to_owned(),
            ));
        }
    };
    tokens.take();
    Ok(value)
}
