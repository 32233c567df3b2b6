//! All values of one column that conditions want, as a set: what the canonical form of conditions on one column is made of.
//!
//! The values of a column lie on a line, and conditions cut it: `a = 5` just before and just after 5, `a > 5` just after. A set is its cuts
//! in order, whether it begins inside, and whether a missing value is in it, so NOT turns two bits around and AND is one walk over all cuts.
//!
//! ```text
//!   a > 3 and a <> 7:    ─────(3 ═══════ 7)(7 ═══════     cuts: after 3, before 7, after 7
//! ```
//!
//! The line is dense: `a > 5 and a < 6` is not found to be empty where there are only whole numbers. Patterns are no sets, and values of
//! different kinds have no order; conditions with those stay as they are written.

use super::canonical::nnf;
use super::column::compare;
use super::{Comparison, Filter, Matcher};
use crate::coordinate::Coordinate;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A place between values: just before one, or just after it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    at: Coordinate,
    is_after: bool,
}

impl Cut {
    fn before(at: &Coordinate) -> Self {
        Self { at: at.clone(), is_after: false }
    }

    fn after(at: &Coordinate) -> Self {
        Self { at: at.clone(), is_after: true }
    }

    /// Of cuts of one kind, in the order of the line.
    fn compare(&self, other: &Self) -> Ordering {
        let order = compare(&self.at, &other.at).unwrap_or_else(|| self.at.cmp(&other.at));
        order.then(self.is_after.cmp(&other.is_after))
    }
}

/// A set of values of one column, and whether a missing value is among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueSet {
    /// Where the line changes from outside to inside and back.
    cuts: Vec<Cut>,
    /// True when it begins inside.
    begins_inside: bool,
    has_null: bool,
}

/// What kind the values of a set are of; of two kinds there is no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
}

/// A part of the line between two cuts; none is its end.
type Stretch<'a> = (Option<&'a Cut>, Option<&'a Cut>);

impl ValueSet {
    /// The values of a filter on one column; nothing where it has patterns, other columns, or values without an order.
    pub(crate) fn of(filter: &Filter) -> Option<(Arc<str>, Self)> {
        let mut column = None;
        let set = Self::of_column(filter, &mut column)?;
        Some((column?, set))
    }

    fn of_column(filter: &Filter, column: &mut Option<Arc<str>>) -> Option<Self> {
        match filter {
            // Of no column.
            Filter::All | Filter::None => None,
            Filter::Not(inner) => Some(Self::of_column(inner, column)?.negated()),
            Filter::And(all) => {
                let sets = all.iter().map(|filter| Self::of_column(filter, column));
                Self::and(sets.collect::<Option<_>>()?)
            }
            Filter::Or(any) => {
                let sets = any.iter().map(|filter| Some(Self::of_column(filter, column)?.negated()));
                Some(Self::and(sets.collect::<Option<_>>()?)?.negated())
            }
            Filter::Column(name, matcher) => {
                let known = column.get_or_insert_with(|| Arc::clone(name));
                if known != name { None } else { Self::of_matcher(matcher) }
            }
        }
    }

    fn of_matcher(matcher: &Matcher) -> Option<Self> {
        let on_line = |cuts, begins_inside| Some(Self { cuts, begins_inside, has_null: false });
        match matcher {
            Matcher::Null => Some(Self { cuts: Vec::new(), begins_inside: false, has_null: true }),
            Matcher::In(values) => {
                let mut cuts: Vec<Cut> =
                    values.iter().flat_map(|value| [Cut::before(value), Cut::after(value)]).collect();
                if !is_ordered(&cuts) {
                    return None;
                }
                cuts.sort_by(Cut::compare);
                on_line(cuts, false)
            }
            Matcher::Compare(_, Coordinate::Null) => None,
            Matcher::Compare(comparison, bound) => match comparison {
                Comparison::Less => on_line(vec![Cut::before(bound)], true),
                Comparison::AtMost => on_line(vec![Cut::after(bound)], true),
                Comparison::Greater => on_line(vec![Cut::after(bound)], false),
                Comparison::AtLeast => on_line(vec![Cut::before(bound)], false),
            },
            Matcher::Like(_) | Matcher::Regex(_) => None,
        }
    }

