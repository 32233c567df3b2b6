//! `Predicate`: which entries a query is about. The set that Hazelcast has, with its meaning.
//!
//! An attribute that is missing is null. Null equals null and nothing else; ordered comparisons with null are false, so their negation by
//! NOT is true: there is no third truth value. A path with `[any]` matches when one of its values does.
//!
//! Differences to Hazelcast: numbers are compared exactly, and what cannot be compared does not match instead of failing the query
//! (see [`Operand`]); regular expressions are those of the `regex` crate, without look-around and back-references, which can take
//! time beyond all bounds; `InstanceOf` knows the Java classes of the types that Hazelcast's serialization has (see
//! [`Predicate::instance_of`]).
//!
//! Evaluation recurses once per level of nesting, and nesting is bounded where predicates come in ([`super::MAX_DEPTH`]); any number of
//! predicates side by side costs no stack.

use super::attribute::Attribute;
use super::class_name;
use super::error::{MAX_DEPTH, QueryError};
use super::extract::Entry;
use super::like::LikePattern;
use super::operand::{Operand, Operands};
use super::paging::PagingPredicate;
use super::pattern::RegexPattern;
use super::sql;
use filbert_wire::Value;
use std::cmp::Ordering;

/// Which entries a query is about.
///
/// ```
/// use filbert_grid::query::{Entry, Predicate};
/// use filbert_wire::{Json, ToData, compact::NO_SCHEMAS};
/// use std::collections::BTreeMap;
///
/// let (key, value) = (1.to_data()?, Json(BTreeMap::from([("age", 36)])).to_data()?);
/// let entry = Entry::new(&key, &value, NO_SCHEMAS);
/// let grown_up = Predicate::greater_or_equal("age", 18)?;
/// assert!(grown_up.matches(&entry)?);
/// assert!(Predicate::sql("age BETWEEN 30 AND 40 AND __key = 1")?.matches(&entry)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// Every entry.
    True,
    /// No entry.
    False,
    /// What a text says.
    Sql {
        /// The text.
        text: String,
        /// What it means.
        meaning: Box<Predicate>,
    },
    /// All of them; with none, every entry.
    And(Vec<Predicate>),
    /// One of them; with none, no entry.
    Or(Vec<Predicate>),
    /// The other entries.
    Not(Box<Predicate>),
    /// Equal; null to null.
    Equal(Attribute, Operand),
    /// Not equal.
    NotEqual(Attribute, Operand),
    /// Greater or less.
    Compare(Attribute, Comparison, Operand),
    /// From the first to the second, both included.
    Between(Attribute, Operand, Operand),
    /// One of these.
    In(Attribute, Operands),
    /// Text of this form; without one, null.
    Like(Attribute, Option<LikePattern>),
    /// Text that this regular expression fits as a whole; without one, null.
    Regex(Attribute, Option<RegexPattern>),
    /// Values of this Java class.
    InstanceOf(String),
    /// A page of the entries; as a predicate, all that its own predicate matches.
    Paging(Box<PagingPredicate>),
}

/// Which way a comparison goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl Comparison {
    /// Whether an attribute that is `order` to the operand fits.
    pub(crate) fn fits(self, order: Ordering) -> bool {
        match self {
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
        }
    }

    /// Whether equal values fit.
    pub(crate) fn with_equal(self) -> bool {
        self.fits(Ordering::Equal)
    }

    /// Whether smaller values fit.
    pub(crate) fn is_less(self) -> bool {
        self.fits(Ordering::Less)
    }

    pub(crate) fn of(with_equal: bool, less: bool) -> Self {
        match (with_equal, less) {
            (false, false) => Comparison::Greater,
            (true, false) => Comparison::GreaterOrEqual,
            (false, true) => Comparison::Less,
            (true, true) => Comparison::LessOrEqual,
        }
    }
}

impl Predicate {
    /// What a text in the manner of SQL says: `active AND (age > 20 OR salary < 60000)`. See [`super::sql`] for the language.
    pub fn sql(text: impl Into<String>) -> Result<Self, QueryError> {
        let text = text.into();
        let meaning = Box::new(sql::parse(&text)?);
        Ok(Predicate::Sql { text, meaning })
    }

    /// All of `predicates`; those that are ANDs themselves are taken in.
    pub fn and(predicates: impl IntoIterator<Item = Predicate>) -> Self {
        let mut all = Vec::new();
        for predicate in predicates {
            match predicate {
                Predicate::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        Predicate::And(all)
    }

    /// One of `predicates`; those that are ORs themselves are taken in.
    pub fn or(predicates: impl IntoIterator<Item = Predicate>) -> Self {
        let mut all = Vec::new();
        for predicate in predicates {
            match predicate {
                Predicate::Or(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        Predicate::Or(all)
    }

    /// The entries that `predicate` does not match.
    #[expect(
        clippy::should_implement_trait,
        reason = "it stands beside `and` and `or`, which are no operators either"
    )]
    pub fn not(predicate: Predicate) -> Self {
        match predicate {
            Predicate::Not(inner) => *inner,
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// The attribute equals the value.
    pub fn equal(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::Equal(attribute.parse()?, value.into()))
    }

    /// The attribute does not equal the value.
    pub fn not_equal(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::NotEqual(attribute.parse()?, value.into()))
    }

    /// The attribute is greater.
    pub fn greater(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::Compare(attribute.parse()?, Comparison::Greater, value.into()))
    }

    /// The attribute is greater or equal.
    pub fn greater_or_equal(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::Compare(attribute.parse()?, Comparison::GreaterOrEqual, value.into()))
    }

    /// The attribute is less.
    pub fn less(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::Compare(attribute.parse()?, Comparison::Less, value.into()))
    }

