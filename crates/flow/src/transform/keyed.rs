//! Aggregation: in one stage, or in two around the partitioned edge, with a key or without.
//!
//! ```text
//!   one stage:   items ══partitioned══► Grouping ──► (key, result)
//!   two stages:  items ──► Accumulating ══partitioned: (key, accumulator)══► Combining ──► (key, result)
//!   no key:      items ──► AggregatingAll ══all to one: accumulator══► CombiningAll ──► result
//! ```
//!
//! Two stages send a group's items over the edge as one accumulator. That pays when many items have the same key. When they have not, a table
//! of all keys in every producer costs memory and cache misses for nothing: so the first stage measures. Once its table outgrows the
//! cache and had fewer than [`WORTHWHILE`] items per group, it sends the table away, lets a number of items pass as groups of
//! their own, and tries again.

use super::gathering::Gathering;
use super::keying::Keying;
use super::passage::Passage;
use super::{Drained, FUEL, Groups, Receiver, Recipe, Transform};
use crate::aggregate::{Aggregate, Fold};
use crate::processor::Share;
use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

/// How many bytes of groups the first stage holds before it asks whether that is worthwhile.
const FIRST_STAGE_BYTES: usize = 1 << 20;
/// How many items per group make the first stage worthwhile.
const WORTHWHILE: usize = 3;
/// How many tables' worth of items pass by before the first stage tries again.
const PASSES: usize = 32;

const FIRST_SEED: u64 = 0x0f17_57ed;
const SECOND_SEED: u64 = 0x5ec0_11d5;

/// Puts groups while there is room; true when none are left.
#[inline]
fn emit<G: Iterator, T, R: Receiver<T>>(
    groups: &mut Option<G>,
    to: &mut R,
    result: impl Fn(G::Item) -> T,
) -> bool {
    let Some(left) = groups else { return true };
    for _ in 0..FUEL {
        if to.is_full() {
            return false;
        }
        match left.next() {
            Some(group) => to.put(result(group)),
            None => {
                *groups = None;
                return true;
            }
        }
    }
    false
}

/// One stage: all items of a group come here.
#[derive(Debug, Clone)]
pub struct Grouping<K, F> {
    pub(crate) keying: K,
    pub(crate) fold: F,
}

/// The transform of [`Grouping`].
pub struct GroupingTransform<T, K: Keying<T>, F: Fold<K::Value>> {
    groups: Gathering<T, K, F>,
    leaving: Option<Drained<K::Key, F::Accumulator>>,
}

impl<T, K, F> Transform<T> for GroupingTransform<T, K, F>
where
    T: Send + 'static,
    K: Keying<T>,
    F: Fold<K::Value>,
{
    type Out = (K::Key, F::Out);
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Self::Out>>(&mut self, item: T, _: &mut R) {
        if self.groups.is_few() {
            self.groups.add_now(item);
        } else {
            self.groups.add(item);
        }
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        if self.groups.len() > 0 {
            self.leaving = Some(self.groups.drain());
        }
        let fold = self.groups.fold();
        emit(&mut self.leaving, to, |(key, accumulator)| (key, fold.finish(accumulator)))
    }

    fn held_bytes(&self) -> usize {
        self.groups.bytes() + self.leaving.as_ref().map_or(0, Drained::bytes)
    }
}

impl<T, K, F> Recipe<T> for Grouping<K, F>
where
    T: Send + 'static,
    K: Keying<T>,
    F: Fold<K::Value>,
{
    type Out = (K::Key, F::Out);
    type Transform = GroupingTransform<T, K, F>;

    fn transform(&self, _: Share) -> Self::Transform {
        let Self { keying, fold } = self.clone();
        GroupingTransform { groups: Gathering::new(keying, fold, SECOND_SEED), leaving: None }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push(self.fold.name());
    }
}

/// The first of two stages: groups the items of one producer.
#[derive(Debug, Clone)]
pub struct Accumulating<K, G> {
    pub(crate) keying: K,
    pub(crate) aggregate: G,
}

/// The transform of [`Accumulating`].
pub struct AccumulatingTransform<T, K: Keying<T>, G: Fold<K::Value>> {
    groups: Gathering<T, K, G>,
    leaving: Option<Drained<K::Key, G::Accumulator>>,
    /// Items since the table was empty, without those that came while there were few groups.
    grouped: usize,
    /// At how many groups it asks whether they are worthwhile.
    limit: usize,
    /// How many items still pass without a look at the table.
    passing: usize,
}

