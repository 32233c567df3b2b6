//! What can be done with a list alone: all that has to do with places.

use crate::error::{GridError, GridResult};
use crate::items::{Items, Scan, Scanned};
use crate::operation::{Action, Operation, Step, Turn};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The place `index`, when it is below `end`.
fn place<O: Operation>(items: &Items, index: i64, end: usize) -> GridResult<usize> {
    if let Some(gone) = items.gone() {
        return Err(gone);
    }
    let out = || GridError::IndexOutOfBounds { operation: O::NAME, index, size: items.len() };
    usize::try_from(index).ok().filter(|place| *place < end).ok_or_else(out)
}

/// The item at a place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Get {
    pub(super) index: i64,
}

impl Operation for Get {
    type Target = Items;
    type Output = Data;
    const NAME: &'static str = "list.get";
    const ACTION: Action = Action::Read;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        let item =
            place::<Self>(items, self.index, items.len()).map(|place| items.sequence().get(place).cloned());
        Step::Done(item.map(|item| item.expect("the place is within bounds")))
    }
}

/// Replaces the item at a place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Set {
    pub(super) index: i64,
    pub(super) item: Data,
}

impl Operation for Set {
    type Target = Items;
    type Output = Data;
    const NAME: &'static str = "list.set";
    const ACTION: Action = Action::Put;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        let before = place::<Self>(items, self.index, items.len())
            .map(|place| items.set(turn, place, self.item.clone()).expect("the place is within bounds"));
        Step::Done(before)
    }
}

/// Removes the item at a place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemoveAt {
    pub(super) index: i64,
}

impl Operation for RemoveAt {
    type Target = Items;
    type Output = Data;
    const NAME: &'static str = "list.remove_at";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        let item = place::<Self>(items, self.index, items.len())
            .map(|place| items.remove(turn, place).expect("the place is within bounds"));
        Step::Done(item)
    }
}

/// Adds items before the one at a place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InsertAll {
    pub(super) index: i64,
    pub(super) items: Vec<Data>,
}

impl Operation for InsertAll {
    type Target = Items;
    /// Whether they were added.
    type Output = bool;
    const NAME: &'static str = "list.insert_all";
    const ACTION: Action = Action::Put;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        let count = self.items.len();
        let added = place::<Self>(items, self.index, items.len() + 1).map(|place| {
            let fits = count > 0 && count <= items.room();
            if fits {
                items.insert(turn, place, std::mem::take(&mut self.items));
            }
            fits
        });
        Step::Done(added)
    }
}

/// The place of the first or last equal item.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IndexOf {
    item: Data,
    is_last: bool,
    #[serde(skip)]
    found: Option<usize>,
    #[serde(skip)]
    scan: Scan,
}

impl IndexOf {
    pub(super) fn first(item: Data) -> Self {
        Self { item, is_last: false, found: None, scan: Scan::default() }
    }

    pub(super) fn last(item: Data) -> Self {
        Self { is_last: true, ..Self::first(item) }
    }
}

impl Operation for IndexOf {
    type Target = Items;
    type Output = Option<usize>;
    const NAME: &'static str = "list.index_of";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        let Self { item: wanted, is_last, found, scan } = self;
        let look = |index, item: &Data| {
            if item == wanted {
                *found = Some(index);
                if !*is_last {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        match scan.run(items, 0, look) {
            Scanned::Found(()) | Scanned::All => Step::done(*found),
            Scanned::More => Step::Again,
        }
    }
}
