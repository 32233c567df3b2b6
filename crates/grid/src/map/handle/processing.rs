//! Registered code on entries.

use super::Map;
use super::many::flat;
use crate::code::Code;
use crate::invocation::Invocation;
use crate::map::operations::{EntryFilter, Everything, ExecuteOnEntries, ExecuteOnKey, ExecuteOnKeys};
use filbert_wire::Data;

impl Map {
    /// Runs an entry processor on the entry of `key`, alone with it; what it gives.
    pub fn execute_on_key(&self, key: Data, code: Code) -> Invocation<Option<Data>> {
        self.call(key.partition(), ExecuteOnKey::new(self.place(key), code))
    }

    /// Runs an entry processor on the entries of these keys, locked or not; what it gives, by key, where it gives something.
    pub fn execute_on_keys(
        &self,
        keys: impl IntoIterator<Item = Data>,
        code: &Code,
    ) -> Invocation<Vec<(Data, Data)>> {
        self.by_key(keys, |key| key, |keys| ExecuteOnKeys::new(keys, code.clone()), flat)
    }

    /// Runs an entry processor on all entries, locked or not; what it gives, by key, where it gives something. Other operations have
    /// their turn between entries.
    pub fn execute_on_entries(&self, code: &Code) -> Invocation<Vec<(Data, Data)>> {
        self.execute_where(Everything, code)
    }

    /// The same for an entry processor that replaces values: what it gives is dropped.
    pub fn replace_all(&self, code: &Code) -> Invocation<()> {
        self.everywhere(|| ExecuteOnEntries::new(Everything, code.clone()), drop)
    }

    /// As [`Self::execute_on_entries`], on all entries that `filter` takes.
    pub fn execute_where<F: EntryFilter + Clone>(
        &self,
        filter: F,
        code: &Code,
    ) -> Invocation<Vec<(Data, Data)>> {
        self.everywhere(|| ExecuteOnEntries::new(filter.clone(), code.clone()), flat)
    }
}
