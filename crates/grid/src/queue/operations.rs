//! What can be done with a queue alone: to wait for an item or for room, and to take from the front.

use crate::error::GridResult;
use crate::items::{Awaited, Chance, Items, Patience};
use crate::operation::{Action, Operation, Step, Turn};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Takes the first item, if it is this operation's turn; `otherwise` it has waited enough already.
fn take<O: Operation<Target = Items>>(
    patience: &mut Patience,
    items: &mut Items,
    turn: &mut Turn<'_, Items>,
    got: impl FnOnce(Option<Data>) -> Step<O>,
) -> Step<O> {
    if let Some(gone) = items.gone() {
        return Step::failed(gone);
    }
    match patience.look(items, turn, Awaited::Item) {
        Chance::Now => got(items.take(turn, 1).pop()),
        Chance::LetBy => Step::Again,
        Chance::Wait(deadline) => Step::Wait { event: Awaited::Item, deadline },
        Chance::Never => got(None),
    }
}

/// Adds `item` at the end, if it is this operation's turn.
fn put<O: Operation<Target = Items>>(
    item: &Data,
    patience: &mut Patience,
    items: &mut Items,
    turn: &mut Turn<'_, Items>,
    put: impl FnOnce(bool) -> O::Output,
) -> Step<O> {
    if let Some(gone) = items.gone() {
        return Step::failed(gone);
    }
    match patience.look(items, turn, Awaited::Room) {
        Chance::Now => {
            items.insert(turn, items.len(), vec![item.clone()]);
            Step::done(put(true))
        }
        Chance::LetBy => Step::Again,
        Chance::Wait(deadline) => Step::Wait { event: Awaited::Room, deadline },
        Chance::Never => Step::done(put(false)),
    }
}

/// Adds an item; waits so long for room.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Offer {
    item: Data,
    patience: Patience,
}

impl Offer {
    pub(super) fn new(item: Data, timeout: Duration) -> Self {
        Self { item, patience: Patience::until(timeout) }
    }
}

impl Operation for Offer {
    type Target = Items;
    type Output = bool;
    const NAME: &'static str = "queue.offer";
    const ACTION: Action = Action::Put;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        put(&self.item, &mut self.patience, items, turn, |put| put)
    }

    fn expired(self, _: &mut Items) -> GridResult<bool> {
        Ok(false)
    }
}

/// Adds an item; waits for room.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Put {
    item: Data,
    patience: Patience,
}

impl Put {
    pub(super) fn new(item: Data) -> Self {
        Self { item, patience: Patience::endless() }
    }
}

impl Operation for Put {
    type Target = Items;
    type Output = ();
    const NAME: &'static str = "queue.put";
    const ACTION: Action = Action::Put;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        put(&self.item, &mut self.patience, items, turn, |_| ())
    }
}

/// Takes the first item; waits so long for one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Poll {
    patience: Patience,
}

impl Poll {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { patience: Patience::until(timeout) }
    }
}

impl Operation for Poll {
    type Target = Items;
    type Output = Option<Data>;
    const NAME: &'static str = "queue.poll";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        take(&mut self.patience, items, turn, Step::done)
    }

    fn expired(self, _: &mut Items) -> GridResult<Option<Data>> {
        Ok(None)
    }
}

/// Takes the first item; waits for one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Take {
    patience: Patience,
}

impl Take {
    pub(super) fn new() -> Self {
        Self { patience: Patience::endless() }
    }
}

impl Operation for Take {
    type Target = Items;
    type Output = Data;
    const NAME: &'static str = "queue.take";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        take(&mut self.patience, items, turn, |item| match item {
            Some(item) => Step::done(item),
            None => Step::Again,
        })
    }
}

/// Takes all items, or so many of the first, without waiting.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Drain {
    max: Option<usize>,
    /// So many bytes at most, but one item in any case.
    max_bytes: Option<usize>,
    patience: Patience,
}

impl Drain {
    pub(super) fn new(max: Option<usize>, max_bytes: Option<usize>) -> Self {
        Self { max, max_bytes, patience: Patience::none() }
    }
}

impl Operation for Drain {
    type Target = Items;
    type Output = Vec<Data>;
    const NAME: &'static str = "queue.drain";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;

    fn run(&mut self, items: &mut Items, turn: &mut Turn<'_, Items>) -> Step<Self> {
        if let Some(gone) = items.gone() {
            return Step::failed(gone);
        }
        match self.patience.look(items, turn, Awaited::Item) {
            Chance::LetBy => Step::Again,
            _ => {
                let fitting = self.max_bytes.map_or(usize::MAX, |bytes| items.fitting(bytes));
                Step::done(items.take(turn, self.max.unwrap_or(usize::MAX).min(fitting)))
            }
        }
    }
}

/// The first item, which stays.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Peek;

impl Operation for Peek {
    type Target = Items;
    type Output = Option<Data>;
    const NAME: &'static str = "queue.peek";
    const ACTION: Action = Action::Read;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        match items.gone() {
            Some(gone) => Step::failed(gone),
            None => Step::done(items.sequence().front().cloned()),
        }
    }
}

/// How many more items there is room for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemainingCapacity;

impl Operation for RemainingCapacity {
    type Target = Items;
    type Output = usize;
    const NAME: &'static str = "queue.remaining_capacity";
    const ACTION: Action = Action::Read;

    fn run(&mut self, items: &mut Items, _: &mut Turn<'_, Items>) -> Step<Self> {
        match items.gone() {
            Some(gone) => Step::failed(gone),
            None => Step::done(items.room()),
        }
    }
}