impl<T, K: Keying<T>, G: Fold<K::Value>> AccumulatingTransform<T, K, G> {
    /// The table has outgrown the cache.
    #[cold]
    #[inline(never)]
    fn weigh(&mut self) {
        if self.grouped >= WORTHWHILE.saturating_mul(self.groups.len()) {
            self.limit = self.limit.saturating_mul(2);
        } else if self.leaving.is_none() {
            self.passing = self.groups.len().saturating_mul(PASSES);
            self.leaving = Some(self.groups.drain());
            self.grouped = 0;
        }
    }
}

impl<T, K, G> Transform<T> for AccumulatingTransform<T, K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    G: Fold<K::Value>,
{
    type Out = (K::Key, G::Accumulator);
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Self::Out>>(&mut self, item: T, to: &mut R) {
        if self.groups.is_few() {
            self.groups.add_now(item);
            return;
        }
        if self.passing > 0 {
            self.passing -= 1;
            to.put(self.groups.alone(item));
            return;
        }
        self.grouped += 1;
        if self.groups.add(item) && self.groups.len() >= self.limit {
            self.weigh();
        }
    }

    fn resume<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        emit(&mut self.leaving, to, |group| group)
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        if !self.resume(to) {
            return false;
        }
        if self.groups.len() > 0 {
            self.leaving = Some(self.groups.drain());
        }
        self.resume(to)
    }

    fn held_bytes(&self) -> usize {
        self.groups.bytes() + self.leaving.as_ref().map_or(0, Drained::bytes)
    }
}

impl<T, K, G> Recipe<T> for Accumulating<K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    G: Fold<K::Value>,
{
    type Out = (K::Key, G::Accumulator);
    type Transform = AccumulatingTransform<T, K, G>;

    fn transform(&self, _: Share) -> Self::Transform {
        let group = size_of::<(K::Key, G::Accumulator)>().max(1);
        let Self { keying, aggregate } = self.clone();
        AccumulatingTransform {
            groups: Gathering::new(keying, aggregate, FIRST_SEED),
            leaving: None,
            grouped: 0,
            limit: FIRST_STAGE_BYTES / group,
            passing: 0,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("accumulate");
    }
}

/// The second of two stages: combines what the producers accumulated.
#[derive(Debug)]
pub struct Combining<T, G> {
    aggregate: G,
    _item: PhantomData<fn(T)>,
}

impl<T, G: Clone> Clone for Combining<T, G> {
    fn clone(&self) -> Self {
        Self { aggregate: self.aggregate.clone(), _item: PhantomData }
    }
}

impl<T, G> Combining<T, G> {
    pub(crate) fn new(aggregate: G) -> Self {
        Self { aggregate, _item: PhantomData }
    }
}

/// The transform of [`Combining`].
pub struct CombiningTransform<K, T, G: Fold<T>> {
    aggregate: G,
    groups: Groups<K, G::Accumulator>,
    passage: Passage<(K, G::Accumulator)>,
    leaving: Option<Drained<K, G::Accumulator>>,
    /// What accumulators have grown by.
    grown: usize,
}

impl<K: Hash + Eq + 'static, T, G: Aggregate<T>> CombiningTransform<K, T, G> {
    #[inline(always)]
    fn combine(
        groups: &mut Groups<K, G::Accumulator>,
        aggregate: &G,
        hash: Option<u64>,
        (key, part): (K, G::Accumulator),
    ) -> isize {
        // What reduces its items has no more for a part more; what keeps them all has those of both.
        let held = |accumulator: &G::Accumulator| aggregate.held_bytes(accumulator) as isize;
        let more = Cell::new(0);
        let first = |part| {
            more.set(held(&part));
            part
        };
        let combine = |whole: &mut G::Accumulator, part| {
            let before = if G::REDUCES { held(whole) } else { -held(&part) };
            aggregate.combine(whole, part);
            more.set(if G::REDUCES { held(whole) - before } else { -before });
        };
        groups.put(key, hash, part, first, combine);
        more.get()
    }
}

impl<K, T, G> Transform<(K, G::Accumulator)> for CombiningTransform<K, T, G>
where
    K: Hash + Eq + Send + 'static,
    T: 'static,
    G: Aggregate<T>,
{
    type Out = (K, G::Out);
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Self::Out>>(&mut self, group: (K, G::Accumulator), _: &mut R) {
        let Self { aggregate, groups, passage, grown, .. } = self;
        if !Passage::<(K, G::Accumulator)>::IS_WORTHWHILE || !groups.is_large() {
            *grown = grown.saturating_add_signed(Self::combine(groups, aggregate, None, group));
            return;
        }
        let hash = groups.hasher().hash_one(&group.0);
        groups.expect(hash);
        if let Some((hash, group)) = passage.pass(hash, group) {
            groups.expect_contents(passage.half_way());
            *grown = grown.saturating_add_signed(Self::combine(groups, aggregate, Some(hash), group));
        }
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        let Self { aggregate, groups, passage, leaving, grown } = self;
        passage.clear(|hash, group| {
            Self::combine(groups, aggregate, Some(hash), group);
        });
        if groups.len() > 0 {
            *leaving = Some(groups.drain());
            *grown = 0;
        }
        emit(leaving, to, |(key, whole)| (key, aggregate.finish(whole)))
    }

    fn held_bytes(&self) -> usize {
        self.groups.bytes() + self.leaving.as_ref().map_or(0, Drained::bytes) + self.grown
    }
}

