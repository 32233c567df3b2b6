//! The listeners of one connection: they go with it.

use std::collections::HashMap;
use uuid::Uuid;

type Undo = Box<dyn FnOnce() -> bool + Send>;

/// The listeners of one connection, by registration id.
#[derive(Default)]
pub(super) struct Registrations {
    undo: HashMap<Uuid, Undo>,
}

impl Registrations {
    /// Remembers how to remove a listener; `undo` says whether it was there.
    pub(super) fn add(&mut self, id: Uuid, undo: impl FnOnce() -> bool + Send + 'static) {
        self.undo.insert(id, Box::new(undo));
    }

    /// Removes a listener of this connection; false when it has none of that id.
    pub(super) fn remove(&mut self, id: Uuid) -> bool {
        self.undo.remove(&id).is_some_and(|undo| undo())
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.undo.drain().for_each(|(_, undo)| {
            undo();
        });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.undo.len()
    }
}

impl std::fmt::Debug for Registrations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.undo.keys()).finish()
    }
}
