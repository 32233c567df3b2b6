//! What can be done with a list and a queue alike.
//!
//! An operation that changes items after a look at all of them (remove one, keep some) computes the change in slices, and makes it when
//! nobody changed the items meanwhile; otherwise it looks again, and after a few times does it in one go. So it is atomic and it ends.

use super::shelf::bound;
use super::{Awaited, Chance, Items, Patience, Scan, Scanned, Sequence};
use crate::error::GridError;
use crate::operation::{Action, Operation, Step, Turn};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// How many items there are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Size;

impl Operation for Size {
    type Target = Items;
    type Output = usize;
    const NAME: &'static str = "items.size";
    const ACTION: Action = Action::Read;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        match items.gone() {
            Some(gone) => Step::failed(gone),
            None => Step::done(items.len()),
        }
    }
}

/// Whether there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IsEmpty;

impl Operation for IsEmpty {
    type Target = Items;
    type Output = bool;
    const NAME: &'static str = "items.is_empty";
    const ACTION: Action = Action::Read;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        match items.gone() {
            Some(gone) => Step::failed(gone),
            None => Step::done(items.sequence.is_empty()),
        }
    }
}

/// Whether an item is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Contains {
    item: Data,
    #[serde(skip)]
    scan: Scan,
}

impl Contains {
    pub(crate) fn new(item: Data) -> Self {
        Self { item, scan: Scan::default() }
    }
}

impl Operation for Contains {
    type Target = Items;
    type Output = bool;
    const NAME: &'static str = "items.contains";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        match self.scan.run(items, 0, |_, item| found(*item == self.item, ())) {
            Scanned::Found(()) => Step::done(true),
            Scanned::All => Step::done(false),
            Scanned::More => Step::Again,
        }
    }
}

fn found<B>(stop: bool, with: B) -> ControlFlow<B> {
    if stop { ControlFlow::Break(with) } else { ControlFlow::Continue(()) }
}

/// Whether each of some items is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ContainsAll {
    /// Those that were not seen yet.
    missing: HashSet<Data>,
    #[serde(skip)]
    scan: Scan,
}

impl ContainsAll {
    pub(crate) fn new(items: Vec<Data>) -> Self {
        Self { missing: items.into_iter().collect(), scan: Scan::default() }
    }
}

impl Operation for ContainsAll {
    type Target = Items;
    type Output = bool;
    const NAME: &'static str = "items.contains_all";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        let Self { missing, scan } = self;
        if missing.is_empty() {
            return Step::done(true);
        }
        let look = |_, item: &Data| {
            missing.remove(item);
            found(missing.is_empty(), ())
        };
        match scan.run(items, 0, look) {
            Scanned::Found(()) => Step::done(true),
            Scanned::All => Step::done(false),
            Scanned::More => Step::Again,
        }
    }
}

/// The items from one place to another, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GetRange {
    from: i64,
    /// To the end when there is none.
    to: Option<i64>,
    #[serde(skip)]
    got: Vec<Data>,
    #[serde(skip)]
    scan: Scan,
}

impl GetRange {
    pub(crate) fn new(from: i64, to: Option<i64>) -> Self {
        Self { from, to, got: Vec::new(), scan: Scan::default() }
    }

    pub(crate) fn all() -> Self {
        Self::new(0, None)
    }
}

impl Operation for GetRange {
    type Target = Items;
    type Output = Vec<Data>;
    const NAME: &'static str = "items.get_range";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        if self.to.is_none() || !self.scan.has_begun() {
            // The size that counts is that of the first turn.
            let size = items.len() as i64;
            let to = *self.to.get_or_insert(size);
            if self.from < 0 || self.from > size || to < self.from || to > size {
                let index = if self.from < 0 || self.from > size { self.from } else { to };
                return Step::failed(GridError::IndexOutOfBounds {
                    operation: Self::NAME,
                    index,
                    size: items.len(),
                });
            }
            self.got.reserve_exact((to - self.from) as usize);
        }
        let Self { from, to, got, scan } = self;
        let to = to.map_or(0, |to| to as usize);
        let collect = |index, item: &Data| {
            if index >= to {
                return ControlFlow::Break(());
            }
            got.push(item.clone());
            ControlFlow::Continue(())
        };
        match scan.run(items, *from as usize, collect) {
            Scanned::Found(()) | Scanned::All => Step::done(std::mem::take(got)),
            Scanned::More => Step::Again,
        }
    }
}

/// Adds items at the end, all or, without room for all, none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AddAll {
    items: Vec<Data>,
    patience: Patience,
}

