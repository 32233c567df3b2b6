//! What can be done with keys and values.

use super::locking::Patience;
use super::part::Part;
use crate::error::GridError;
use crate::keeper::acts;
use crate::map::Owner;
use crate::operation::Step;
use filbert_wire::Data;

/// Waits while another owner has locked the key.
macro_rules! when_free {
    ($this:ident, $part:ident, $turn:ident, $key:expr) => {
        if let Some(wait) = $this.patience.check($part, $turn, $key, $this.owner) {
            return Step::Wait { event: wait.0, deadline: wait.1 };
        }
    };
}

acts! {
    Part;
    /// Adds a value to a key.
    Put "multimap.put" Put { key: Data, value: Data, owner: Owner, patience: Patience } -> bool = |self, part, turn| {
        when_free!(self, part, turn, &self.key);
        Step::done(part.add(turn, &self.key, &self.value))
    };
    /// Adds values to keys, one key after the other.
    Put "multimap.put_all" PutAll { entries: Vec<(Data, Vec<Data>)>, owner: Owner, patience: Patience, done: usize } -> (), long
        = |self, part, turn| {
            while let Some((key, values)) = self.entries.get(self.done) {
                when_free!(self, part, turn, key);
                values.iter().for_each(|value| {
                    part.add(turn, key, value);
                });
                self.done += 1;
            }
            Step::done(())
        }, or |self, _part| Err(GridError::TimedOutInPart { operation: "multimap.put_all" });
    /// Removes a key; its values.
    Remove "multimap.remove" Remove { key: Data, owner: Owner, patience: Patience } -> Vec<Data>, long = |self, part, turn| {
        when_free!(self, part, turn, &self.key);
        Step::done(part.remove(turn, &self.key))
    };
    /// Removes a key.
    Remove "multimap.delete" Delete { key: Data, owner: Owner, patience: Patience } -> () = |self, part, turn| {
        when_free!(self, part, turn, &self.key);
        part.remove(turn, &self.key);
        Step::done(())
    };
    /// Removes a value of a key.
    Remove "multimap.remove_entry" RemoveEntry { key: Data, value: Data, owner: Owner, patience: Patience } -> bool
        = |self, part, turn| {
            when_free!(self, part, turn, &self.key);
            Step::done(part.remove_value(turn, &self.key, &self.value))
        };
    /// Removes all keys that are not locked; how many.
    Remove "multimap.clear" Clear {} -> u64, long = |self, part, _turn| Step::done(part.clear());
    /// The values of a key.
    Read "multimap.get" Get { key: Data } -> Vec<Data>, long = |self, part, _turn| {
        Step::done(part.entries.get(&self.key).map(|values| values.iter().cloned().collect()).unwrap_or_default())
    };
    /// How many values a key has.
    Read "multimap.value_count" ValueCount { key: Data } -> usize
        = |self, part, _turn| Step::done(part.entries.get(&self.key).map_or(0, |values| values.len()));
    /// Whether a key is there.
    Read "multimap.contains_key" ContainsKey { key: Data } -> bool
        = |self, part, _turn| Step::done(part.entries.contains_key(&self.key));
    /// Whether a key has a value.
    Read "multimap.contains_entry" ContainsEntry { key: Data, value: Data } -> bool
        = |self, part, _turn| Step::done(part.entries.get(&self.key).is_some_and(|values| values.contains(&self.value)));
    /// Whether any key has a value.
    Read "multimap.contains_value" ContainsValue { value: Data } -> bool, long
        = |self, part, _turn| Step::done(part.entries.values().any(|values| values.contains(&self.value)));
    /// How many values there are.
    Read "multimap.size" Size {} -> usize = |self, part, _turn| Step::done(part.size);
    /// All keys.
    Read "multimap.keys" Keys {} -> Vec<Data>, long = |self, part, _turn| Step::done(part.entries.keys().cloned().collect());
    /// All values.
    Read "multimap.values" Values {} -> Vec<Data>, long
        = |self, part, _turn| Step::done(part.entries.values().flat_map(|values| values.iter().cloned()).collect());
    /// All values with their keys.
    Read "multimap.entries" Entries {} -> Vec<(Data, Data)>, long = |self, part, _turn| {
        let of_key = |(key, values): (&Data, &super::part::ValuesOfKey)| {
            values.iter().map(|value| (key.clone(), value.clone())).collect::<Vec<_>>()
        };
        Step::done(part.entries.iter().flat_map(of_key).collect())
    };
}

impl Put {
    pub(super) fn new(key: Data, value: Data, owner: Owner) -> Self {
        Self { key, value, owner, patience: Patience::of_map() }
    }
}

impl PutAll {
    pub(super) fn new(entries: Vec<(Data, Vec<Data>)>, owner: Owner) -> Self {
        Self { entries, owner, patience: Patience::of_map(), done: 0 }
    }
}

impl RemoveEntry {
    pub(super) fn new(key: Data, value: Data, owner: Owner) -> Self {
        Self { key, value, owner, patience: Patience::of_map() }
    }
}
