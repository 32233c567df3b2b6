//! Processors with a memory: a state per key, folds, aggregation in one or two stages, distinct, sorting.
//!
//! They say what an edge must look like, and it is the DAG's author who makes it so; the [pipeline](crate::pipeline) makes edges by itself.

use super::fused::{Transforming, transform};
use crate::aggregate::{Aggregate, Fold, collect_into, fold_with};
use crate::processor::MetaSupplier;
use crate::transform::{
    Accumulating, Block, ByKey, Combining, Deduplicating, Grouping, Identity, Inspecting, MappingStateful,
    Merging, Sorting, Transform,
};
use std::cmp::Ordering;
use std::hash::Hash;

/// Emits `map` of every item; it has a state for every key, which `new` makes. The edge is partitioned by the key.
pub fn map_stateful<T, K, S, B, F, N, M>(
    key: F,
    new: N,
    map: M,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = B>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    S: Send + 'static,
    B: Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    N: Fn() -> S + Clone + Send + Sync + 'static,
    M: FnMut(&mut S, &K, T) -> B + Clone + Send + Sync + 'static,
{
    transform(MappingStateful { keying: ByKey(key), new, map })
}

/// Folds the items of every key into an immutable value and emits `(key, value)` in the end. The edge is partitioned by the key.
///
/// ```
/// use filbert_flow::{DagBuilder, processors::{Collected, accumulate, collect, iterate}};
///
/// let mut dag = DagBuilder::new("longest word by its first letter");
/// let words = dag.vertex("words", iterate(|_| ["nut", "hazel", "nougat"]));
/// let first = |word: &&str| word.chars().next();
/// let longest = |old: &'static str, word: &&'static str| if word.len() > old.len() { *word } else { old };
/// let fold = dag.vertex("longest", accumulate(first, "", longest));
/// let list = Collected::new();
/// let sink = dag.vertex("sink", collect(&list));
/// dag.local_parallelism(&words, 1);
/// dag.edge(words.output().to(fold.input()).partitioned_by(first));
/// dag.edge(fold.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// let mut found = list.take();
/// found.sort();
/// assert_eq!(found, [(Some('h'), "hazel"), (Some('n'), "nougat")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn accumulate<T, K, S, F, N>(
    key: F,
    start: S,
    next: N,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = (K, S)>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    S: Clone + Send + Sync + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    N: Fn(S, &T) -> S + Clone + Send + Sync + 'static,
{
    transform(Grouping { keying: ByKey(key), fold: fold_with(start, next) })
}

/// Puts the items of every key into a container and emits `(key, container)` in the end. The edge is partitioned by the key.
pub fn collect_by<T, K, C, F, N, A>(
    key: F,
    new: N,
    add: A,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = (K, C)>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    C: Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    N: Fn() -> C + Clone + Send + Sync + 'static,
    A: Fn(&mut C, &T) + Clone + Send + Sync + 'static,
{
    transform(Grouping { keying: ByKey(key), fold: collect_into(new, add) })
}

/// Aggregates the items of every key and emits `(key, result)` in the end. The edge is partitioned by the key.
pub fn aggregate<T, K, F, G>(
    key: F,
    fold: G,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = (K, G::Out)>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    G: Fold<T>,
{
    transform(Grouping { keying: ByKey(key), fold })
}

/// The first stage of an aggregation: emits `(key, accumulator)`. Any edge will do; the one to [`combine`] is partitioned by the key.
pub fn accumulate_first<T, K, F, G>(
    key: F,
    aggregate: G,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = (K, G::Accumulator)>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    G: Aggregate<T>,
{
    transform(Accumulating { keying: ByKey(key), aggregate })
}

/// The second stage of an aggregation of items of type `T`: takes what [`accumulate_first`] emits, and emits `(key, result)` in the end.
#[expect(clippy::type_complexity, reason = "nobody writes it down: it is what a vertex takes")]
pub fn combine<T, K, G>(
    aggregate: G,
) -> impl MetaSupplier<
    Processor = Transforming<(K, G::Accumulator), impl Transform<(K, G::Accumulator), Out = (K, G::Out)>>,
>
where
    T: 'static,
    K: Hash + Eq + Send + 'static,
    G: Aggregate<T>,
{
    transform(Combining::<T, G>::new(aggregate))
}

/// Emits the first item of every key. The edge is partitioned by the key.
pub fn distinct_by<T, K, F>(
    key: F,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = T>>>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: FnMut(&T) -> K + Clone + Send + Sync + 'static,
{
    transform(Deduplicating { key, most: usize::MAX })
}

/// Emits one of each group of equal items. The edge is partitioned.
pub fn distinct<T: Hash + Eq + Clone + Send + 'static>()
-> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = T>>> {
    distinct_by(T::clone)
}

/// Sorts what each processor gets and emits it in blocks, for [`merge`].
pub fn sort<T, C>(
    compare: C,
) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = Block<T>>>>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
{
    transform(Sorting(compare))
}

/// Merges the blocks of [`sort`]: emits all items in order. One processor; the edge is all to one.
pub fn merge<T, C>(
    compare: C,
) -> impl MetaSupplier<Processor = Transforming<Block<T>, impl Transform<Block<T>, Out = T>>>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
{
    super::with_parallelism(1, transform(Merging::new(compare)))
}

/// Emits the items of all its edges as they come.
pub fn union<T: Send + 'static>() -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = T>>>
{
    transform(Identity)
}

/// Emits every item, after `look` has seen it.
pub fn peek<T, F>(look: F) -> impl MetaSupplier<Processor = Transforming<T, impl Transform<T, Out = T>>>
where
    T: Send + 'static,
    F: FnMut(&T) + Clone + Send + Sync + 'static,
{
    transform(Inspecting(look))
}
