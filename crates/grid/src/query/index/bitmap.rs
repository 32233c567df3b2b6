//! Bitmap indexes: for each value of an attribute the set of entries that have it, compressed. For attributes with few values, where a
//! query combines what several sets say.
//!
//! Sets are of the numbers that the store hands out, so those of all bitmap indexes of a partition can be put together: AND, OR and NOT of
//! equalities are answered before any entry is looked at. Hazelcast numbers entries by a unique key of theirs, or by a table of its own when
//! that is no number; here a slot is a small number already, so the unique key is kept as a setting and not read.

use super::plan::MAX_SIDES;
use super::tuple::IndexTuple;
use super::{EntryId, IndexKind, Indexes};
use crate::query::attribute::Attribute;
use crate::query::predicate::Predicate;
use filbert_wire::Value;
use roaring::RoaringBitmap;
use std::collections::HashMap;

/// The sets of one bitmap index.
#[derive(Debug, Default)]
pub(super) struct Bitmaps {
    of_value: HashMap<IndexTuple, RoaringBitmap>,
    /// All entries: what NOT takes away from.
    all: RoaringBitmap,
}

impl Bitmaps {
    pub(super) fn insert(&mut self, key: IndexTuple, number: u32) {
        self.of_value.entry(key).or_default().insert(number);
    }

    pub(super) fn remove(&mut self, key: &IndexTuple, number: u32) {
        if let Some(set) = self.of_value.get_mut(key) {
            set.remove(number);
            if set.is_empty() {
                self.of_value.remove(key);
            }
        }
    }

    /// An entry is there, whatever its values are.
    pub(super) fn came(&mut self, number: u32) {
        self.all.insert(number);
    }

    pub(super) fn gone(&mut self, number: u32) {
        self.all.remove(number);
    }

    fn of_values<'v>(&self, values: impl Iterator<Item = &'v Value>) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        for value in values {
            if let Some(set) = self.of_value.get(&IndexTuple::one(value.clone())) {
                found |= set;
            }
        }
        found
    }
}

/// The entries that a predicate may match.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) entries: RoaringBitmap,
    /// There are no others among them.
    pub(super) is_exact: bool,
    /// Some are there because they are not among others: also those whose attribute cannot be read, which the predicate must see.
    pub(super) has_others: bool,
}

impl Found {
    fn exact(entries: RoaringBitmap) -> Option<Self> {
        Some(Self { entries, is_exact: true, has_others: false })
    }

    /// All that a predicate says nothing more about.
    pub(super) fn is_whole(&self) -> bool {
        self.is_exact && !self.has_others
    }
}

/// The entries that a predicate may match, all that do among them; `None` when the bitmaps cannot tell.
pub(super) fn find<E: EntryId>(indexes: &Indexes<E>, predicate: &Predicate) -> Option<Found> {
    let bitmaps: HashMap<&Attribute, &Bitmaps> = indexes
        .all
        .iter()
        .filter(|index| index.is_usable() && index.settings.kind() == IndexKind::Bitmap)
        .filter_map(|index| Some((index.settings.attributes().first()?, index.store.bitmaps()?)))
        .collect();
    let all = &bitmaps.values().next()?.all;
    Finder { bitmaps: &bitmaps, all }.find(predicate)
}

struct Finder<'i> {
    bitmaps: &'i HashMap<&'i Attribute, &'i Bitmaps>,
    all: &'i RoaringBitmap,
}

impl Finder<'_> {
    /// Recurses once for each level of nesting, which is bounded where predicates come in.
    fn find(&self, predicate: &Predicate) -> Option<Found> {
        match predicate {
            Predicate::Equal(attribute, operand) => {
                Found::exact(self.bitmaps.get(attribute)?.of_values(operand.forms()))
            }
            Predicate::NotEqual(attribute, operand) => {
                self.others(Found::exact(self.bitmaps.get(attribute)?.of_values(operand.forms()))?)
            }
            Predicate::In(attribute, operands) if operands.forms().len() <= MAX_SIDES => {
                Found::exact(self.bitmaps.get(attribute)?.of_values(operands.forms().iter()))
            }
            Predicate::Not(inner) => self.others(self.find(inner)?),
            Predicate::And(sides) if sides.len() <= MAX_SIDES => self.all_of(sides),
            Predicate::Or(sides) if sides.len() <= MAX_SIDES => self.any_of(sides),
            Predicate::Sql { meaning, .. } => self.find(meaning),
            _ => None,
        }
    }

    /// The entries that are not among these, if it is known which those are.
    fn others(&self, found: Found) -> Option<Found> {
        let is_exact = found.is_exact;
        is_exact.then(|| Found { entries: self.all - found.entries, is_exact, has_others: true })
    }

    /// A side that the bitmaps know nothing of is left to be checked.
    fn all_of(&self, sides: &[Predicate]) -> Option<Found> {
        let (mut is_exact, mut both) = (true, None::<Found>);
        for side in sides {
            let Some(side) = self.find(side) else {
                is_exact = false;
                continue;
            };
            is_exact &= side.is_exact;
            both = Some(match both {
                None => side,
                Some(both) => Found {
                    entries: both.entries & side.entries,
                    is_exact: true,
                    has_others: both.has_others || side.has_others,
                },
            });
        }
        both.map(|both| Found { is_exact, ..both })
    }

    fn any_of(&self, sides: &[Predicate]) -> Option<Found> {
        let mut any: Option<Found> = None;
        for side in sides {
            let side = self.find(side)?;
            any = Some(match any {
                None => side,
                Some(any) => Found {
                    entries: any.entries | side.entries,
                    is_exact: any.is_exact && side.is_exact,
                    has_others: any.has_others || side.has_others,
                },
            });
        }
        any
    }
}
