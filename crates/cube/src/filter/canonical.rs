//! One form for equal filters, so that equal steps are computed once.
//!
//! NOT is pushed down to the conditions; AND and OR are flattened, sorted and freed of repetitions; conditions on one column become one;
//! what another condition of the same AND implies goes, what it contradicts ends the branch; common parts of alternatives move out. All of
//! this is written for AND alone: an OR is the negation of an AND of negations, exactly, because the logic has two values.
//!
//! The cost is bounded: a filter of more than [`LARGE`] nodes is only flattened, sorted and packed by column, which is linear but for the
//! sorting. The form is then not the smallest, which costs a step that could have been shared, never a wrong answer.
//!
//! Rejected: normal forms (CNF, DNF), which are exponential; binary decision diagrams, which need an order of conditions and lose the text.

use super::column::compare;
use super::{Comparison, Filter, Matcher};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Above this many nodes only linear rules are used.
const LARGE: usize = 1_024;

/// How often the rules are run over a filter; they hardly ever change anything the third time.
const ROUNDS: usize = 4;

impl Filter {
    /// The filter with every value as the column's type has it; a value that the type cannot have matches nothing, but one that is no date or
    /// time is an error where the column has these.
    pub(crate) fn typed(&self, type_of: &dyn Fn(&str) -> Option<DataType>) -> Result<Filter, CubeError> {
        let each =
            |filters: &[Filter]| filters.iter().map(|filter| filter.typed(type_of)).collect::<Result<_, _>>();
        Ok(match self {
            Self::All | Self::None => self.clone(),
            Self::Not(inner) => inner.typed(type_of)?.negated(),
            Self::And(all) => Self::And(each(all)?),
            Self::Or(any) => Self::Or(each(any)?),
            Self::Column(column, matcher) => match (matcher, type_of(column)) {
                (_, None) => self.clone(),
                (Matcher::In(values), Some(data_type)) => {
                    let typed = values.iter().map(|value| value.typed_in(column, &data_type));
                    let typed: Vec<Option<Coordinate>> = typed.collect::<Result<_, _>>()?;
                    Self::is_in(column, typed.into_iter().flatten())
                }
                (Matcher::Compare(comparison, bound), Some(data_type)) => {
                    let typed = bound.typed_in(column, &data_type)?;
                    Self::compare(column, *comparison, typed.unwrap_or_else(|| bound.clone()))
                }
                (Matcher::Null | Matcher::Like(_) | Matcher::Regex(_), Some(_)) => self.clone(),
            },
        })
    }

    /// The form that equal filters share.
    #[must_use]
    pub fn canonical(&self) -> Filter {
        let mut filter = nnf(self, false);
        let thorough = size(&filter) <= LARGE;
        for _ in 0..ROUNDS {
            let simpler = simplify(filter.clone(), thorough);
            if simpler == filter {
                break;
            }
            filter = simpler;
        }
        filter
    }
}

fn size(filter: &Filter) -> usize {
    let (mut nodes, mut rest) = (0, vec![filter]);
    while let Some(filter) = rest.pop() {
        nodes += 1;
        match filter {
            Filter::All | Filter::None | Filter::Column(..) => {}
            Filter::Not(inner) => rest.push(inner),
            Filter::And(all) | Filter::Or(all) => rest.extend(all),
        }
    }
    nodes
}

/// The filter or its negation, with NOT at conditions only.
fn nnf(filter: &Filter, negate: bool) -> Filter {
    let each = |filters: &[Filter]| filters.iter().map(|filter| nnf(filter, negate)).collect();
    match (filter, negate) {
        (Filter::All, false) | (Filter::None, true) => Filter::All,
        (Filter::None, false) | (Filter::All, true) => Filter::None,
        (Filter::Column(..), false) => filter.clone(),
        (Filter::Column(..), true) => Filter::Not(Box::new(filter.clone())),
        (Filter::Not(inner), _) => nnf(inner, !negate),
        (Filter::And(all), false) | (Filter::Or(all), true) => Filter::And(each(all)),
        (Filter::Or(any), false) | (Filter::And(any), true) => Filter::Or(each(any)),
    }
}

fn simplify(filter: Filter, thorough: bool) -> Filter {
    match filter {
        Filter::And(all) => {
            all_of(all.into_iter().map(|filter| simplify(filter, thorough)).collect(), thorough)
        }
        Filter::Or(any) => {
            let negated = any.into_iter().map(|filter| nnf(&simplify(filter, thorough), true)).collect();
            nnf(&all_of(negated, thorough), true)
        }
        Filter::Column(_, Matcher::In(values)) if values.is_empty() => Filter::None,
        Filter::Not(inner) => match &*inner {
            Filter::Column(_, Matcher::In(values)) if values.is_empty() => Filter::All,
            _ => Filter::Not(inner),
        },
        other => other,
    }
}