    #[must_use]
    pub(crate) fn negated(mut self) -> Self {
        self.begins_inside = !self.begins_inside;
        self.has_null = !self.has_null;
        self
    }

    /// What is in all of these; nothing when their values have no order.
    pub(crate) fn and(mut sets: Vec<Self>) -> Option<Self> {
        if sets.len() == 1 {
            return sets.pop();
        }
        let all = sets.len();
        let has_null = sets.iter().all(|set| set.has_null);
        let mut inside = sets.iter().filter(|set| set.begins_inside).count();
        let begins_inside = inside == all;
        // Every cut with whether its set is inside after it.
        let mut cuts: Vec<(Cut, bool)> = Vec::with_capacity(sets.iter().map(|set| set.cuts.len()).sum());
        for set in sets {
            let mut is_inside = set.begins_inside;
            cuts.extend(set.cuts.into_iter().map(|cut| {
                is_inside = !is_inside;
                (cut, is_inside)
            }));
        }
        if !is_ordered(cuts.iter().map(|(cut, _)| cut)) {
            return None;
        }
        cuts.sort_by(|(a, _), (b, _)| a.compare(b));
        let mut both = Self { cuts: Vec::new(), begins_inside, has_null };
        let mut cuts = cuts.into_iter().peekable();
        let mut was_inside = begins_inside;
        while let Some((cut, enters)) = cuts.next() {
            inside = if enters { inside + 1 } else { inside - 1 };
            // Several may cut at one place.
            if cuts.peek().is_some_and(|(next, _)| next.compare(&cut).is_eq()) {
                continue;
            }
            if (inside == all) != was_inside {
                was_inside = !was_inside;
                both.cuts.push(cut);
            }
        }
        Some(both)
    }

    /// How large it is, in cuts.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }

    pub(crate) fn is_all(&self) -> bool {
        self.cuts.is_empty() && self.begins_inside && self.has_null
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.cuts.is_empty() && !self.begins_inside && !self.has_null
    }

    /// True when surely all that it has is in the other one.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.is_apart_from(&other.clone().negated())
    }

    /// True when surely nothing is in both.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        Self::and(vec![self.clone(), other.clone()]).is_some_and(|both| both.is_nothing())
    }

    #[must_use]
    pub(super) fn without_null(mut self) -> Self {
        self.has_null = false;
        self
    }

    /// The values, when they are single ones only.
    pub(super) fn points(&self) -> Option<BTreeSet<Coordinate>> {
        self.stretches().map(|stretch| point(stretch).cloned()).collect()
    }

    /// The same with these values and no others.
    #[must_use]
    pub(super) fn with_points(&self, points: &BTreeSet<Coordinate>) -> Self {
        let cuts = points.iter().flat_map(|value| [Cut::before(value), Cut::after(value)]);
        let mut cuts: Vec<Cut> = cuts.collect();
        cuts.sort_by(Cut::compare);
        Self { cuts, begins_inside: false, has_null: self.has_null }
    }

    /// The parts of the line that are inside, in order.
    fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let ends = (self.begins_inside.then_some(None).into_iter()).chain(self.cuts.iter().map(Some));
        let ends: Vec<Option<&Cut>> = ends.collect();
        let stretches = (0..ends.len()).step_by(2);
        stretches.map(move |begin| (ends[begin], ends.get(begin + 1).copied().flatten()))
    }

    /// Conditions that together want these values and no others; `is_present` when another condition wants a value to be there.
    pub(super) fn conditions(&self, column: &Arc<str>, is_present: bool) -> Vec<Filter> {
        if self.is_all() {
            return Vec::new();
        }
        if self.is_nothing() {
            return vec![Filter::None];
        }
        if self.has_null {
            // By what is not wanted: that has values only.
            let unwanted = Filter::And(self.clone().negated().conditions(column, false));
            let mut wanted = nnf(&unwanted, true);
            if let Filter::Or(any) = &mut wanted
                && any.len() == 1
            {
                wanted = any.remove(0);
            }
            return match &mut wanted {
                Filter::And(all) => std::mem::take(all),
                _ => vec![wanted],
            };
        }
        let mut points = BTreeSet::new();
        let mut stretches: Vec<(Stretch<'_>, BTreeSet<Coordinate>)> = Vec::new();
        for stretch in self.stretches() {
            if let Some(value) = point(stretch) {
                points.insert(value.clone());
                continue;
            }
            // A stretch that goes on right after a value that is left out is one with a hole.
            match (stretches.last_mut(), stretch.0) {
                (Some((last, holes)), Some(begin))
                    if last.1.is_some_and(|end| !end.is_after && begin.is_after && is_same(end, begin)) =>
                {
                    holes.insert(begin.at.clone());
                    last.1 = stretch.1;
                }
                _ => stretches.push((stretch, BTreeSet::new())),
            }
        }
        let mut any: Vec<Vec<Filter>> = Vec::new();
        if !points.is_empty() {
            any.push(vec![on(column, Matcher::In(points))]);
        }
        let only_one = any.is_empty() && stretches.len() == 1;
        any.extend(
            stretches
                .into_iter()
                .map(|(stretch, holes)| bounds(column, stretch, holes, is_present && only_one)),
        );
        match any.len() {
            1 => any.remove(0),
            _ => {
                let all_of =
                    |mut all: Vec<Filter>| if all.len() == 1 { all.remove(0) } else { Filter::And(all) };
                vec![Filter::Or(any.into_iter().map(all_of).collect())]
            }
        }
    }
}

