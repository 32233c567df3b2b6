//! Which index answers a predicate, or a part of it.
//!
//! A predicate is taken as an AND of conditions. Every index whose first attributes have conditions is tried: values for a prefix of its
//! attributes, and perhaps a range for the next. The one with the fewest candidates wins; what it does not cover is left as the residual.
//! An OR is answered when each of its sides is. NOT and everything else is not: such predicates only narrow down what others find.
//!
//! Bitmap indexes are asked for the predicate as a whole ([`super::search`]), and their answer is taken when it has fewer candidates. Theirs
//! are found step by step when they are looked at, those of the others all at once.

use super::search::Search;
use super::store::KeySpan;
use super::tuple::{IndexTuple, Part, UNORDERED, kind};
use super::{EntryId, Index, IndexKind, Indexes};
use crate::query::attribute::Attribute;
use crate::query::error::QueryError;
use crate::query::extract::Entry;
use crate::query::operand::Operand;
use crate::query::predicate::Predicate;
use filbert_wire::{IndexKey, Value};
use std::ops::Bound;

/// More spans than this are not combined with each other: looking them up costs more than it saves.
const MAX_COMBINED: usize = 1024;

/// With more sides or values than this no index is asked: the plan alone would hold up the strand.
const MAX_SIDES: usize = 10_000;

/// How the entries of a predicate are found.
#[derive(Debug)]
pub struct Plan<'i> {
    scans: Vec<Scan>,
    /// By bitmaps, instead of scans.
    search: Option<Search<'i>>,
    estimate: usize,
    residual: Residual,
}

/// The spans of one index.
#[derive(Debug)]
struct Scan {
    /// Its number among the indexes of the partition.
    index: usize,
    spans: Vec<KeySpan>,
}

/// What is still to be checked of a predicate, as long as the entries do not change: see [`Residual::matches`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Residual {
    /// Nothing: every candidate matches.
    Nothing,
    /// All of it.
    Whole,
    /// All but these of the predicates of an AND, in order.
    AllBut(Vec<usize>),
}

impl Residual {
    /// Whether a candidate for `predicate` matches. Only right while the entry is as it was when the candidates were found; later the
    /// predicate itself must be asked.
    pub fn matches(&self, predicate: &Predicate, entry: &Entry<'_>) -> Result<bool, QueryError> {
        match (self, predicate) {
            (Residual::Nothing, _) => Ok(true),
            (residual, Predicate::Sql { meaning, .. }) => residual.matches(meaning, entry),
            (Residual::AllBut(covered), Predicate::And(all)) => {
                for (number, predicate) in all.iter().enumerate() {
                    if covered.binary_search(&number).is_err() && !predicate.matches(entry)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => predicate.matches(entry),
        }
    }
}

impl<'i> Plan<'i> {
    /// No candidates.
    fn nothing() -> Self {
        Self { scans: Vec::new(), search: None, estimate: 0, residual: Residual::Nothing }
    }

    /// About how many candidates there are; never fewer than there will be.
    pub fn estimate(&self) -> usize {
        self.estimate
    }

    /// What is still to be checked.
    pub fn residual(&self) -> &Residual {
        &self.residual
    }

    /// The way by bitmaps, if it is that one.
    pub(crate) fn search(&self) -> Option<&Search<'i>> {
        self.search.as_ref()
    }

    /// Whether it is better than to look at all of `entries` entries. Candidates of a scan cost more each than entries in their order, so
    /// they must be clearly fewer; those of bitmaps are in that order, and cost less when nothing is left to be checked.
    pub(crate) fn is_worth(&self, entries: usize) -> bool {
        let is_whole = self.search.is_some() && self.residual == Residual::Nothing;
        is_whole || self.estimate <= entries / 2
    }

    /// The entries that may match, each once, in order; all that match are among them.
    pub fn candidates<E: EntryId>(&self, indexes: &Indexes<E>) -> Vec<E> {
        if let Some(search) = &self.search {
            let steps = std::iter::successors(search.step(0), |step| search.step(step.next()));
            return steps.flat_map(|step| step.slots().map(E::of_number).collect::<Vec<_>>()).collect();
        }
        let mut found = Vec::with_capacity(self.estimate);
        for scan in &self.scans {
            for span in &scan.spans {
                indexes.all[scan.index].store.copy_to(span, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The plan with the fewest candidates, if there is an index that helps.
pub(super) fn plan<'i, E: EntryId>(indexes: &'i Indexes<E>, predicate: &Predicate) -> Option<Plan<'i>> {
    if indexes.is_empty() {
        return None;
    }
    if let Predicate::Paging(paging) = predicate {
        // The page's own predicate is what the residual would be of.
        let found = plan(indexes, paging.predicate()?)?;
        return Some(Plan { residual: Residual::Whole, ..found });
    }
    let scans = plan_scans(indexes, predicate);
    let Some(search) = Search::of(indexes, predicate) else { return scans };
    let estimate = search.estimate();
    if scans.as_ref().is_some_and(|scans| scans.estimate <= estimate) {
        return scans;
    }
    let residual = search.residual();
    Some(Plan { scans: Vec::new(), search: Some(search), estimate, residual })
}

/// The same by the other indexes.
fn plan_scans<'i, E: EntryId>(indexes: &'i Indexes<E>, predicate: &Predicate) -> Option<Plan<'i>> {
    match predicate {
        Predicate::False => Some(Plan::nothing()),
        Predicate::Sql { meaning, .. } => plan_scans(indexes, meaning),
        Predicate::Or(all) => plan_or(indexes, all),
        Predicate::And(all) => plan_and(indexes, all),
        leaf => {
            let found = plan_and(indexes, std::slice::from_ref(leaf))?;
            let covered = found.residual == Residual::AllBut(vec![0]);
            Some(Plan { residual: if covered { Residual::Nothing } else { Residual::Whole }, ..found })
        }
    }
}

fn plan_or<'i, E: EntryId>(indexes: &'i Indexes<E>, all: &[Predicate]) -> Option<Plan<'i>> {
    if all.len() > MAX_SIDES {
        return None;
    }
    let mut union = Plan::nothing();
    for predicate in all {
        let side = plan_scans(indexes, predicate)?;
        union.estimate += side.estimate;
        union.scans.extend(side.scans);
        if side.residual != Residual::Nothing {
            union.residual = Residual::Whole;
        }
    }
    Some(union)
}

