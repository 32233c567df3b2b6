//! A stream of items: the vertex that is open at its end, and the steps that it has so far.

use super::Pipeline;
use super::grouped::Grouped;
use super::head::{FromNodes, FromSided, Head};
use super::plan::{Label, Node, Shape};
use crate::aggregate::Aggregate;
use crate::edge::{ItemCodec, StreamCodec};
use crate::processor::{MetaSupplier, Processor};
use crate::signature::Many;
use crate::transform::{
    AggregatingAll, Block, ByItem, ByKey, ByPair, ByPart, CombiningAll, Deduplicating, Filtering,
    FlatMapping, Identity, Inner, Inspecting, LeftOuter, Mapping, Merging, Probing, Recipe, Side, Sorting,
    TableBuilding, Then,
};
use std::cmp::Ordering;
use std::hash::Hash;
use std::sync::Arc;

/// How many items the first stage of `distinct` remembers.
const FIRST_DISTINCT: usize = 1 << 16;

/// The items of a stream.
pub type ItemOf<H, X> = <X as Recipe<<H as Head>::Item>>::Out;

/// A stream, which ends with [`Stream::write`]. Its type has all its steps, so that the compiler makes one loop of them.
#[must_use = "a stream does something only when it is written"]
pub struct Stream<H, X = Identity> {
    pub(super) head: H,
    pub(super) recipe: X,
    pub(super) label: Label,
}

/// A stream that begins at a vertex can be used several times; each gets a copy of every item.
impl<T: Clone + Send + 'static> Clone for Stream<FromNodes<T>, Identity> {
    fn clone(&self) -> Self {
        self.head.allow_copies();
        Self { head: self.head.clone(), recipe: Identity, label: self.label.clone() }
    }
}

impl<H: Head> Stream<H, Identity> {
    pub(super) fn new(head: H) -> Self {
        Self::with(head, Identity)
    }
}

impl<H: Head, X: Recipe<H::Item>> Stream<H, X> {
    pub(super) fn with(head: H, recipe: X) -> Self {
        Self { head, recipe, label: Label::default() }
    }

    fn then<Y: Recipe<X::Out>>(self, next: Y) -> Stream<H, Then<X, Y>> {
        Stream { head: self.head, recipe: Then::new(self.recipe, next), label: self.label }
    }

    /// The vertices that the next one gets its items from.
    pub(super) fn nodes(self) -> Vec<Node<X::Out>> {
        self.head.nodes(self.recipe, self.label)
    }

    /// One vertex that the next one gets its items from.
    pub(super) fn node(self) -> Node<X::Out> {
        self.head.node(self.recipe, self.label)
    }

    /// The vertex ends here; what follows gets the items over edges of that shape.
    pub(super) fn shaped(self, shape: Shape<X::Out>) -> Stream<FromNodes<X::Out>> {
        Stream::new(FromNodes::shaped(self.nodes(), shape))
    }

