//! `Search`: the entries of a predicate by bitmap indexes, some slots at a time.
//!
//! AND, OR and NOT of equalities are answered by putting sets together, before any entry is looked at. That is done window by window: a few
//! thousand slots, or fewer when there are many sets, so that one step has a bound whatever the number of entries is. What a step found
//! is right as long as nothing changes, which is the turn of its strand; the next turn makes the search anew and goes on where the last
//! one was. So an entry that is there and matches all the time is found once, as by a scan. Rejected: to put the sets together as
//! a whole, which holds the strand for as long as the sets are large; and to do so in parts of the predicate instead of parts of the slots:
//! an entry that goes from one side of an OR to the other between two turns would be in neither.
//!
//! Runs on the partition's strand, as all that is done with its indexes.

use super::bitmap::Bitmaps;
use super::plan::Residual;
use super::window::Window;
use super::{EntryId, IndexKind, Indexes};
use crate::query::attribute::Attribute;
use crate::query::predicate::Predicate;
use filbert_wire::Value;
use roaring::RoaringBitmap;
use std::collections::HashMap;

/// With more parts and values than this the bitmaps are not asked: to find their sets would alone hold up the strand.
const MOST_PARTS: usize = 2_048;

/// With more sets than this a scan is sooner done: each of them is looked into at every step, for ever fewer slots.
const MOST_SETS: usize = 256;

/// Slots of one step at most.
const WIDEST: u32 = 4_096;

/// Slots of one step at most, times sets and parts: so many bits are put together in one.
const STEP_BITS: u32 = 1 << 17;

/// Slots that a step has in any case, and what it has a multiple of: a word of a window.
const NARROWEST: u32 = 64;

/// The entries that a predicate may match, all that do among them.
#[derive(Debug)]
pub(crate) struct Search<'i> {
    root: Node<'i>,
    all: &'i RoaringBitmap,
    most: u64,
    /// There are no others among them, also none whose attribute cannot be read.
    is_whole: bool,
    /// Slots of one step.
    width: u32,
}

/// What sets are put together to.
#[derive(Debug)]
enum Node<'i> {
    /// In any of these.
    Sets(Vec<&'i RoaringBitmap>),
    /// In all of these.
    Both(Vec<Node<'i>>),
    /// In any of these.
    Either(Vec<Node<'i>>),
    /// There, and not in this.
    Others(Box<Node<'i>>),
}

/// A part of the predicate.
struct Part<'i> {
    node: Node<'i>,
    /// How many entries it finds: between these.
    least: u64,
    most: u64,
    /// There are no others among them.
    is_exact: bool,
    /// Some are there because they are not among others: also those whose attribute cannot be read, which the predicate must see.
    has_others: bool,
}

/// The slots that one step found.
#[derive(Debug)]
pub(crate) struct Found {
    window: Window,
    next: u32,
}

impl Found {
    /// The slots, in their order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.window.slots()
    }

    /// Where the next step begins.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }
}

impl<'i> Search<'i> {
    /// `None` when the bitmaps cannot tell, or not soon enough.
    pub(crate) fn of<E: EntryId>(indexes: &'i Indexes<E>, predicate: &Predicate) -> Option<Self> {
        let bitmaps: HashMap<&Attribute, &Bitmaps> = indexes
            .all
            .iter()
            .filter(|index| index.is_usable() && index.settings.kind() == IndexKind::Bitmap)
            .filter_map(|index| Some((index.settings.attributes().first()?, index.store.bitmaps()?)))
            .collect();
        let all = bitmaps.values().next()?.all();
        let mut finder = Finder { bitmaps, all_count: all.len(), parts: 0, windows: 0 };
        let part = finder.part(predicate)?;
        if finder.windows > MOST_SETS {
            return None;
        }
        let width =
            (STEP_BITS / finder.windows.max(1) as u32).clamp(NARROWEST, WIDEST) / NARROWEST * NARROWEST;
        let is_whole = part.is_exact && !part.has_others;
        Some(Self { root: part.node, all, most: part.most, is_whole, width })
    }

    /// How many entries it finds at most.
    pub(crate) fn estimate(&self) -> usize {
        usize::try_from(self.most).unwrap_or(usize::MAX)
    }

    /// What is still to be checked of what a step found, before anything changes.
    pub(crate) fn residual(&self) -> Residual {
        if self.is_whole { Residual::Nothing } else { Residual::Whole }
    }

    /// The next slots from `from` on, perhaps none; `None` when there are no more.
    pub(crate) fn step(&self, from: u32) -> Option<Found> {
        let last = self.all.max().filter(|last| from <= *last)?;
        let next = from.saturating_add(self.width).min(last.saturating_add(1));
        Some(Found { window: self.window(&self.root, from), next })
    }

    /// Recurses once for each level of nesting, which is bounded where predicates come in.
    fn window(&self, node: &Node<'_>, from: u32) -> Window {
        let mut window = Window::empty(from, self.width);
        match node {
            Node::Sets(sets) => sets.iter().for_each(|set| window.add_set(set)),
            Node::Either(sides) => sides.iter().for_each(|side| window.add(&self.window(side, from))),
            Node::Both(sides) => {
                let mut sides = sides.iter().map(|side| self.window(side, from));
                if let Some(first) = sides.next() {
                    window = first;
                }
                sides.for_each(|side| window.keep(&side));
            }
            Node::Others(inner) => {
                window.add_runs(self.all);
                window.take_away(&self.window(inner, from));
            }
        }
        window
    }
}

/// Finds the sets that a predicate is about.
struct Finder<'i> {
    bitmaps: HashMap<&'i Attribute, &'i Bitmaps>,
    /// How many entries there are.
    all_count: u64,
    /// How many parts and values were looked for so far.
    parts: usize,
    /// How many of them a step has to read: parts, and values that some entry has.
    windows: usize,
}