fn plan_and<'i, E: EntryId>(indexes: &'i Indexes<E>, all: &[Predicate]) -> Option<Plan<'i>> {
    if all.len() > MAX_SIDES {
        return None;
    }
    let mut best: Option<Plan<'i>> = None;
    for (number, predicate) in all.iter().enumerate() {
        if matches!(predicate, Predicate::Or(_) | Predicate::Sql { .. } | Predicate::False)
            && let Some(side) = plan_scans(indexes, predicate)
            && best.as_ref().is_none_or(|best| side.estimate < best.estimate)
        {
            let covered = if side.residual == Residual::Nothing { vec![number] } else { Vec::new() };
            best = Some(Plan { residual: Residual::AllBut(covered), ..side });
        }
    }
    let conditions: Vec<_> = all
        .iter()
        .enumerate()
        .filter_map(|(number, predicate)| {
            let (attribute, spans) = condition(predicate)?;
            Some(Condition { number, attribute, spans })
        })
        .collect();
    let scanned = |index: &Index<E>| index.is_usable() && index.settings.kind() != IndexKind::Bitmap;
    for (number, index) in indexes.all.iter().enumerate().filter(|(_, index)| scanned(index)) {
        let Some((spans, covered)) = fit(index.settings.attributes(), index.settings.kind(), &conditions)
        else {
            continue;
        };
        let limit = best.as_ref().map_or(usize::MAX, |best| best.estimate);
        let mut estimate = 0;
        for span in &spans {
            estimate += index.store.estimate(span, limit.saturating_sub(estimate));
            if estimate > limit {
                break;
            }
        }
        // Of two that find as many, the one that leaves less to check.
        let better = |best: &Plan<'_>| {
            let covers = |plan: &Plan<'_>| {
                if let Residual::AllBut(covered) = &plan.residual { covered.len() } else { 0 }
            };
            estimate < best.estimate || (estimate == best.estimate && covered.len() > covers(best))
        };
        if best.as_ref().is_none_or(better) {
            let scans = vec![Scan { index: number, spans }];
            best = Some(Plan { scans, search: None, estimate, residual: Residual::AllBut(covered) });
        }
    }
    best
}

/// What a predicate says about one attribute.
struct Condition<'p> {
    /// Its number among the predicates of the AND.
    number: usize,
    attribute: &'p Attribute,
    spans: Vec<Span>,
}

