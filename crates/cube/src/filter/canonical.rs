//! One form for equal filters, so that equal steps are computed once.
//!
//! NOT is pushed down to the conditions; AND and OR are flattened, sorted and freed of repetitions. All conditions on one column that are no
//! patterns become the set of values that they want ([`ValueSet`]), which has one form. What the conditions of an AND imply goes from its
//! ORs, what they contradict ends the alternative, and a condition goes that all alternatives of an OR imply; common parts of alternatives
//! move out. All of this is written for AND alone: an OR is the negation of an AND of negations, exactly, because the logic has two values.
//!
//! The cost is bounded: a filter of more than [`LARGE`] nodes is only flattened, sorted and packed by column, which is linear but for the
//! sorting; and rules that look at pairs stop after [`MOST_WORK`] steps. The form is then not the smallest. It wants the same rows, and costs a
//! step that could have been shared. But an Unfiltrator takes conditions from the form ([`Filter::without`]): what a smaller one would have kept
//! of another column can go with an alternative that was not reduced.
//!
//! Rejected: normal forms (CNF, DNF), which are exponential; binary decision diagrams, which need an order of conditions and lose the text.

use super::values::ValueSet;
use super::{Filter, Matcher};
use crate::coordinate::{Coordinate, logical_type};
use crate::error::CubeError;
use arrow::datatypes::DataType;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Above this many nodes only linear rules are used.
const LARGE: usize = 1_024;

/// So many values are looked at by rules that compare conditions with each other.
const MOST_WORK: usize = 1 << 20;

/// How often the rules are run over a filter; they hardly ever change anything the third time.
const ROUNDS: usize = 8;

