//! Predicates as the text that they parse from. What has no form there (the class of a value, a page, an empty list) is printed for people.

use super::lexer::ends_word;
use super::parser::KEYWORDS;
use crate::query::attribute::Attribute;
use crate::query::operand::Operand;
use crate::query::predicate::{Comparison, Predicate};
use filbert_wire::Value;
use std::fmt::{Display, Formatter, Result};

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
        })
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Predicate::True => f.write_str("TRUE"),
            Predicate::False => f.write_str("FALSE"),
            Predicate::Sql { meaning, .. } => meaning.fmt(f),
            Predicate::And(all) if all.is_empty() => f.write_str("TRUE"),
            Predicate::Or(all) if all.is_empty() => f.write_str("FALSE"),
            Predicate::And(all) => joined(f, all, " AND "),
            Predicate::Or(all) => joined(f, all, " OR "),
            Predicate::Not(other) => {
                f.write_str("NOT ")?;
                within(f, other)
            }
            Predicate::Equal(attribute, operand) => write!(f, "{} = {}", Path(attribute), Literal(operand)),
            Predicate::NotEqual(attribute, operand) => {
                write!(f, "{} <> {}", Path(attribute), Literal(operand))
            }
            Predicate::Compare(attribute, comparison, operand) => {
                write!(f, "{} {comparison} {}", Path(attribute), Literal(operand))
            }
            Predicate::Between(attribute, from, to) => {
                write!(f, "{} BETWEEN {} AND {}", Path(attribute), Literal(from), Literal(to))
            }
            Predicate::In(attribute, operands) => {
                write!(f, "{} IN (", Path(attribute))?;
                for (number, operand) in operands.as_slice().iter().enumerate() {
                    let comma = if number == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Literal(operand))?;
                }
                f.write_str(")")
            }
            Predicate::Like(attribute, pattern) => {
                let word = if pattern.as_ref().is_some_and(|pattern| pattern.ignores_case()) {
                    "ILIKE"
                } else {
                    "LIKE"
                };
                let text = pattern.as_ref().map(|pattern| pattern.as_str());
                write!(f, "{} {word} {}", Path(attribute), Text(text))
            }
            Predicate::Regex(attribute, pattern) => {
                let text = pattern.as_ref().map(|pattern| pattern.as_str());
                write!(f, "{} REGEX {}", Path(attribute), Text(text))
            }
            Predicate::InstanceOf(class) => write!(f, "INSTANCE OF {class}"),
            Predicate::Paging(paging) => {
                write!(f, "PAGE {} OF {} ENTRIES", paging.page(), paging.page_size())?;
                paging.predicate().map_or(Ok(()), |predicate| write!(f, " WHERE {predicate}"))
            }
        }
    }
}

fn joined(f: &mut Formatter<'_>, all: &[Predicate], word: &str) -> Result {
    for (number, predicate) in all.iter().enumerate() {
        if number > 0 {
            f.write_str(word)?;
        }
        within(f, predicate)?;
    }
    Ok(())
}

/// In parentheses where it would otherwise mean something else.
fn within(f: &mut Formatter<'_>, predicate: &Predicate) -> Result {
    match predicate {
        Predicate::And(_) | Predicate::Or(_) | Predicate::Sql { .. } | Predicate::Paging(_) => {
            write!(f, "({predicate})")
        }
        other => other.fmt(f),
    }
}

struct Path<'a>(&'a Attribute);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let path = self.0.as_str();
        let keyword = KEYWORDS.iter().any(|keyword| path.eq_ignore_ascii_case(keyword));
        if keyword || path.contains(ends_word) || path.starts_with('%') {
            Text(Some(path)).fmt(f)
        } else {
            f.write_str(path)
        }
    }
}

/// Text in quotes; `None` is null.
struct Text<'a>(Option<&'a str>);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Some(text) => write!(f, "'{}'", text.replace('\'', "''")),
            None => f.write_str("null"),
        }
    }
}

struct Literal<'a>(&'a Operand);

impl Display for Literal<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let text = self.0.forms().find_map(|form| match form {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        });
        match text {
            None if !self.0.is_null() => Text(Some(&format!("{:?}", self.0.value()))).fmt(f),
            text => Text(text).fmt(f),
        }
    }
}