/// A value, or all between two edges; never empty.
#[derive(Debug, Clone)]
enum Span {
    Point(Value),
    Range(Bound<Part>, Bound<Part>),
}

/// What an index can do with the predicate.
fn condition(predicate: &Predicate) -> Option<(&Attribute, Vec<Span>)> {
    Some(match predicate {
        Predicate::Equal(attribute, operand) => {
            (attribute, operand.forms().cloned().map(Span::Point).collect())
        }
        Predicate::In(attribute, operands) if operands.forms().len() <= MAX_SIDES => {
            (attribute, operands.forms().iter().cloned().map(Span::Point).collect())
        }
        Predicate::Compare(attribute, comparison, operand) => {
            let spans = ordered(operand).filter_map(|value| {
                if kind(value) == UNORDERED {
                    return comparison.with_equal().then(|| Span::Point(value.clone()));
                }
                let edge = Part::value(value.clone());
                let edge =
                    if comparison.with_equal() { Bound::Included(edge) } else { Bound::Excluded(edge) };
                Some(if comparison.is_less() {
                    Span::Range(Bound::Excluded(Part::Start(kind(value))), edge)
                } else {
                    Span::Range(edge, Bound::Excluded(Part::End(kind(value))))
                })
            });
            (attribute, spans.collect())
        }
        Predicate::Between(attribute, from, to) => {
            let mut spans = Vec::new();
            for from in ordered(from) {
                for to in ordered(to).filter(|to| kind(to) == kind(from)) {
                    if kind(from) == UNORDERED {
                        spans.extend(from.same(to).then(|| Span::Point(from.clone())));
                    } else {
                        let edge = |value: &Value| Bound::Included(Part::value(value.clone()));
                        spans.extend(range(edge(from), edge(to)));
                    }
                }
            }
            (attribute, spans)
        }
        Predicate::Like(attribute, Some(pattern)) => {
            let prefix = pattern.prefix()?;
            let after = Bound::Excluded(Part::AfterPrefix(prefix.clone().into()));
            (attribute, vec![Span::Range(Bound::Included(Part::value(Value::String(prefix))), after)])
        }
        _ => return None,
    })
}

/// The forms of an operand that attributes can be greater or less than.
fn ordered(operand: &Operand) -> impl Iterator<Item = &Value> {
    operand.forms().filter(|value| !value.is_null())
}