impl Filter {
    /// The filter with every value as the column's type has it. A value that the type cannot have matches nothing, but one that is no date or
    /// time is an error where the column has these, and so are a bound that is of another kind than the column and a number of more digits
    /// than there are.
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
                    let typed = values.iter().map(|value| {
                        let value = value.number_in(column, &data_type)?;
                        match (&value, logical_type(&data_type)) {
                            // Some columns of whole numbers have larger ones than coordinates have.
                            (Coordinate::Float(number), DataType::Int64)
                                if number.fract() == 0.0 && number.abs() >= 2_f64.powi(63) =>
                            {
                                Ok(value.typed(&data_type).or(Some(value)))
                            }
                            _ => value.typed_in(column, &data_type),
                        }
                    });
                    let typed: Vec<Option<Coordinate>> = typed.collect::<Result<_, _>>()?;
                    Self::is_in(column, typed.into_iter().flatten())
                }
                (Matcher::Compare(comparison, bound), Some(data_type)) => {
                    let (comparison, bound) = bound.bound_in(*comparison, column, &data_type)?;
                    Self::compare(column, comparison, bound)
                }
                (Matcher::Null | Matcher::Like(_) | Matcher::Regex(_), Some(_)) => self.clone(),
            },
        })
    }

    /// The form that equal filters share.
    #[must_use]
    pub fn canonical(&self) -> Filter {
        self.canonical_by(&Rules::default())
    }

    pub(super) fn canonical_by(&self, rules: &Rules) -> Filter {
        let mut filter = nnf(self, false);
        let thorough = size(&filter) <= LARGE;
        for _ in 0..ROUNDS {
            let simpler = rules.simplify(filter.clone(), thorough);
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
pub(super) fn nnf(filter: &Filter, negate: bool) -> Filter {
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

/// The rules, and what they may still cost.
#[derive(Default)]
pub(super) struct Rules {
    /// How many values were compared with others so far.
    work: Cell<usize>,
}

/// What is known to hold beside the ORs of an AND.
struct Known<'a> {
    /// The values that the columns have left.
    sets: &'a BTreeMap<Arc<str>, ValueSet>,
    conditions: BTreeSet<&'a Filter>,
}

/// The conditions of an AND on one column.
#[derive(Default)]
struct OnColumn {
    sets: Vec<ValueSet>,
    /// Patterns, by whether they are negated.
    patterns: BTreeSet<Filter>,
    /// What the sets are made of, for the case that they have no order.
    written: Vec<Filter>,
}

impl Rules {
    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.work.get()
    }

    /// Counts what a rule would cost; false when the rules have cost enough.
    fn may(&self, values: usize) -> bool {
        let work = self.work.get().saturating_add(1 + values);
        let may = work <= MOST_WORK;
        self.work.set(if may { work } else { self.work.get() + 1 });
        may
    }

    fn simplify(&self, mut filter: Filter, thorough: bool) -> Filter {
        match &mut filter {
            Filter::And(all) => {
                let all = std::mem::take(all).into_iter();
                self.all_of(all.map(|filter| self.simplify(filter, thorough)).collect(), thorough)
            }
            Filter::Or(any) => {
                let any = std::mem::take(any).into_iter();
                let negated = any.map(|filter| nnf(&self.simplify(filter, thorough), true)).collect();
                nnf(&self.all_of(negated, thorough), true)
            }
            // A condition alone has one form already.
            Filter::Column(_, Matcher::In(values)) if values.is_empty() => Filter::None,
            Filter::Not(inner) => match &**inner {
                Filter::Column(_, Matcher::In(values)) if values.is_empty() => Filter::All,
                _ => filter,
            },
            Filter::Column(..) | Filter::All | Filter::None => filter,
        }
    }

    /// The AND of simplified filters.
    fn all_of(&self, filters: Vec<Filter>, thorough: bool) -> Filter {
        let (mut columns, mut others) = (BTreeMap::<Arc<str>, OnColumn>::new(), Vec::new());
        let mut rest = filters;
        while let Some(mut filter) = rest.pop() {
            match &mut filter {
                Filter::All => {}
                Filter::None => return Filter::None,
                Filter::And(all) => rest.append(all),
                _ => match ValueSet::of(&filter) {
                    Some((column, set)) => {
                        let on = columns.entry(column).or_default();
                        on.sets.push(set);
                        on.written.push(filter);
                    }
                    None => match pattern(&filter) {
                        Some((column, ..)) => {
                            columns.entry(Arc::clone(column)).or_default().patterns.insert(filter);
                        }
                        None => others.push(filter),
                    },
                },
            }
        }
        let (mut all, mut sets) = (Vec::new(), BTreeMap::new());
        for (column, on) in columns {
            match self.pack(&column, on) {
                None => return Filter::None,
                Some((conditions, set)) => {
                    all.extend(conditions);
                    sets.extend(set.map(|set| (column, set)));
                }
            }
        }
        if thorough {
            others = match self.reduce(&mut all, &sets, others) {
                None => return Filter::None,
                Some(others) => others,
            };
        }
        all.append(&mut others);
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

    /// The conditions on one column in their one form, with the values that they leave if that can be told; nothing when they contradict
    /// each other.
    fn pack(&self, column: &Arc<str>, on: OnColumn) -> Option<(Vec<Filter>, Option<ValueSet>)> {
        let OnColumn { sets, mut patterns, mut written } = on;
        let is_there = |filter: &Filter, patterns: &BTreeSet<Filter>| patterns.contains(&nnf(filter, true));
        if patterns.iter().any(|pattern| is_there(pattern, &patterns)) {
            return None;
        }
        let Some(mut set) = ValueSet::and(sets) else {
            written.extend(patterns);
            return Some((written, None));
        };
        let is_wanted = |filter: &Filter| pattern(filter).is_some_and(|(.., negated)| !negated);
        if patterns.iter().any(is_wanted) {
            set = set.without_null();
        }
        // A value that a pattern refuses goes; when all are looked at, so do the patterns.
        if let Some(points) = set.points().filter(|_| !patterns.is_empty())
            && self.may(points.len().saturating_mul(patterns.len()))
        {
            let verdict = |filter: &Filter, value: &Coordinate| {
                let (_, pattern, negated) = pattern(filter)?;
                if !is_plain(value) {
                    return None;
                }
                pattern.matches(value).map(|matches| matches != negated)
            };
            let mut left = points;
            left.retain(|value| patterns.iter().all(|pattern| verdict(pattern, value) != Some(false)));
            patterns.retain(|pattern| left.iter().any(|value| verdict(pattern, value) != Some(true)));
            set = set.with_points(&left);
        }
        if set.is_nothing() {
            return None;
        }
        let is_present = patterns.iter().any(is_wanted);
        let mut conditions = set.conditions(column, is_present);
        conditions.extend(patterns);
        Some((conditions, Some(set)))
    }

    /// What the conditions of an AND leave of its ORs; nothing when they leave no alternative. A condition that an OR implies goes.
    fn reduce(
        &self,
        all: &mut Vec<Filter>,
        sets: &BTreeMap<Arc<str>, ValueSet>,
        ors: Vec<Filter>,
    ) -> Option<Vec<Filter>> {
        let mut kept: Vec<Filter> = Vec::new();
        let known = Known { sets, conditions: all.iter().collect() };
        for mut or in ors {
            let Filter::Or(alternatives) = &mut or else {
                kept.push(or);
                continue;
            };
            let mut left = Vec::new();
            let mut is_implied = false;
            for mut alternative in std::mem::take(alternatives) {
                if self.is_refused(&known, &alternative) {
                    continue;
                }
                if let Filter::And(parts) = &mut alternative {
                    parts.retain(|part| !self.is_implied(&known, part));
                    is_implied |= parts.is_empty();
                    if parts.len() == 1 {
                        alternative = parts.remove(0);
                    }
                } else {
                    is_implied |= self.is_implied(&known, &alternative);
                }
                left.push(alternative);
            }
            match left.len() {
                _ if is_implied => {}
                0 => return None,
                1 => kept.push(left.remove(0)),
                _ => kept.push(Filter::Or(left)),
            }
        }
        let implied: Vec<&Arc<str>> = sets
            .iter()
            .filter(|(column, set)| self.is_within(&kept, column, set))
            .map(|(column, _)| column)
            .collect();
        if !implied.is_empty() {
            // What is left of the column are patterns.
            let is_implied = |filter: &Filter| {
                pattern(filter).is_none()
                    && only_column(filter).is_some_and(|column| implied.contains(&column))
            };
            all.retain(|filter| !is_implied(filter));
        }
        // An OR that has all alternatives of another one, and more, says nothing new.
        let alternatives = |filter: &Filter| match filter {
            Filter::Or(any) => any.iter().cloned().collect(),
            other => BTreeSet::from([other.clone()]),
        };
        let alternatives: Vec<BTreeSet<Filter>> = kept.iter().map(alternatives).collect();
        let is_said = |index: usize| {
            let wider = |other: usize| {
                let (one, more) = (&alternatives[other], &alternatives[index]);
                self.may(one.len()) && one.is_subset(more) && (one != more || other < index)
            };
            (0..alternatives.len()).any(|other| other != index && wider(other))
        };
        let said: Vec<bool> = (0..alternatives.len()).map(is_said).collect();
        Some(kept.into_iter().zip(said).filter(|(_, said)| !said).map(|(filter, _)| filter).collect())
    }

    /// True when what is known surely implies a filter.
    fn is_implied(&self, known: &Known<'_>, filter: &Filter) -> bool {
        self.may(1) && known.conditions.contains(filter)
            || self.compares(known, filter, ValueSet::is_within)
            || match filter {
                Filter::And(all) => all.iter().all(|part| self.is_implied(known, part)),
                Filter::Or(any) => any.iter().any(|part| self.is_implied(known, part)),
                _ => false,
            }
    }

    /// True when what is known surely leaves nothing of a filter.
    fn is_refused(&self, known: &Known<'_>, filter: &Filter) -> bool {
        pattern(filter).is_some() && self.may(1) && known.conditions.contains(&nnf(filter, true))
            || self.compares(known, filter, ValueSet::is_apart_from)
            || match filter {
                Filter::And(all) => all.iter().any(|part| self.is_refused(known, part)),
                Filter::Or(any) => any.iter().all(|part| self.is_refused(known, part)),
                _ => false,
            }
    }

    /// How the values that are known of a column compare with those that a filter on it wants; no when they cannot be compared.
    fn compares(
        &self,
        known: &Known<'_>,
        filter: &Filter,
        are: impl Fn(&ValueSet, &ValueSet) -> bool,
    ) -> bool {
        if known.sets.is_empty() {
            return false;
        }
        let Some(left) = only_column(filter).and_then(|column| known.sets.get(column)) else { return false };
        self.may(left.len() + width(filter))
            && ValueSet::of(filter).is_some_and(|(_, wanted)| are(left, &wanted))
    }

    /// True when all alternatives of an OR have a condition on a column that wants only values of a set.
    fn is_within(&self, ors: &[Filter], column: &Arc<str>, set: &ValueSet) -> bool {
        let is_part = |part: &Filter| {
            only_column(part) == Some(column)
                && self.may(width(part) + set.len())
                && ValueSet::of(part).is_some_and(|(_, wanted)| wanted.is_within(set))
        };
        let is_alternative = |alternative: &Filter| match alternative {
            Filter::And(all) => all.iter().any(is_part),
            other => is_part(other),
        };
        ors.iter().any(|or| match or {
            Filter::Or(any) => self.may(any.len()) && any.iter().all(is_alternative),
            other => is_alternative(other),
        })
    }
}

/// The one column that a filter looks at; nothing when it is another number of them.
fn only_column(filter: &Filter) -> Option<&Arc<str>> {
    match filter {
        Filter::All | Filter::None => None,
        Filter::Column(column, _) => Some(column),
        Filter::Not(inner) => only_column(inner),
        Filter::And(all) | Filter::Or(all) => {
            let first = only_column(all.first()?)?;
            all.iter().all(|filter| only_column(filter) == Some(first)).then_some(first)
        }
    }
}

/// How many values a filter names, about.
fn width(filter: &Filter) -> usize {
    match filter {
        Filter::All | Filter::None => 0,
        Filter::Column(_, Matcher::In(values)) => 2 * values.len(),
        Filter::Column(..) => 1,
        Filter::Not(inner) => width(inner),
        Filter::And(all) | Filter::Or(all) => all.iter().map(width).sum(),
    }
}

/// True for a text that only columns of texts have. Patterns look at the texts of a column, and a date, a time or a number may be written in
/// another way there than here: `2026-03-31T09:30:00.000Z` is a `2026-03-31T09:30:00Z`.
fn is_plain(value: &Coordinate) -> bool {
    match value {
        Coordinate::Text(text) => {
            let first = text.trim_start_matches(['+', '-', '.']).chars().next();
            !first.is_some_and(|letter| letter.is_ascii_digit()) && text.parse::<f64>().is_err()
        }
        _ => false,
    }
}

/// A condition by a pattern: its column, its matcher, and whether it is negated.
fn pattern(filter: &Filter) -> Option<(&Arc<str>, &Matcher, bool)> {
    match filter {
        Filter::Not(inner) => pattern(inner).map(|(column, matcher, negated)| (column, matcher, !negated)),
        Filter::Column(column, matcher @ (Matcher::Like(_) | Matcher::Regex(_))) => {
            Some((column, matcher, false))
        }
        _ => None,
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