fn on(column: &Arc<str>, matcher: Matcher) -> Filter {
    Filter::Column(Arc::clone(column), matcher)
}

/// The value that a part of the line is.
fn point<'a>(stretch: Stretch<'a>) -> Option<&'a Coordinate> {
    let (Some(begin), Some(end)) = stretch else { return None };
    (!begin.is_after && end.is_after && is_same(begin, end)).then_some(&begin.at)
}

fn is_same(a: &Cut, b: &Cut) -> bool {
    compare(&a.at, &b.at) == Some(Ordering::Equal)
}

/// A part of the line but its holes.
fn bounds(
    column: &Arc<str>,
    (begin, end): Stretch<'_>,
    holes: BTreeSet<Coordinate>,
    is_present: bool,
) -> Vec<Filter> {
    let mut all = Vec::new();
    if let Some(Cut { at, is_after }) = begin {
        let comparison = if *is_after { Comparison::Greater } else { Comparison::AtLeast };
        all.push(on(column, Matcher::Compare(comparison, at.clone())));
    }
    if let Some(Cut { at, is_after }) = end {
        let comparison = if *is_after { Comparison::AtMost } else { Comparison::Less };
        all.push(on(column, Matcher::Compare(comparison, at.clone())));
    }
    if all.is_empty() && !is_present {
        all.push(on(column, Matcher::Null).negated());
    }
    if !holes.is_empty() {
        all.push(on(column, Matcher::In(holes)).negated());
    }
    all
}

/// True when all values are of one kind. Whole numbers and floats have an order, but `5` and `5.0` would be two values at one place, which
/// only the type of the column can tell apart. Texts that begin with a sign have no order beside others either: as a text `+10000-01-01` comes
/// before `2026-01-01`, as a date after it.
fn is_ordered<'a>(cuts: impl IntoIterator<Item = &'a Cut>) -> bool {
    let mut kinds = (None, false);
    let (mut first, mut is_one, mut is_far) = (None, true, false);
    for cut in cuts {
        let kind = match &cut.at {
            Coordinate::Null => return false,
            Coordinate::Bool(_) => Kind::Bool,
            Coordinate::Int(_) => Kind::Int,
            // Between whole numbers, or beyond all of them.
            Coordinate::Float(value) if crate::exact::whole(*value).is_none() => {
                kinds.1 = true;
                continue;
            }
            Coordinate::Float(_) => Kind::Float,
            Coordinate::Text(text) => {
                is_one &= first.get_or_insert(text) == &text;
                is_far |= text.starts_with(['+', '-']);
                Kind::Text
            }
        };
        if *kinds.0.get_or_insert(kind) != kind || is_far && !is_one {
            return false;
        }
    }
    !kinds.1 || matches!(kinds.0, None | Some(Kind::Int | Kind::Float))
}
