//! Listeners.

use super::Map;
use crate::map::events::{Interest, MapEvent};
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
        self.structure.context.listeners.remove(id)
    }
}