/// The AND of simplified filters.
fn all_of(filters: Vec<Filter>, thorough: bool) -> Filter {
    let (mut conditions, mut others) = (BTreeMap::<Arc<str>, Vec<Condition>>::new(), Vec::new());
    let mut rest = filters;
    while let Some(filter) = rest.pop() {
        match filter {
            Filter::All => {}
            Filter::None => return Filter::None,
            Filter::And(all) => rest.extend(all),
            filter => match Condition::of(&filter) {
                Some((column, condition)) => conditions.entry(column).or_default().push(condition),
                None => others.push(filter),
            },
        }
    }
    let mut all = Vec::new();
    for (column, conditions) in conditions {
        match pack(conditions) {
            None => return Filter::None,
            Some(packed) => all.extend(packed.into_iter().map(|condition| condition.on(&column))),
        }
    }
    if thorough {
        others = match reduce(&all, others) {
            None => return Filter::None,
            Some(others) => others,
        };
    }
    all.extend(others);
    all.sort();
    all.dedup();
    if thorough && let Some(factored) = factored(&all) {
        return factored;
    }
    match all.len() {
        0 => Filter::All,
        1 => all.remove(0),
        _ => Filter::And(all),
    }
}

/// A condition on a column, or its negation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    matcher: Matcher,
    negated: bool,
}

impl Condition {
    fn of(filter: &Filter) -> Option<(Arc<str>, Condition)> {
        let (filter, negated) = match filter {
            Filter::Not(inner) => (&**inner, true),
            other => (other, false),
        };
        let Filter::Column(column, matcher) = filter else { return None };
        Some((Arc::clone(column), Condition { matcher: matcher.clone(), negated }))
    }

    fn on(self, column: &Arc<str>) -> Filter {
        let filter = Filter::Column(Arc::clone(column), self.matcher);
        if self.negated { Filter::Not(Box::new(filter)) } else { filter }
    }

    fn matches(&self, value: &Coordinate) -> Option<bool> {
        self.matcher.matches(value).map(|matches| matches != self.negated)
    }
}

/// The fewest conditions on one column that mean the same as all of these; nothing when they contradict each other.
fn pack(conditions: Vec<Condition>) -> Option<Vec<Condition>> {
    let mut values: Option<BTreeSet<Coordinate>> = None;
    let (mut excluded, mut bounds, mut others) = (BTreeSet::new(), Bounds::default(), Vec::new());
    let (mut is_null, mut not_null) = (false, false);
    for Condition { matcher, negated } in conditions {
        match (matcher, negated) {
            (Matcher::In(set), false) => {
                values = Some(match values {
                    None => set,
                    Some(known) => known.intersection(&set).cloned().collect(),
                });
            }
            (Matcher::In(set), true) => excluded.extend(set),
            (Matcher::Null, false) => is_null = true,
            (Matcher::Null, true) => not_null = true,
            (Matcher::Compare(comparison, bound), negated) => bounds.add(comparison, bound, negated),
            (matcher, negated) => {
                let condition = Condition { matcher, negated };
                if !others.contains(&condition) {
                    others.push(condition);
                }
            }
        }
    }
    if is_null {
        let needs_value =
            not_null || values.is_some() || bounds.need_value() || others.iter().any(|other| !other.negated);
        return (!needs_value).then(|| vec![Condition { matcher: Matcher::Null, negated: false }]);
    }
    not_null |= values.is_some() || others.iter().any(|other| !other.negated);
    let bounds = bounds.into_conditions(&mut not_null)?;
    others.extend(bounds);
    if !excluded.is_empty() {
        others.push(Condition { matcher: Matcher::In(excluded), negated: true });
    }
    if let Some(mut values) = values {
        // A value that a condition refuses goes; a condition that all values fulfil goes too.
        values.retain(|value| others.iter().all(|other| other.matches(value) != Some(false)));
        if values.is_empty() {
            return None;
        }
        others.retain(|other| values.iter().any(|value| other.matches(value) != Some(true)));
        others.push(Condition { matcher: Matcher::In(values), negated: false });
        return Some(others);
    }
    if not_null && others.iter().all(|other| other.negated) {
        others.push(Condition { matcher: Matcher::Null, negated: true });
    }
    Some(others)
}

/// Comparisons of one column, the strictest of each kind.
#[derive(Default)]
struct Bounds {
    kept: Vec<(Comparison, Coordinate, bool)>,
}

impl Bounds {
    fn add(&mut self, comparison: Comparison, bound: Coordinate, negated: bool) {
        for (known, at, known_negated) in &mut self.kept {
            if *known_negated != negated || known.is_lower_bound() != comparison.is_lower_bound() {
                continue;
            }
            let Some(ordering) = compare(&bound, at) else { continue };
            // Of two bounds from below the higher one is stricter; of their negations, the lower one.
            let is_inclusive = matches!(comparison, Comparison::AtLeast | Comparison::AtMost);
            let further_in = if comparison.is_lower_bound() { ordering.is_gt() } else { ordering.is_lt() };
            let is_stricter = match ordering.is_eq() {
                true => is_inclusive == negated,
                false => further_in != negated,
            };
            if is_stricter {
                (*known, *at) = (comparison, bound);
            }
            return;
        }
        self.kept.push((comparison, bound, negated));
    }

