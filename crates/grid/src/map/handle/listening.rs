//! Listeners.

use super::Map;
use crate::map::events::{Interest, MapEvent};
use crate::map::near_cache::Invalidation;
use std::sync::Arc;
use uuid::Uuid;

impl Map {
    /// From now on `listener` hears of what `interest` says, on the `event` stage, in the order in which it happened to a key. `id` is
    /// what it is [removed](Map::remove_listener) by: [`Grid::new_id`](crate::Grid::new_id).
    pub fn add_listener(
        &self,
        id: Uuid,
        interest: Interest,
        listener: impl Fn(&MapEvent) + Send + Sync + 'static,
    ) {
        self.structure.context.listeners.add(id, interest, listener);
    }

    /// Removes a listener; false when there was none. An event that is under way may still reach it.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        self.listener_remover(id)()
    }

    /// From now on `listener` hears of every change, with the number of it in its partition: for copies of entries that are kept elsewhere.
    /// Events may be dropped; [`Grid::invalidation_numbers`](crate::Grid::invalidation_numbers) tells of all numbers that were given. It hears
    /// the end of the map too, and of the next map of that name, until it is removed.
    pub fn add_invalidation_listener(
        &self,
        id: Uuid,
        listener: impl Fn(&Invalidation) + Send + Sync + 'static,
    ) {
        self.structure.context.near.add(id, listener);
    }

    /// What removes a listener of invalidations later; it does not keep the map alive.
    pub fn invalidation_listener_remover(&self, id: Uuid) -> impl FnOnce() -> bool + Send + 'static + use<> {
        let near = Arc::clone(&self.structure.context.near);
        move || near.remove(id)
    }

    /// What removes a listener later; unlike a handle it does not keep the entries of a map alive that was destroyed.
    pub fn listener_remover(&self, id: Uuid) -> impl FnOnce() -> bool + Send + 'static + use<> {
        let context = Arc::clone(&self.structure.context);
        move || context.listeners.remove(id)
    }
}