    /// Names the vertex that the steps so far, and those that are added to it, become.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.label.name = Some(name.into());
        self
    }

    /// How many processors that vertex has; as many as the stage `flow` has workers, if nobody says otherwise.
    pub fn parallelism(mut self, processors: usize) -> Self {
        self.label.parallelism = Some(processors);
        self
    }

    /// `map` of every item.
    pub fn map<B, F>(self, map: F) -> Stream<H, Then<X, Mapping<F>>>
    where
        B: Send + 'static,
        F: FnMut(X::Out) -> B + Clone + Send + Sync + 'static,
    {
        self.then(Mapping(map))
    }

    /// The items that `keep` says true of.
    pub fn filter<F>(self, keep: F) -> Stream<H, Then<X, Filtering<F>>>
    where
        F: FnMut(&X::Out) -> bool + Clone + Send + Sync + 'static,
    {
        self.then(Filtering(keep))
    }

    /// Everything that `map` yields for an item.
    pub fn flat_map<I, F>(self, map: F) -> Stream<H, Then<X, FlatMapping<F>>>
    where
        I: IntoIterator,
        I::IntoIter: Send + 'static,
        I::Item: Send + 'static,
        F: FnMut(X::Out) -> I + Clone + Send + Sync + 'static,
    {
        self.then(FlatMapping(map))
    }

    /// The same items; `look` sees each of them on its way.
    pub fn peek<F>(self, look: F) -> Stream<H, Then<X, Inspecting<F>>>
    where
        F: FnMut(&X::Out) + Clone + Send + Sync + 'static,
    {
        self.then(Inspecting(look))
    }

    /// Any other transform, in the same vertex.
    pub fn transform<Y: Recipe<X::Out>>(self, recipe: Y) -> Stream<H, Then<X, Y>> {
        self.then(recipe)
    }

    /// Ends the vertex. The steps that follow are another one, with processors of its own, which share the items equally.
    pub fn rebalance(self) -> Stream<FromNodes<X::Out>> {
        self.fork()
    }

    /// Ends the vertex, so that several streams can begin here: the result can be cloned.
    ///
    /// ```
    /// use filbert_flow::{Pipeline, processors::{Collected, collect, iterate}};
    ///
    /// let (even, odd) = (Collected::new(), Collected::new());
    /// let numbers = Pipeline::read(iterate(|share| share.part_of(0..100))).fork();
    /// let evens = numbers.clone().filter(|n| n % 2 == 0).write(collect(&even));
    /// let odds = numbers.filter(|n| n % 2 == 1).write(collect(&odd));
    /// evens.and(odds).to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// assert_eq!((even.take().len(), odd.take().len()), (50, 50));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fork(self) -> Stream<FromNodes<X::Out>> {
        Stream::new(FromNodes::new(self.nodes()))
    }

    /// Ends the vertex, as [`Stream::fork`] does, and lets what waits behind it spill to disk. A stream that is joined with what was made of itself
    /// has to wait until the other side is complete: without a codec a million items wait in memory for each processor at most, and one
    /// more fails the job.
    ///
    /// ```
    /// use filbert_flow::{DataCodec, Pipeline, aggregate::count, processors::{Collected, collect, iterate}};
    ///
    /// let list = Collected::new();
    /// let words = Pipeline::read(iterate(|share| share.part_of(0..1_000).map(|n| n as i64 % 10))).spilling(DataCodec);
    /// let counts = words.clone().group_by_item().aggregate(count());
    /// let job = words.hash_join(counts, |n| *n, |count| count.0, |n, count| (n, count.1)).write(collect(&list));
    /// job.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// assert!(list.take().into_iter().all(|(_, count)| count == 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "with_codec")]
    pub fn spilling(self, codec: impl ItemCodec<X::Out>) -> Stream<FromNodes<X::Out>> {
        let (nodes, codec) = (self.nodes(), StreamCodec::new(codec));
        nodes.iter().for_each(|node| node.allow_spilling(&codec));
        Stream::new(FromNodes::new(nodes))
    }

    /// The items of both, as they come.
    pub fn merge<H2, X2>(self, other: Stream<H2, X2>) -> Stream<FromNodes<X::Out>>
    where
        H2: Head,
        X2: Recipe<H2::Item, Out = X::Out>,
    {
        let mut nodes = self.nodes();
        nodes.extend(other.nodes());
        Stream::new(FromNodes::new(nodes))
    }

    /// Groups items by a key that `key` makes of each. `key` is pure, the same key for the same item whenever it is asked: it may be asked more
    /// than once for an item.
    pub fn group_by<K, F>(self, key: F) -> Grouped<H, X, ByKey<F>>
    where
        K: Hash + Eq + Send + 'static,
        F: Fn(&X::Out) -> K + Clone + Send + Sync + 'static,
    {
        Grouped { stream: self, keying: ByKey(key) }
    }

    /// As [`Stream::group_by`], by a part of the items; a key is made of it only for a new group: `group_by_ref(|order: &Order| order.customer.as_str())`.
    pub fn group_by_ref<Q, F>(self, key: F) -> Grouped<H, X, ByPart<F>>
    where
        Q: Hash + Eq + ToOwned + ?Sized + 'static,
        Q::Owned: Hash + Eq + Send + 'static,
        F: Fn(&X::Out) -> &Q + Clone + Send + Sync + 'static,
    {
        Grouped { stream: self, keying: ByPart(key) }
    }

    /// Groups equal items: each is its own key, and nothing is copied.
    pub fn group_by_item(self) -> Grouped<H, X, ByItem>
    where
        X::Out: Hash + Eq,
    {
        Grouped { stream: self, keying: ByItem }
    }

    /// Groups pairs by their first part; the groups have the second parts.
    pub fn group_pairs<K, V>(self) -> Grouped<H, X, ByPair>
    where
        X: Recipe<H::Item, Out = (K, V)>,
        K: Hash + Eq + Send + 'static,
        V: Send + 'static,
    {
        Grouped { stream: self, keying: ByPair }
    }

    /// One result for all items, also when there are none. Every producer accumulates its own; one processor combines them.
    #[expect(clippy::type_complexity, reason = "the type is the chain of steps; nobody writes it down")]
    pub fn aggregate<G>(
        self,
        aggregate: G,
    ) -> Stream<FromNodes<<G as crate::aggregate::Fold<X::Out>>::Accumulator>, CombiningAll<X::Out, G>>
    where
        G: Aggregate<X::Out>,
    {
        let parts = self.then(AggregatingAll(aggregate.clone()));
        let all = FromNodes::shaped(parts.nodes(), Arc::new(|edge| edge.all_to_one()));
        Stream::with(all, CombiningAll::new(aggregate)).parallelism(1)
    }

    /// One of each group of equal items.
    #[expect(clippy::type_complexity, reason = "the type is the chain of steps; nobody writes it down")]
    pub fn distinct(self) -> Stream<FromNodes<X::Out>, Then<Identity, Deduplicating<fn(&X::Out) -> X::Out>>>
    where
        X::Out: Hash + Eq + Clone,
    {
        let key: fn(&X::Out) -> X::Out = Clone::clone;
        // What a producer has twice need not travel.
        let first = self.then(Deduplicating { key, most: FIRST_DISTINCT });
        first.shaped(Arc::new(|edge| edge.partitioned())).then(Deduplicating { key, most: usize::MAX })
    }

    /// The first item of each key that comes.
    pub fn distinct_by<K, F>(self, key: F) -> Stream<FromNodes<X::Out>, Then<Identity, Deduplicating<F>>>
    where
        K: Hash + Eq + Send + 'static,
        F: Fn(&X::Out) -> K + Clone + Send + Sync + 'static,
    {
        let first = self.then(Deduplicating { key: key.clone(), most: FIRST_DISTINCT });
        let by = key.clone();
        first
            .shaped(Arc::new(move |edge| edge.partitioned_by(by.clone())))
            .then(Deduplicating { key, most: usize::MAX })
    }

    /// All items in order, from one processor: the order holds only up to the next edge to several.
    pub fn sort(self) -> Sorted<X::Out, ByOrd<X::Out>>
    where
        X::Out: Ord,
    {
        let compare: ByOrd<X::Out> = Ord::cmp;
        self.sort_by(compare)
    }

    /// As [`Stream::sort`], in the order that `compare` says. Equal items of one processor of the stream stay in their order, and those
    /// of different processors come in the order of these.
    pub fn sort_by<C>(self, compare: C) -> Sorted<X::Out, C>
    where
        C: Fn(&X::Out, &X::Out) -> Ordering + Clone + Send + Sync + 'static,
    {
        let runs = self.then(Sorting(compare.clone()));
        let all = FromNodes::shaped(runs.nodes(), Arc::new(|edge| edge.all_to_one()));
        Stream::with(all, Merging::new(compare)).parallelism(1)
    }

    /// Joins every item with all items of `small` that have the same key; those without are dropped. The items of `small` are
    /// held in one table, which is complete before the first item of this stream is looked at.
    ///
    /// The key functions are pure, as that of [`Stream::group_by`].
    ///
    /// The join is done in the vertex of this stream, where its items are made, unless that has a name, another
    /// [parallelism](Stream::parallelism) than the join is given, or several vertices before it.
    ///
    /// ```
    /// use filbert_flow::{Pipeline, processors::{Collected, collect, iterate}};
    ///
    /// let joined = Collected::new();
    /// let names = Pipeline::read(iterate(|_| [(1_u32, "hazel"), (2, "walnut")])).parallelism(1);
    /// let orders = Pipeline::read(iterate(|_| [(2_u32, 30.0_f64), (1, 2.5), (9, 1.0)])).parallelism(1);
    /// let pipeline = orders
    ///     .hash_join(names, |order| order.0, |name| name.0, |order, name| (name.1, order.1))
    ///     .write(collect(&joined));
    /// pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// let mut joined = joined.take();
    /// joined.sort_by(|a, b| a.1.total_cmp(&b.1));
    /// assert_eq!(joined, [("hazel", 2.5), ("walnut", 30.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hash_join<H2, X2, K, B, F, G, J>(
        self,
        small: Stream<H2, X2>,
        key: F,
        key_of_small: G,
        join: J,
    ) -> HashJoined<H, X, X2::Out, K, F, Inner<J>>
    where
        H2: Head,
        X2: Recipe<H2::Item>,
        X::Out: Clone,
        X2::Out: Sync,
        K: Hash + Eq + Send + Sync + 'static,
        B: Send + 'static,
        F: Fn(&X::Out) -> K + Clone + Send + Sync + 'static,
        G: Fn(&X2::Out) -> K + Clone + Send + Sync + 'static,
        J: Fn(X::Out, &X2::Out) -> B + Clone + Send + Sync + 'static,
    {
        let head = FromSided { side: table(small, key_of_small), large: self };
        Stream::with(head, Probing::new(key, Inner(join)))
    }

    /// As [`Stream::hash_join`], but an item without a match is joined with `None`.
    pub fn hash_join_left<H2, X2, K, B, F, G, J>(
        self,
        small: Stream<H2, X2>,
        key: F,
        key_of_small: G,
        join: J,
    ) -> HashJoined<H, X, X2::Out, K, F, LeftOuter<J>>
    where
        H2: Head,
        X2: Recipe<H2::Item>,
        X::Out: Clone,
        X2::Out: Sync,
        K: Hash + Eq + Send + Sync + 'static,
        B: Send + 'static,
        F: Fn(&X::Out) -> K + Clone + Send + Sync + 'static,
        G: Fn(&X2::Out) -> K + Clone + Send + Sync + 'static,
        J: Fn(X::Out, Option<&X2::Out>) -> B + Clone + Send + Sync + 'static,
    {
        let head = FromSided { side: table(small, key_of_small), large: self };
        Stream::with(head, Probing::new(key, LeftOuter(join)))
    }

    /// Ends the stream at a sink: any meta-supplier whose processors take `Many` of its items and emit nothing.
    pub fn write<M>(self, sink: M) -> Pipeline
    where
        M: MetaSupplier,
        M::Processor: Processor<In = Many<X::Out>, Out = ()>,
    {
        self.write_to("sink", sink)
    }

    /// As [`Stream::write`], with a name for the sink's vertex.
    pub fn write_to<M>(self, name: impl Into<String>, sink: M) -> Pipeline
    where
        M: MetaSupplier,
        M::Processor: Processor<In = Many<X::Out>, Out = ()>,
    {
        Pipeline::of_sink(name.into(), self.nodes(), sink)
    }
}

/// A stream that [`Stream::sort`] made.
pub type Sorted<T, C> = Stream<FromNodes<Block<T>>, Merging<T, C>>;

/// The order of the items themselves.
pub type ByOrd<T> = fn(&T, &T) -> Ordering;

/// A stream that [`Stream::hash_join`] made.
pub type HashJoined<H, X, V, K, F, J> = Stream<FromSided<H, X>, Probing<K, V, F, J>>;

/// The vertex that makes a table of the small side of a join.
fn table<H, X, K, G>(small: Stream<H, X>, key: G) -> Node<Side>
where
    H: Head,
    X: Recipe<H::Item>,
    X::Out: Sync,
    K: Hash + Eq + Send + Sync + 'static,
    G: Fn(&X::Out) -> K + Clone + Send + Sync + 'static,
{
    let all = FromNodes::shaped(small.nodes(), Arc::new(|edge| edge.all_to_one()));
    Stream::with(all, TableBuilding { key }).parallelism(1).node()
}
