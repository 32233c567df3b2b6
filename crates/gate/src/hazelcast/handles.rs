//! The structures that a connection has used, by name: a get costs neither a lock that all share nor an allocation.
//!
//! What is here was allowed to be opened, with the actions that the user has on it. All is forgotten with the first message after any
//! structure was destroyed, which is rare; what is used again is found again. With any message, not only with one for that kind: a
//! handle keeps the memory of what was destroyed.

use super::rights::Actions;
use std::collections::HashMap;
use std::sync::Arc;

/// More than this are forgotten at once; a client that uses more pays a look-up now and then.
const MOST: usize = 1_024;

/// Handles of one kind of structure.
#[derive(Debug)]
pub(super) struct Handles<H> {
    known: Vec<Handle<H>>,
    by_name: HashMap<Arc<str>, usize>,
    /// The one that was used last: most clients use one at a time.
    recent: usize,
}

/// A structure that a connection uses.
#[derive(Debug)]
pub(super) struct Handle<H> {
    name: Arc<str>,
    pub(super) structure: H,
    pub(super) actions: Actions,
}

impl<H> Default for Handles<H> {
    fn default() -> Self {
        Self { known: Vec::new(), by_name: HashMap::new(), recent: 0 }
    }
}

impl<H> Handles<H> {
    /// The handle of that name, or the one that `open` makes.
    #[inline]
    pub(super) fn get<E>(
        &mut self,
        name: &str,
        open: impl FnOnce() -> Result<(H, Actions), E>,
    ) -> Result<&Handle<H>, E> {
        if self.known.get(self.recent).is_none_or(|known| *known.name != *name) {
            self.recent = self.find_or_open(name, open)?;
        }
        Ok(&self.known[self.recent])
    }

    /// Forgets all.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.by_name.clear();
    }

    fn find_or_open<E>(
        &mut self,
        name: &str,
        open: impl FnOnce() -> Result<(H, Actions), E>,
    ) -> Result<usize, E> {
        if self.known.len() >= MOST {
            self.forget();
        }
        if let Some(&known) = self.by_name.get(name) {
            return Ok(known);
        }
        let (structure, actions) = open()?;
        let name: Arc<str> = Arc::from(name);
        self.by_name.insert(Arc::clone(&name), self.known.len());
        self.known.push(Handle { name, structure, actions });
        Ok(self.known.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_opened_once_until_all_are_forgotten() {
        let mut handles = Handles::default();
        let mut opened = 0;
        for (name, forget) in
            [("a", false), ("a", false), ("b", false), ("a", false), ("a", true), ("b", false), ("b", false)]
        {
            if forget {
                handles.forget();
            }
            let open = || {
                opened += 1;
                Ok::<_, ()>((name.to_owned(), Actions::default()))
            };
            assert_eq!(handles.get(name, open).unwrap().structure, name);
        }
        assert_eq!(opened, 4);
        assert_eq!(handles.get("c", || Err("no")).map(|_| ()), Err("no"));
    }

    #[test]
    fn many_names_take_a_bounded_room() {
        let mut handles = Handles::default();
        for number in 0..5 * MOST {
            let _ = handles.get(&number.to_string(), || Ok::<_, ()>(((), Actions::default())));
            assert!(handles.known.len() <= MOST && handles.by_name.len() == handles.known.len());
        }
    }
}
