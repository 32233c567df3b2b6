//! What listeners of a list or a queue hear.

use crate::listeners::Listeners;
use filbert_wire::Data;
use uuid::Uuid;

/// What happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemChange {
    /// It came.
    Added,
    /// It went.
    Removed,
}

/// An item came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemEvent {
    /// Which of the two.
    pub change: ItemChange,
    /// The item, for listeners that asked for it.
    pub item: Option<Data>,
    /// The member where it happened.
    pub member: Uuid,
}

/// The most items that one event on the stage tells of: an operation on many items makes few events, and none that is large.
pub(super) const BATCH: usize = 256;

/// What one operation did to some items: one event of the stage, and so one place in its queue and one in its count of drops.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) change: ItemChange,
    pub(super) items: Vec<Data>,
    pub(super) member: Uuid,
}

/// Adds a listener that hears of each item by itself.
pub(super) fn listen(
    listeners: &Listeners<Changed>,
    id: Uuid,
    include_value: bool,
    listener: impl Fn(&ItemEvent) + Send + Sync + 'static,
) {
    listeners.add(id, move |changed: &Changed| {
        for item in &changed.items {
            let item = include_value.then(|| item.clone());
            listener(&ItemEvent { change: changed.change, item, member: changed.member });
        }
    });
}