impl<K, T, G> Recipe<(K, G::Accumulator)> for Combining<T, G>
where
    K: Hash + Eq + Send + 'static,
    T: 'static,
    G: Aggregate<T>,
{
    type Out = (K, G::Out);
    type Transform = CombiningTransform<K, T, G>;

    fn transform(&self, _: Share) -> Self::Transform {
        CombiningTransform {
            aggregate: self.aggregate.clone(),
            groups: Groups::new(SECOND_SEED),
            passage: Passage::new(),
            leaving: None,
            grown: 0,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push(self.aggregate.name());
    }
}

/// The first of two stages, without a key.
#[derive(Debug, Clone)]
pub struct AggregatingAll<G>(pub(crate) G);

/// The transform of [`AggregatingAll`].
pub struct AggregatingAllTransform<T, G: Fold<T>> {
    aggregate: G,
    accumulator: Option<G::Accumulator>,
    /// What it has grown by.
    grown: usize,
}

impl<T: Send + 'static, G: Fold<T>> Transform<T> for AggregatingAllTransform<T, G> {
    type Out = G::Accumulator;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Self::Out>>(&mut self, item: T, _: &mut R) {
        let aggregate = &self.aggregate;
        let accumulator = self.accumulator.get_or_insert_with(|| aggregate.start());
        self.grown += aggregate.grows_by(&item);
        aggregate.accumulate_owned(accumulator, item);
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        if to.is_full() {
            return false;
        }
        if let Some(accumulator) = self.accumulator.take() {
            to.put(accumulator);
            self.grown = 0;
        }
        true
    }

    fn held_bytes(&self) -> usize {
        self.grown
    }
}

impl<T: Send + 'static, G: Fold<T>> Recipe<T> for AggregatingAll<G> {
    type Out = G::Accumulator;
    type Transform = AggregatingAllTransform<T, G>;

    fn transform(&self, _: Share) -> Self::Transform {
        AggregatingAllTransform { aggregate: self.0.clone(), accumulator: None, grown: 0 }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("accumulate");
    }
}

/// The second of two stages, without a key: one result, also of nothing.
#[derive(Debug)]
pub struct CombiningAll<T, G> {
    aggregate: G,
    _item: PhantomData<fn(T)>,
}

impl<T, G: Clone> Clone for CombiningAll<T, G> {
    fn clone(&self) -> Self {
        Self { aggregate: self.aggregate.clone(), _item: PhantomData }
    }
}

impl<T, G> CombiningAll<T, G> {
    pub(crate) fn new(aggregate: G) -> Self {
        Self { aggregate, _item: PhantomData }
    }
}

/// The transform of [`CombiningAll`].
pub struct CombiningAllTransform<T, G: Fold<T>> {
    aggregate: G,
    /// None when it is put.
    whole: Option<G::Accumulator>,
    /// What it has grown by.
    grown: usize,
}

impl<T: 'static, G: Aggregate<T>> Transform<G::Accumulator> for CombiningAllTransform<T, G> {
    type Out = G::Out;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Self::Out>>(&mut self, part: G::Accumulator, _: &mut R) {
        self.grown += self.aggregate.held_bytes(&part);
        match &mut self.whole {
            Some(whole) => self.aggregate.combine(whole, part),
            None => self.whole = Some(part),
        }
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        if to.is_full() {
            return false;
        }
        if let Some(whole) = self.whole.take() {
            to.put(self.aggregate.finish(whole));
            self.grown = 0;
        }
        true
    }

    fn held_bytes(&self) -> usize {
        self.grown
    }
}

impl<T: 'static, G: Aggregate<T>> Recipe<G::Accumulator> for CombiningAll<T, G> {
    type Out = G::Out;
    type Transform = CombiningAllTransform<T, G>;

    fn transform(&self, _: Share) -> Self::Transform {
        CombiningAllTransform {
            whole: Some(self.aggregate.start()),
            aggregate: self.aggregate.clone(),
            grown: 0,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push(self.aggregate.name());
    }
}