impl AddAll {
    pub(crate) fn new(items: Vec<Data>) -> Self {
        Self { items, patience: Patience::none() }
    }
}

impl Operation for AddAll {
    type Target = Items;
    /// Whether they were added.
    type Output = bool;
    const NAME: &'static str = "items.add_all";
    const ACTION: Action = Action::Put;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        let count = self.items.len();
        match self.patience.look(items, turn, Awaited::Room) {
            Chance::LetBy => Step::Again,
            Chance::Now if count > 0 && count <= items.room() => {
                items.insert(turn, items.len(), std::mem::take(&mut self.items));
                Step::done(true)
            }
            _ => Step::done(false),
        }
    }
}

/// Removes the first item that equals one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Remove {
    item: Data,
    #[serde(skip)]
    scan: Scan,
}

impl Remove {
    pub(crate) fn new(item: Data) -> Self {
        Self { item, scan: Scan::default() }
    }
}

impl Operation for Remove {
    type Target = Items;
    type Output = bool;
    const NAME: &'static str = "items.remove";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        match self.scan.run(items, 0, |index, item| found(*item == self.item, index)) {
            Scanned::Found(index) if self.scan.still_true(items) => {
                Step::done(items.remove(turn, index).is_some())
            }
            Scanned::All => Step::done(false),
            Scanned::Found(_) | Scanned::More => Step::Again,
        }
    }
}

/// Removes all items that are among some, or all that are not.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeepOrRemove {
    items: HashSet<Data>,
    keep: bool,
    #[serde(skip)]
    kept: Sequence,
    #[serde(skip)]
    removed: Vec<Data>,
    #[serde(skip)]
    scan: Scan,
}

impl KeepOrRemove {
    /// Keeps those of `items`, or else removes them.
    pub(crate) fn new(items: Vec<Data>, keep: bool) -> Self {
        let items = items.into_iter().collect();
        Self { items, keep, kept: Sequence::default(), removed: Vec::new(), scan: Scan::default() }
    }
}

impl Operation for KeepOrRemove {
    type Target = Items;
    /// Whether one was removed.
    type Output = bool;
    const NAME: &'static str = "items.keep_or_remove";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        let Self { items: named, keep, kept, removed, scan } = self;
        let sort = |_, item: &Data| {
            if named.contains(item) == *keep {
                kept.push_back(item.clone());
            } else {
                removed.push(item.clone());
            }
            ControlFlow::<()>::Continue(())
        };
        if let Scanned::More = scan.run(items, 0, sort) {
            return Step::Again;
        }
        let (kept, removed) = (std::mem::take(kept), std::mem::take(removed));
        if removed.is_empty() {
            return Step::done(false);
        }
        if !scan.still_true(items) {
            return Step::Again;
        }
        items.keep_only(turn, kept, &removed);
        Step::done(true)
    }
}

/// Removes all items. Freeing them is the longer part: it comes after, a slice per turn.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Clear {
    #[serde(skip)]
    gone: Option<Sequence>,
}

impl Operation for Clear {
    type Target = Items;
    type Output = ();
    const NAME: &'static str = "items.clear";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if self.gone.is_none() {
            if let Some(gone) = items.gone() {
                return Step::failed(gone);
            }
            self.gone = Some(items.clear(turn));
        }
        let is_free = self.gone.as_mut().is_none_or(Sequence::drop_slice);
        if is_free { Step::done(()) } else { Step::Again }
    }
}

/// Ends the structure: what is parked ends, and nothing can be done any more.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Close {
    #[serde(skip)]
    gone: Option<Sequence>,
}

impl Operation for Close {
    type Target = Items;
    type Output = ();
    const NAME: &'static str = "items.close";
    const ACTION: Action = Action::Destroy;
    const SHORT: bool = false;
    const PRIORITY: bool = true;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        let gone = self.gone.get_or_insert_with(|| {
            items.closed = true;
            turn.happened(Awaited::Item);
            turn.happened(Awaited::Room);
            std::mem::take(&mut items.sequence)
        });
        if gone.drop_slice() { Step::done(()) } else { Step::Again }
    }
}

/// Sets how many items there may be; those that are there stay.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SetMaxSize {
    pub(crate) max_size: usize,
}

impl Operation for SetMaxSize {
    type Target = Items;
    type Output = ();
    const NAME: &'static str = "items.set_max_size";
    const ACTION: Action = Action::Create;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        items.max_size = bound(self.max_size);
        turn.happened(Awaited::Room);
        Step::done(())
    }
}
