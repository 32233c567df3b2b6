//! A condition on one column.

use super::pattern::Pattern;
use crate::coordinate::Coordinate;
use crate::exact;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// What the value of a column must be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Matcher {
    /// One of these; none of them is [`Coordinate::Null`].
    In(BTreeSet<Coordinate>),
    /// Missing.
    Null,
    /// In this relation to a value.
    Compare(Comparison, Coordinate),
    /// A text like this pattern: `%` is any text, `_` any letter.
    Like(Pattern),
    /// A text with a part that this regular expression describes.
    Regex(Pattern),
}

/// A relation between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// True when a value that compares so with the other one is in this relation.
    pub(crate) fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// How two values of one column compare; nothing when they are of different kinds.
pub(crate) fn compare(a: &Coordinate, b: &Coordinate) -> Option<Ordering> {
    match (a, b) {
        (Coordinate::Int(a), Coordinate::Float(b)) => Some(exact::compare_int_float(*a, *b)),
        (Coordinate::Float(a), Coordinate::Int(b)) => Some(exact::compare_int_float(*b, *a).reverse()),
        (Coordinate::Int(_), Coordinate::Int(_))
        | (Coordinate::Text(_), Coordinate::Text(_))
        | (Coordinate::Bool(_), Coordinate::Bool(_))
        | (Coordinate::Float(_), Coordinate::Float(_)) => Some(a.cmp(b)),
        _ => None,
    }
}

impl Matcher {
    /// Whether a value matches; nothing when only the data can tell.
    pub(crate) fn matches(&self, value: &Coordinate) -> Option<bool> {
        match (self, value) {
            (Self::Null, value) => Some(*value == Coordinate::Null),
            (_, Coordinate::Null) => Some(false),
            (Self::In(values), value) => Some(values.contains(value)),
            (Self::Compare(comparison, bound), value) => {
                compare(value, bound).map(|ordering| comparison.holds(ordering))
            }
            (Self::Like(pattern), Coordinate::Text(text)) => {
                pattern.as_like().map(|regex| regex.is_match(text))
            }
            (Self::Regex(pattern), Coordinate::Text(text)) => {
                pattern.as_regex().map(|regex| regex.is_match(text))
            }
            (Self::Like(_) | Self::Regex(_), _) => None,
        }
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, column: &str) -> fmt::Result {
        let column = Name(column);
        match self {
            Self::Null => write!(f, "{column} is null"),
            Self::In(values) => match (values.len(), values.first()) {
                (0, _) | (_, None) => write!(f, "{column} in ()"),
                (1, Some(value)) => write!(f, "{column} = {}", Literal(value)),
                _ => {
                    write!(f, "{column} in (")?;
                    for (index, value) in values.iter().enumerate() {
                        write!(f, "{}{}", if index == 0 { "" } else { ", " }, Literal(value))?;
                    }
                    f.write_str(")")
                }
            },
            Self::Compare(comparison, bound) => {
                write!(f, "{column} {} {}", comparison.sign(), Literal(bound))
            }
            Self::Like(pattern) => write!(f, "{column} like '{}'", pattern.as_str().replace('\'', "''")),
            Self::Regex(pattern) => write!(f, "{column} ~ '{}'", pattern.as_str().replace('\'', "''")),
        }
    }
}

/// A column's name as it is written in a text.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        let is_bare = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.'))
            && !super::text::is_keyword(self.0);
        if is_bare { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0.replace('"', "\"\"")) }
    }
}

/// A value as it is written in a text.
pub(crate) struct Literal<'a>(pub(crate) &'a Coordinate);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Coordinate::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            other => other.fmt(f),
        }
    }
}