impl<'i> Finder<'i> {
    /// Recurses as [`Search::window`] does.
    fn part(&mut self, predicate: &Predicate) -> Option<Part<'i>> {
        self.count()?;
        self.windows += 1;
        match predicate {
            Predicate::Equal(attribute, operand) => self.values(attribute, operand.forms()),
            Predicate::NotEqual(attribute, operand) => {
                let same = self.values(attribute, operand.forms())?;
                self.others(same)
            }
            Predicate::In(attribute, operands) if operands.forms().len() <= MOST_PARTS => {
                self.values(attribute, operands.forms().iter())
            }
            Predicate::Not(inner) => {
                let inner = self.part(inner)?;
                self.others(inner)
            }
            Predicate::And(sides) if sides.len() <= MOST_PARTS => self.all_of(sides),
            Predicate::Or(sides) if sides.len() <= MOST_PARTS => self.any_of(sides),
            Predicate::Sql { meaning, .. } => self.part(meaning),
            // Which of them are on the page is not for the sets to say.
            Predicate::Paging(paging) => Some(Part { is_exact: false, ..self.part(paging.predicate()?)? }),
            _ => None,
        }
    }

    /// One more part; `None` when they are too many.
    fn count(&mut self) -> Option<()> {
        self.parts += 1;
        (self.parts <= MOST_PARTS).then_some(())
    }

    fn values<'v>(
        &mut self,
        attribute: &Attribute,
        values: impl Iterator<Item = &'v Value>,
    ) -> Option<Part<'i>> {
        let bitmaps = *self.bitmaps.get(attribute)?;
        let mut sets = Vec::new();
        for value in values {
            self.count()?;
            sets.extend(bitmaps.of_value(value));
        }
        // One that was found by two values would count twice.
        sets.sort_unstable_by_key(|set| std::ptr::from_ref(*set));
        sets.dedup_by_key(|set| std::ptr::from_ref(*set));
        self.windows += sets.len();
        let counts = || sets.iter().map(|set| set.len());
        let most = counts().sum::<u64>().min(self.all_count);
        // An entry has one value, unless the attribute leads to several.
        let least = if attribute.is_multiple() { counts().max().unwrap_or(0) } else { most };
        Some(Part { node: Node::Sets(sets), least, most, is_exact: true, has_others: false })
    }

    /// The entries that are not among these, if it is known which those are.
    fn others(&self, part: Part<'i>) -> Option<Part<'i>> {
        let least = self.all_count - part.most;
        let most = self.all_count - part.least;
        part.is_exact.then(|| Part {
            node: Node::Others(Box::new(part.node)),
            least,
            most,
            is_exact: true,
            has_others: true,
        })
    }

    /// A side that the bitmaps know nothing of is left to be checked.
    fn all_of(&mut self, sides: &[Predicate]) -> Option<Part<'i>> {
        let all = self.all_count;
        let (mut nodes, mut most, mut missing) = (Vec::new(), all, 0);
        let (mut is_exact, mut has_others) = (true, false);
        for side in sides {
            let Some(side) = self.part(side) else {
                is_exact = false;
                continue;
            };
            is_exact &= side.is_exact;
            has_others |= side.has_others;
            most = most.min(side.most);
            missing += all - side.least;
            nodes.push(side.node);
        }
        let least = all.saturating_sub(missing);
        (!nodes.is_empty()).then_some(Part { node: Node::Both(nodes), least, most, is_exact, has_others })
    }

    fn any_of(&mut self, sides: &[Predicate]) -> Option<Part<'i>> {
        let mut any =
            Part { node: Node::Sets(Vec::new()), least: 0, most: 0, is_exact: true, has_others: false };
        let mut nodes = Vec::new();
        for side in sides {
            let side = self.part(side)?;
            any.least = any.least.max(side.least);
            any.most = any.most.saturating_add(side.most).min(self.all_count);
            any.is_exact &= side.is_exact;
            any.has_others |= side.has_others;
            nodes.push(side.node);
        }
        (!nodes.is_empty()).then_some(Part { node: Node::Either(nodes), ..any })
    }
}