    /// The attribute is less or equal.
    pub fn less_or_equal(attribute: &str, value: impl Into<Operand>) -> Result<Self, QueryError> {
        Ok(Predicate::Compare(attribute.parse()?, Comparison::LessOrEqual, value.into()))
    }

    /// The attribute is between the two, or equal to one.
    pub fn between(
        attribute: &str,
        from: impl Into<Operand>,
        to: impl Into<Operand>,
    ) -> Result<Self, QueryError> {
        Ok(Predicate::Between(attribute.parse()?, from.into(), to.into()))
    }

    /// The attribute is one of these.
    pub fn is_in<V: Into<Operand>>(
        attribute: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, QueryError> {
        Ok(Predicate::In(attribute.parse()?, values.into_iter().map(Into::into).collect()))
    }

    /// The attribute is text of this form: `%` is any text, `_` any one character.
    pub fn like(attribute: &str, pattern: &str) -> Result<Self, QueryError> {
        Ok(Predicate::Like(attribute.parse()?, Some(LikePattern::new(pattern)?)))
    }

    /// The same without regard to case.
    pub fn ilike(attribute: &str, pattern: &str) -> Result<Self, QueryError> {
        Ok(Predicate::Like(attribute.parse()?, Some(LikePattern::ignoring_case(pattern)?)))
    }

    /// The attribute is text that the expression fits from start to end.
    pub fn regex(attribute: &str, pattern: &str) -> Result<Self, QueryError> {
        Ok(Predicate::Regex(attribute.parse()?, Some(RegexPattern::new(pattern)?)))
    }

    /// The value is of this Java class: `java.lang.Integer` for an int, `com.hazelcast.core.HazelcastJsonValue` for JSON, the type name of
    /// a Compact object; `java.lang.Number`, `Comparable` and `Object` for what they stand above. No value is of any other class.
    pub fn instance_of(class_name: impl Into<String>) -> Self {
        Predicate::InstanceOf(class_name.into())
    }

    /// Whether the entry is one of those. An error when an attribute cannot be read at all.
    pub fn matches(&self, entry: &Entry<'_>) -> Result<bool, QueryError> {
        let any = |attribute: &Attribute, fits: &dyn Fn(&Value) -> bool| {
            entry.look(attribute, |extracted| extracted.values().iter().any(fits))
        };
        match self {
            Predicate::True => Ok(true),
            Predicate::False => Ok(false),
            Predicate::Sql { meaning, .. } => meaning.matches(entry),
            Predicate::And(all) => {
                for predicate in all {
                    if !predicate.matches(entry)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Predicate::Or(all) => {
                for predicate in all {
                    if predicate.matches(entry)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Predicate::Not(other) => Ok(!other.matches(entry)?),
            Predicate::Equal(attribute, operand) => any(attribute, &|value| operand.equals(value)),
            Predicate::NotEqual(attribute, operand) => {
                any(attribute, &|value| operand.equals(value)).map(|equal| !equal)
            }
            Predicate::Compare(attribute, comparison, operand) => {
                any(attribute, &|value| operand.order(value).is_some_and(|order| comparison.fits(order)))
            }
            Predicate::Between(attribute, from, to) => any(attribute, &|value| {
                from.order(value).is_some_and(Ordering::is_ge) && to.order(value).is_some_and(Ordering::is_le)
            }),
            Predicate::In(attribute, operands) => any(attribute, &|value| operands.contain(value)),
            Predicate::Like(attribute, pattern) => any(attribute, &|value| match (pattern, value) {
                (None, value) => value.is_null(),
                (Some(pattern), Value::String(text)) => pattern.matches(text),
                _ => false,
            }),
            Predicate::Regex(attribute, pattern) => any(attribute, &|value| match (pattern, value) {
                (None, value) => value.is_null(),
                (Some(pattern), Value::String(text)) => pattern.matches(text),
                _ => false,
            }),
            Predicate::InstanceOf(class) => Ok(class_name::is_instance(entry, class)),
            Predicate::Paging(paging) => match paging.predicate() {
                Some(predicate) => predicate.matches(entry),
                None => Ok(true),
            },
        }
    }

    /// Whether it may take long to ask about one entry: it has more than 64 parts, or a pattern, which a large text is compared with.
    pub(crate) fn is_long(&self) -> bool {
        let (mut count, mut open) = (0, vec![self]);
        while let Some(predicate) = open.pop() {
            match predicate {
                Predicate::And(all) | Predicate::Or(all) if all.len() > 64 => return true,
                Predicate::Like(..) | Predicate::Regex(..) => return true,
                Predicate::And(all) | Predicate::Or(all) => open.extend(all),
                Predicate::Not(inner) | Predicate::Sql { meaning: inner, .. } => open.push(inner),
                Predicate::Paging(paging) => open.extend(paging.predicate()),
                _ => {}
            }
            count += 1;
            if count > 64 {
                return true;
            }
        }
        false
    }

    /// Refuses a predicate that is nested deeper than [`MAX_DEPTH`]: evaluated, it would need as much stack. Those that were parsed
    /// or decoded never are; the text of an SQL predicate is bounded on its own.
    pub fn check_depth(&self) -> Result<(), QueryError> {
        let mut level = vec![self];
        for _ in 0..MAX_DEPTH {
            let mut next = Vec::new();
            for predicate in level {
                match predicate {
                    Predicate::And(all) | Predicate::Or(all) => next.extend(all),
                    Predicate::Not(inner) => next.push(inner),
                    Predicate::Paging(paging) => next.extend(paging.predicate()),
                    _ => {}
                }
            }
            if next.is_empty() {
                return Ok(());
            }
            level = next;
        }
        Err(QueryError::TooDeep { limit: MAX_DEPTH })
    }
}