    fn need_value(&self) -> bool {
        self.kept.iter().any(|(_, _, negated)| !negated)
    }

    /// What is left; nothing when no value is between the bounds. Where a value must be there, a negation is the opposite comparison.
    fn into_conditions(mut self, not_null: &mut bool) -> Option<Vec<Condition>> {
        *not_null |= self.need_value();
        if *not_null && self.kept.iter().any(|(_, _, negated)| *negated) {
            let mut plain = Bounds::default();
            for (comparison, bound, negated) in self.kept {
                plain.add(if negated { opposite(comparison) } else { comparison }, bound, false);
            }
            self = plain;
        }
        for (lower, from, negated) in &self.kept {
            for (upper, to, other_negated) in &self.kept {
                if *negated || *other_negated || !lower.is_lower_bound() || upper.is_lower_bound() {
                    continue;
                }
                let is_closed = (*lower, *upper) == (Comparison::AtLeast, Comparison::AtMost);
                if compare(from, to)
                    .is_some_and(|ordering| ordering.is_gt() || (ordering.is_eq() && !is_closed))
                {
                    return None;
                }
            }
        }
        let conditions = self.kept.into_iter().map(|(comparison, bound, negated)| Condition {
            matcher: Matcher::Compare(comparison, bound),
            negated,
        });
        Some(conditions.collect())
    }
}

fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::AtLeast,
        Comparison::AtMost => Comparison::Greater,
        Comparison::Greater => Comparison::AtMost,
        Comparison::AtLeast => Comparison::Less,
    }
}

/// What the conditions of an AND leave of its ORs; nothing when they leave no alternative.
fn reduce(conditions: &[Filter], ors: Vec<Filter>) -> Option<Vec<Filter>> {
    let mut kept: Vec<Filter> = Vec::new();
    for or in ors {
        let Filter::Or(alternatives) = or else {
            kept.push(or);
            continue;
        };
        if alternatives.iter().any(|alternative| conditions.iter().any(|known| implies(known, alternative))) {
            continue;
        }
        let mut left: Vec<Filter> = alternatives
            .into_iter()
            .filter(|alternative| {
                let parts = if let Filter::And(all) = alternative {
                    all.as_slice()
                } else {
                    std::slice::from_ref(alternative)
                };
                !parts.iter().any(|part| conditions.iter().any(|known| implies(known, &nnf(part, true))))
            })
            .collect();
        match left.len() {
            0 => return None,
            1 => kept.push(left.remove(0)),
            _ => kept.push(Filter::Or(left)),
        }
    }
    // An OR that has all alternatives of another one, and more, says nothing new.
    let alternatives = |filter: &Filter| match filter {
        Filter::Or(any) => any.iter().cloned().collect(),
        other => BTreeSet::from([other.clone()]),
    };
    let sets: Vec<BTreeSet<Filter>> = kept.iter().map(alternatives).collect();
    let is_said = |index: usize| {
        let wider = |other: usize| {
            sets[other].is_subset(&sets[index]) && (sets[other] != sets[index] || other < index)
        };
        (0..sets.len()).any(|other| other != index && wider(other))
    };
    let said: Vec<bool> = (0..sets.len()).map(is_said).collect();
    Some(kept.into_iter().zip(said).filter(|(_, said)| !said).map(|(filter, _)| filter).collect())
}

/// True when `a` surely implies `b`; both are conditions or larger.
fn implies(a: &Filter, b: &Filter) -> bool {
    if a == b {
        return true;
    }
    let (Some((column, a)), Some((other, b))) = (Condition::of(a), Condition::of(b)) else { return false };
    if column != other {
        return false;
    }
    match (&a.matcher, a.negated) {
        (Matcher::In(values), false) => values.iter().all(|value| b.matches(value) == Some(true)),
        (Matcher::Null, false) => b.matches(&Coordinate::Null) == Some(true),
        (_, false) => b.matcher == Matcher::Null && b.negated,
        (Matcher::In(values), true) => match (&b.matcher, b.negated) {
            (Matcher::In(others), true) => others.is_subset(values),
            _ => false,
        },
        (_, true) => false,
    }
}

/// `(A or B) and (A or C)` as `A or (B and C)`: the alternatives that all parts of an AND share.
fn factored(all: &[Filter]) -> Option<Filter> {
    if all.len() < 2 {
        return None;
    }
    let mut sets = Vec::new();
    for filter in all {
        let Filter::Or(any) = filter else { return None };
        sets.push(any.iter().cloned().collect::<BTreeSet<_>>());
    }
    let shared = sets.iter().skip(1).fold(sets[0].clone(), |shared, set| &shared & set);
    if shared.is_empty() {
        return None;
    }
    let rests = sets.iter().map(|set| Filter::Or((set - &shared).into_iter().collect())).collect();
    let mut any: Vec<Filter> = shared.into_iter().collect();
    any.push(Filter::And(rests));
    Some(Filter::Or(any))
}