/// The range, unless it is empty.
fn range(from: Bound<Part>, to: Bound<Part>) -> Option<Span> {
    let (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) =
        (&from, &to)
    else {
        return None;
    };
    let both = matches!((&from, &to), (Bound::Included(_), Bound::Included(_)));
    match low.cmp(high) {
        std::cmp::Ordering::Less => Some(Span::Range(from, to)),
        std::cmp::Ordering::Equal if both => match low {
            Part::Value(IndexKey(value)) => Some(Span::Point(value.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// What two conditions on one attribute leave.
fn both(left: &[Span], right: &[Span]) -> Vec<Span> {
    let mut spans = Vec::new();
    for left in left {
        for right in right {
            spans.extend(match (left, right) {
                (Span::Point(value), Span::Point(other)) => value.same(other).then(|| left.clone()),
                (Span::Point(value), Span::Range(from, to)) | (Span::Range(from, to), Span::Point(value)) => {
                    let part = Part::value(value.clone());
                    std::ops::RangeBounds::contains(&(from.as_ref(), to.as_ref()), &part)
                        .then(|| Span::Point(value.clone()))
                }
                (Span::Range(from, to), Span::Range(other_from, other_to)) => {
                    range(tighter(from, other_from, true), tighter(to, other_to, false))
                }
            });
        }
    }
    spans
}

fn tighter(left: &Bound<Part>, right: &Bound<Part>, lower: bool) -> Bound<Part> {
    let (
        Bound::Included(left_part) | Bound::Excluded(left_part),
        Bound::Included(right_part) | Bound::Excluded(right_part),
    ) = (left, right)
    else {
        return left.clone();
    };
    let order = left_part.cmp(right_part);
    let takes_left = match order {
        std::cmp::Ordering::Equal => matches!(left, Bound::Excluded(_)),
        _ => order.is_gt() == lower,
    };
    if takes_left { left.clone() } else { right.clone() }
}

/// All that the conditions say about one attribute, and which of them were used.
fn spans_of(attribute: &Attribute, conditions: &[Condition<'_>]) -> Option<(Vec<Span>, Vec<usize>)> {
    let mut of_attribute = conditions.iter().filter(|condition| condition.attribute == attribute);
    let first = of_attribute.next()?;
    let (mut spans, mut used) = (first.spans.clone(), vec![first.number]);
    for condition in of_attribute {
        if attribute.is_multiple() {
            // One item may meet this, another one that: the shorter list is chosen, the other checked.
            if condition.spans.len() < spans.len() {
                (spans, used) = (condition.spans.clone(), vec![condition.number]);
            }
        } else if spans.len() * condition.spans.len() <= MAX_COMBINED {
            spans = both(&spans, &condition.spans);
            used.push(condition.number);
        }
    }
    Some((spans, used))
}

/// The spans of an index of these attributes, and the numbers of the conditions that they cover; `None` when it is of no use.
fn fit(
    attributes: &[Attribute],
    kind: IndexKind,
    conditions: &[Condition<'_>],
) -> Option<(Vec<KeySpan>, Vec<usize>)> {
    let mut prefixes: Vec<Vec<Part>> = vec![Vec::new()];
    let mut covered = Vec::new();
    let mut last: Option<Vec<Span>> = None;
    for attribute in attributes {
        let Some((spans, used)) = spans_of(attribute, conditions) else { break };
        let points: Option<Vec<&Value>> =
            spans.iter().map(|span| if let Span::Point(value) = span { Some(value) } else { None }).collect();
        covered.extend(used);
        match points {
            Some(points) if attributes.len() == 1 || prefixes.len() * points.len() <= MAX_COMBINED => {
                let longer = |prefix: &Vec<Part>| {
                    let prefix = prefix.clone();
                    points
                        .iter()
                        .map(move |value| [prefix.as_slice(), &[Part::value((*value).clone())]].concat())
                        .collect::<Vec<_>>()
                };
                prefixes = prefixes.iter().flat_map(longer).collect();
            }
            _ => {
                last = Some(spans);
                break;
            }
        }
    }
    if covered.is_empty() {
        return None;
    }
    covered.sort_unstable();
    let whole = |prefix: &Vec<Part>| prefix.len() == attributes.len();
    let mut spans = Vec::new();
    match last {
        None => {
            for prefix in prefixes {
                if whole(&prefix) {
                    spans.push(KeySpan::Point(IndexTuple::of_parts(prefix)));
                } else {
                    let end = [prefix.as_slice(), &[Part::Last]].concat();
                    spans.push(KeySpan::Range(
                        Bound::Included(IndexTuple::of_parts(prefix)),
                        Bound::Excluded(IndexTuple::of_parts(end)),
                    ));
                }
            }
        }
        Some(last) => {
            for prefix in &prefixes {
                spans.extend(last.iter().map(|span| key_span(prefix, span, attributes.len())));
            }
        }
    }
    let points_only = spans.iter().all(|span| matches!(span, KeySpan::Point(_)));
    (kind == IndexKind::Sorted || points_only).then_some((spans, covered))
}

/// The keys that begin with `prefix` and go on with `span`.
fn key_span(prefix: &[Part], span: &Span, attributes: usize) -> KeySpan {
    let key = |part: &Part| IndexTuple::of_parts([prefix, std::slice::from_ref(part)].concat());
    // More attributes may follow: then an edge must take in, or leave out, all keys that go on from it.
    let goes_on = prefix.len() + 1 < attributes;
    let after = |part: &Part| IndexTuple::of_parts([prefix, &[part.clone(), Part::Last]].concat());
    match span {
        Span::Point(value) if goes_on => {
            let part = Part::value(value.clone());
            KeySpan::Range(Bound::Included(key(&part)), Bound::Excluded(after(&part)))
        }
        Span::Point(value) => KeySpan::Point(key(&Part::value(value.clone()))),
        Span::Range(from, to) => {
            let from = match from {
                Bound::Excluded(part) if goes_on => Bound::Excluded(after(part)),
                other => other.as_ref().map(key),
            };
            let to = match to {
                Bound::Included(part) if goes_on => Bound::Excluded(after(part)),
                other => other.as_ref().map(key),
            };
            KeySpan::Range(from, to)
        }
    }
}
