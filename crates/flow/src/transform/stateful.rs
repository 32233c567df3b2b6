//! Transforms that remember: a state per key, and which items were seen.

use super::keying::KeyBeside;
use super::{Groups, Receiver, Recipe, Transform};
use crate::processor::Share;
use std::hash::Hash;
use std::marker::PhantomData;

const STATE_SEED: u64 = 0x57a7_e5ed;

/// Puts a function's answer for every item; the function has a state for every key.
#[derive(Debug, Clone)]
pub struct MappingStateful<K, N, F> {
    pub(crate) keying: K,
    pub(crate) new: N,
    pub(crate) map: F,
}

/// The transform of [`MappingStateful`].
pub struct MappingStatefulTransform<T, S, K: KeyBeside<T>, N, F> {
    recipe: MappingStateful<K, N, F>,
    groups: Groups<K::Key, S>,
    _item: PhantomData<fn(T)>,
}

impl<T, S, B, K, N, F> Transform<T> for MappingStatefulTransform<T, S, K, N, F>
where
    T: Send + 'static,
    S: Send + 'static,
    B: Send + 'static,
    K: KeyBeside<T>,
    N: Fn() -> S + Send + 'static,
    F: FnMut(&mut S, &K::Key, K::Value) -> B + Send + 'static,
{
    type Out = B;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<B>>(&mut self, item: T, to: &mut R) {
        let MappingStateful { keying, new, map } = &mut self.recipe;
        let ((key, state), value) = keying.enter(&mut self.groups, item, &*new);
        to.put(map(state, key, value));
    }

    fn held_bytes(&self) -> usize {
        self.groups.bytes()
    }
}

impl<T, S, B, K, N, F> Recipe<T> for MappingStateful<K, N, F>
where
    T: Send + 'static,
    S: Send + 'static,
    B: Send + 'static,
    K: KeyBeside<T>,
    N: Fn() -> S + Clone + Send + Sync + 'static,
    F: FnMut(&mut S, &K::Key, K::Value) -> B + Clone + Send + Sync + 'static,
{
    type Out = B;
    type Transform = MappingStatefulTransform<T, S, K, N, F>;

    fn transform(&self, _: Share) -> Self::Transform {
        MappingStatefulTransform { recipe: self.clone(), groups: Groups::new(STATE_SEED), _item: PhantomData }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("map_stateful");
    }
}

/// Puts the first item of every key.
#[derive(Debug, Clone)]
pub struct Deduplicating<F> {
    pub(crate) key: F,
    /// How many keys it remembers before it forgets them all; for a first stage, which need not catch every copy.
    pub(crate) most: usize,
}

/// The transform of [`Deduplicating`].
pub struct DeduplicatingTransform<K, F> {
    recipe: Deduplicating<F>,
    seen: Groups<K, ()>,
}

impl<T, K, F> Transform<T> for DeduplicatingTransform<K, F>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: FnMut(&T) -> K + Send + 'static,
{
    type Out = T;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<T>>(&mut self, item: T, to: &mut R) {
        let mut is_new = false;
        self.seen.group((self.recipe.key)(&item), || is_new = true);
        if is_new {
            to.put(item);
            if self.seen.len() >= self.recipe.most {
                self.seen.clear();
            }
        }
    }

    fn held_bytes(&self) -> usize {
        self.seen.bytes()
    }
}

impl<T, K, F> Recipe<T> for Deduplicating<F>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: FnMut(&T) -> K + Clone + Send + Sync + 'static,
{
    type Out = T;
    type Transform = DeduplicatingTransform<K, F>;

    fn transform(&self, _: Share) -> Self::Transform {
        DeduplicatingTransform { recipe: self.clone(), seen: Groups::new(STATE_SEED) }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("distinct");
    }
}
