//! The interceptors of one map, and the chain that they are.
//!
//! Kept beside the partitions and not in each of them: a chain has one order, and an interceptor is there for all keys at one moment.
//! A map without any pays one load. Partitions read the chain on their strands; it is replaced as a whole on the `generic` stage, so an
//! operation that has begun keeps the one it began with.

use crate::code::{Code, Guarded, Interceptor, Registry};
use crate::error::{GridError, GridResult};
use filbert_wire::Data;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

/// Interceptors that one map may have: each runs with every operation.
const MOST: usize = 256;

/// Says which interceptor of a map. Made from the interceptor's code: the same code has the same id, on any member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterceptorId(Arc<str>);

impl InterceptorId {
    /// The id that this text is: one that a client was given, and gives back.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InterceptorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One interceptor of a chain.
#[derive(Debug, Clone)]
struct Link {
    id: InterceptorId,
    code: Code,
    interceptor: Guarded,
}

/// The interceptors of one map.
#[derive(Debug)]
pub(crate) struct Interceptors {
    /// True when there is one.
    any: AtomicBool,
    chain: RwLock<Chain>,
}

impl Interceptors {
    pub(crate) fn new() -> Self {
        Self { any: AtomicBool::new(false), chain: RwLock::new(Chain(Arc::new([]))) }
    }

    /// True when there is one.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: the chain itself is behind its lock. Whoever comes later than the end of an add, in any way that makes it later, sees it.
        self.any.load(Ordering::Relaxed)
    }

    /// Those that there are now, if any.
    #[inline]
    pub(crate) fn chain(&self) -> Option<Chain> {
        if self.any() { Some(self.current()) } else { None }
    }

