//! The store behind a map.

use super::Map;
use crate::error::GridError;
use crate::invocation::Invocation;
use crate::map::operations::LoadKeys;
use filbert_wire::Data;

impl Map {
    /// True when there is a store behind the map.
    pub fn has_store(&self) -> bool {
        self.structure.context.behind.is_some()
    }

    /// Writes what waits to be written to the store behind the map; without one nothing waits.
    pub fn flush(&self) -> Invocation<()> {
        self.structure
            .context
            .behind
            .as_ref()
            .map_or_else(|| Invocation::ready(Ok(())), |behind| behind.flush())
    }

    /// Hands changes to the store behind the map that it had not been told of when the member ended.
    pub(crate) fn take_up(&self, untold: Vec<(Data, Option<Data>)>) {
        if untold.is_empty() {
            return;
        }
        let (map, changes) = (&**self.name(), untold.len());
        match &self.structure.context.behind {
            Some(behind) => {
                tracing::info!(
                    map,
                    changes,
                    "the store behind a map is told of changes from before the start"
                );
                behind.take_up(untold);
            }
            None => tracing::warn!(
                map,
                changes,
                "changes wait on disk for a store that the map has no more; set [map.\"{map}\".store] to have them written"
            ),
        }
    }

    /// Loads `keys` from the store behind the map: those that have no entry, and with `replace` the others too. Refused without one.
    pub fn load_keys(&self, keys: impl IntoIterator<Item = Data>, replace: bool) -> Invocation<()> {
        if !self.has_store() {
            return Invocation::ready(Err(self.no_store("map.load_keys")));
        }
        self.by_key(keys, |key| key, |keys| LoadKeys::new(keys, replace), drop)
    }

    /// The same for all keys that the store has.
    pub fn load_all(&self, replace: bool) -> Invocation<()> {
        let Some(behind) = &self.structure.context.behind else {
            return Invocation::ready(Err(self.no_store("map.load_all")));
        };
        let map = self.clone();
        behind.after(behind.all_keys(), move |keys| map.load_keys(keys, replace))
    }

    fn no_store(&self, operation: &'static str) -> GridError {
        let problem = format!("map {} has no store behind it that could be loaded from", self.name());
        GridError::BadArgument { operation, problem }
    }
}
