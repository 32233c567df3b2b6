//! A stream whose items are grouped by key: what can be done with groups.

use super::head::{BeforeGroups, FromGroups, FromNodes, FromPair, Head};
use super::stream::{ItemOf, Stream};
use crate::aggregate::{Aggregate, Fold, ToVec, to_vec};
use crate::processor::MetaSupplier;
use crate::processors::{CoGroup, co_group};
use crate::transform::{Accumulating, Grouping, Identity, KeyBeside, Keying, MappingStateful, Recipe, Then};
use std::marker::PhantomData;
use std::sync::Arc;

/// Items in groups; made by [`Stream::group_by`] and its kin.
#[must_use = "say what becomes of the groups: `aggregate`, `fold`, `map_stateful`, `co_group`"]
pub struct Grouped<H, X, K> {
    pub(super) stream: Stream<H, X>,
    pub(super) keying: K,
}

/// Items that come over an edge by key, and what is done with them.
type ByKeyThen<H, X, Y> = Stream<FromNodes<ItemOf<H, X>>, Then<Identity, Y>>;

impl<H, X, K> Grouped<H, X, K>
where
    H: Head,
    X: Recipe<H::Item>,
    K: Keying<X::Out>,
{
    /// `(key, result)` for every group. Every producer accumulates its own items and only accumulators travel, unless the
    /// aggregate keeps all its items anyway.
    ///
    /// ```
    /// use filbert_flow::aggregate::{count, max};
    /// use filbert_flow::processors::{Collected, collect, iterate};
    /// use filbert_flow::Pipeline;
    ///
    /// let groups = Collected::new();
    /// let pipeline = Pipeline::read(iterate(|share| share.part_of(0..1_000)))
    ///     .group_by(|n| n % 2 == 0)
    ///     .aggregate((count(), max(|n: &u64| *n)))
    ///     .write(collect(&groups));
    /// pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// let mut groups = groups.take();
    /// groups.sort_unstable();
    /// assert_eq!(groups, [(false, (500, Some(999))), (true, (500, Some(998)))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn aggregate<G: Aggregate<K::Value>>(self, aggregate: G) -> Stream<FromGroups<X::Out, K, G>> {
        let Self { stream, keying } = self;
        let before = if G::REDUCES {
            let first = Accumulating { keying: keying.clone(), aggregate: aggregate.clone() };
            BeforeGroups::Accumulated(stream.transform(first).nodes())
        } else {
            BeforeGroups::Items(stream.nodes())
        };
        Stream::new(FromGroups { before, keying, aggregate })
    }

    /// `(key, result)` for every group, in one stage: all items travel to the processor that has their key. For
    /// [folds](crate::aggregate::fold_with) that can not combine two accumulators, and where nearly every item has a key of its own.
    pub fn fold<F: Fold<K::Value>>(self, fold: F) -> ByKeyThen<H, X, Grouping<K, F>> {
        let keying = self.keying.clone();
        self.by_key().transform(Grouping { keying, fold })
    }

    /// `map` of every item; it has a state for every key, which `new` makes. Items with the same key from one producer keep their order.
    pub fn map_stateful<S, B, N, F>(self, new: N, map: F) -> ByKeyThen<H, X, MappingStateful<K, N, F>>
    where
        K: KeyBeside<X::Out>,
        S: Send + 'static,
        B: Send + 'static,
        N: Fn() -> S + Clone + Send + Sync + 'static,
        F: FnMut(&mut S, &K::Key, K::Value) -> B + Clone + Send + Sync + 'static,
    {
        let keying = self.keying.clone();
        self.by_key().transform(MappingStateful { keying, new, map })
    }

    /// `(key, items of this, items of the other)` for every key that one of them has.
    #[expect(clippy::type_complexity, reason = "the type is the chain of steps; nobody writes it down")]
    pub fn co_group<H2, X2, K2>(
        self,
        other: Grouped<H2, X2, K2>,
    ) -> Stream<
        FromPair<
            X::Out,
            X2::Out,
            impl MetaSupplier<Processor = CoGroup<X::Out, X2::Out, K, K2, ToVec, ToVec>>,
            (K::Key, Vec<K::Value>, Vec<K2::Value>),
        >,
    >
    where
        H2: Head,
        X2: Recipe<H2::Item>,
        K2: Keying<X2::Out, Key = K::Key>,
        K::Value: Clone,
        K2::Value: Clone,
    {
        self.co_aggregate(other, to_vec(), to_vec())
    }

    /// `(key, result of this, result of the other)` for every key that one of them has.
    #[expect(clippy::type_complexity, reason = "the type is the chain of steps; nobody writes it down")]
    pub fn co_aggregate<H2, X2, K2, F, G>(
        self,
        other: Grouped<H2, X2, K2>,
        fold: F,
        fold_of_other: G,
    ) -> Stream<
        FromPair<
            X::Out,
            X2::Out,
            impl MetaSupplier<Processor = CoGroup<X::Out, X2::Out, K, K2, F, G>>,
            (K::Key, F::Out, G::Out),
        >,
    >
    where
        H2: Head,
        X2: Recipe<H2::Item>,
        K2: Keying<X2::Out, Key = K::Key>,
        F: Fold<K::Value>,
        G: Fold<K2::Value>,
    {
        let (left, right) = (self.keying.clone(), other.keying.clone());
        Stream::new(FromPair {
            left: (self.stream.node(), Arc::new(move |edge| left.partition(edge))),
            right: (other.stream.node(), Arc::new(move |edge| right.partition(edge))),
            name: "co_group",
            meta: Arc::new(co_group((self.keying, fold), (other.keying, fold_of_other))),
            _item: PhantomData,
        })
    }

    /// The items over an edge that brings those with equal keys to the same processor.
    fn by_key(self) -> Stream<FromNodes<X::Out>> {
        let keying = self.keying;
        self.stream.shaped(Arc::new(move |edge| keying.partition(edge)))
    }
}
