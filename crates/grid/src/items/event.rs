//! What listeners of a list, a queue or a set hear.

use crate::allowance::Weighs;
use crate::grid::Grid;
use crate::listeners::Listeners;
use crate::operation::{Target, Turn};
use crate::structures::Service;
use filbert_wire::Data;
use std::sync::Arc;
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
const BATCH: usize = 256;

/// What one operation did to some items: one event of the stage, and so one place in its queue and one in its count of drops.
#[derive(Debug)]
struct Changed {
    change: ItemChange,
    items: Vec<Data>,
}

/// The listeners of a structure with items.
#[derive(Debug, Clone)]
pub(crate) struct ItemListeners {
    listeners: Arc<Listeners<Changed>>,
    member: Uuid,
}

impl ItemListeners {
    pub(crate) fn new(grid: &Grid, service: Service, name: &str) -> Self {
        let source = format!("{}/{name}", service.as_str());
        let weigh = |changed: &Changed| changed.items.weight();
        let listeners = Arc::new(Listeners::counted(grid.stages().event(), &source, grid.memory(), weigh));
        Self { listeners, member: grid.member() }
    }

    /// Adds a listener that hears of each item by itself.
    pub(crate) fn add(
        &self,
        id: Uuid,
        include_value: bool,
        listener: impl Fn(&ItemEvent) + Send + Sync + 'static,
    ) {
        let member = self.member;
        self.listeners.add(id, move |changed: &Changed| {
            for item in &changed.items {
                let item = include_value.then(|| item.clone());
                listener(&ItemEvent { change: changed.change, item, member });
            }
        });
    }

    pub(crate) fn remove(&self, id: Uuid) -> bool {
        self.listeners.remove(id)
    }

    /// Tells of items that came or went.
    pub(crate) fn publish<T: Target>(&self, turn: &mut Turn<'_, T>, change: ItemChange, items: &[Data]) {
        if self.listeners.is_empty() {
            return;
        }
        for items in items.chunks(BATCH) {
            self.listeners.publish(turn, || Changed { change, items: items.to_vec() });
        }
    }
}