    #[cold]
    fn current(&self) -> Chain {
        self.chain.read().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    /// Adds the interceptor that `code` says behind the others, unless it is there; its id. `changes` is told, before anyone meets the
    /// new chain, whether there are any; when it says no, nothing is added.
    pub(crate) fn add(
        &self,
        registry: &Registry,
        code: &Code,
        changes: impl FnOnce(bool) -> GridResult<()>,
    ) -> GridResult<InterceptorId> {
        if let Some(known) = self.current().find(code) {
            return Ok(known);
        }
        // Made outside the lock: it is user code.
        let interceptor = registry.interceptor(code)?;
        let mut chain = self.chain.write().unwrap_or_else(|broken| broken.into_inner());
        if let Some(known) = chain.find(code) {
            return Ok(known);
        }
        if chain.0.len() >= MOST {
            let problem = format!("the map has {MOST} interceptors already; remove some first");
            return Err(GridError::BadArgument { operation: "map.add_interceptor", problem });
        }
        changes(true)?;
        let id = chain.free_id(code);
        let link = Link { id: id.clone(), code: code.clone(), interceptor };
        chain.0 = chain.0.iter().cloned().chain([link]).collect();
        self.any.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// Removes those that `leaves` names; how many. `changes` is told, after the chain has changed, whether there are any left.
    pub(crate) fn remove(
        &self,
        leaves: impl Fn(&InterceptorId) -> bool,
        changes: impl FnOnce(bool),
    ) -> usize {
        let mut chain = self.chain.write().unwrap_or_else(|broken| broken.into_inner());
        let before = chain.clone();
        chain.0 = chain.0.iter().filter(|link| !leaves(&link.id)).cloned().collect();
        let left = chain.0.len();
        self.any.store(left > 0, Ordering::Relaxed);
        changes(left > 0);
        drop(chain);
        // What is dropped with the last use of `before` is user code: not under the lock.
        before.0.len() - left
    }
}

/// Interceptors in the order in which they were added, as they were at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Chain(Arc<[Link]>);

impl Chain {
    fn find(&self, code: &Code) -> Option<InterceptorId> {
        self.0.iter().find(|link| link.code == *code).map(|link| link.id.clone())
    }

    /// The id of `code`; with a number more when other code has the same, which a hash of 32 bits does not exclude.
    fn free_id(&self, code: &Code) -> InterceptorId {
        let plain = format!("{code}@{:08x}", code.argument_hash());
        let numbered = (1..).map(|number| format!("{plain}-{number}"));
        let mut ids = std::iter::once(plain.clone()).chain(numbered);
        let free = ids.find(|id| self.0.iter().all(|link| link.id.as_str() != id));
        InterceptorId(free.unwrap_or(plain).into())
    }

    /// Gives `value` to one after the other, and what one makes of it to the next.
    fn through<V: From<Data>>(
        &self,
        mut value: V,
        ask: impl Fn(&dyn Interceptor, &V) -> Result<Option<Data>, String>,
    ) -> GridResult<V> {
        for Link { interceptor, .. } in &*self.0 {
            if let Some(other) = interceptor.ask(|code| ask(code, &value))? {
                value = other.into();
            }
        }
        Ok(value)
    }

    /// What a reader is given of a key that has `value`.
    pub(crate) fn get(&self, value: Option<Data>) -> GridResult<Option<Data>> {
        self.through(value, |code, value| code.intercept_get(value.as_ref()))
    }

    /// The same of a key that is there.
    pub(crate) fn get_found(&self, value: Data) -> GridResult<Data> {
        self.through(value, |code, value| code.intercept_get(Some(value)))
    }

    /// A reader is given `value`.
    pub(crate) fn after_get(&self, value: Option<&Data>) {
        self.0.iter().for_each(|link| link.interceptor.tell(|code| code.after_get(value)));
    }

    /// What is stored when `new` is put where `old` is.
    pub(crate) fn put(&self, old: Option<&Data>, new: &Data) -> GridResult<Data> {
        self.through(new.clone(), |code, new| code.intercept_put(old, new))
    }

    /// `value` is stored.
    pub(crate) fn after_put(&self, value: &Data) {
        self.0.iter().for_each(|link| link.interceptor.tell(|code| code.after_put(value)));
    }

    /// What whoever removes `removed` is given.
    pub(crate) fn remove(&self, removed: Data) -> GridResult<Data> {
        self.through(removed, |code, removed| code.intercept_remove(removed))
    }

    /// An entry is gone, and whoever removed it is given `value`.
    pub(crate) fn after_remove(&self, value: &Data) {
        self.0.iter().for_each(|link| link.interceptor.tell(|code| code.after_remove(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Interceptor for Nothing {}

    fn nothing(argument: &[u8]) -> Code {
        Code::named("nothing", Data::new(-12, argument))
    }

    fn registry() -> Registry {
        Registry::new().with_interceptor("nothing", |_| Ok(Nothing))
    }

    #[test]
    fn the_same_code_has_one_id_also_when_it_comes_again() {
        let (all, registry) = (Interceptors::new(), registry());
        let add = |argument: &[u8]| all.add(&registry, &nothing(argument), |_| Ok(())).unwrap();
        let one = add(b"1");
        assert_eq!(one, add(b"1"));
        assert_ne!(one, add(b"2"));
        assert_eq!((all.remove(|id| *id == one, |any| assert!(any)), all.any()), (1, true));
        assert_eq!(all.remove(|id| *id == one, |_| ()), 0);
        assert_eq!(add(b"1"), one);
        assert_eq!((all.remove(|_| true, |any| assert!(!any)), all.any()), (2, false));
        assert!(all.chain().is_none());
    }

    #[test]
    fn other_code_with_the_same_hash_has_another_id() {
        let (all, registry) = (Interceptors::new(), registry());
        // The name goes into the id as it is: two that look the same in it, by their argument, are what a collision would be.
        let class = |fields: &[u8]| Code::Class { factory: 1, class: 1, fields: fields.to_vec() };
        registry.add_interceptor_class(1, 1, |_| Ok(Nothing));
        let plain = all.add(&registry, &class(b"x"), |_| Ok(())).unwrap();
        registry.add_interceptor(&class(b"x").to_string(), |_| Ok(Nothing));
        let same_words = Code::named(class(b"x").to_string(), Data::new(0, b"x"));
        assert_eq!(same_words.argument_hash(), class(b"x").argument_hash());
        let other = all.add(&registry, &same_words, |_| Ok(())).unwrap();
        assert_eq!(other.as_str(), format!("{plain}-1"));
    }

    #[test]
    fn there_is_a_bound_and_what_is_refused_changes_nothing() {
        let (all, registry) = (Interceptors::new(), registry());
        let gone = || GridError::Destroyed { structure: "map m".to_owned() };
        assert_eq!(all.add(&registry, &nothing(b"x"), |_| Err(gone())), Err(gone()));
        assert!(!all.any());
        for number in 0..MOST {
            all.add(&registry, &nothing(&number.to_be_bytes()), |_| Ok(())).unwrap();
        }
        let refused = all.add(&registry, &nothing(b"one more"), |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("256"), "{refused}");
    }
}
