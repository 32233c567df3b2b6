//! Where an open vertex gets its items from. Steps are added to it until the stream is grouped, forked, joined or written.

use super::plan::{Label, Node, Shape, unicast};
use super::stream::Stream;
use crate::aggregate::{Aggregate, Fold};
use crate::edge::Edge;
use crate::processor::{MetaSupplier, Processor};
use crate::processors::fused::{FusedMeta, SharedMeta};
use crate::processors::sided::{SidedSourceMeta, sided};
use crate::processors::transform;
use crate::signature::Many;
use crate::transform::{Combining, Grouping, Identity, Keying, Recipe, Side, Then};
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// The beginning of an open vertex.
pub trait Head: Send + Sync + Sized + 'static {
    /// What it gives to the first step.
    type Item: Send + 'static;

    /// The vertex, with these steps.
    #[doc(hidden)]
    fn close<X: Recipe<Self::Item>>(self, recipe: X, label: Label) -> Node<X::Out>;

    /// The vertices that the next one gets its items from: this one, or those before it if there are no steps.
    #[doc(hidden)]
    fn nodes<X: Recipe<Self::Item>>(self, recipe: X, label: Label) -> Vec<Node<X::Out>> {
        vec![self.close(recipe, label)]
    }

    /// One vertex that the next one gets its items from.
    #[doc(hidden)]
    fn node<X: Recipe<Self::Item>>(self, recipe: X, label: Label) -> Node<X::Out> {
        let mut nodes = self.nodes(recipe, label);
        match nodes.pop() {
            Some(only) if nodes.is_empty() => only,
            last => {
                nodes.extend(last);
                FromNodes::new(nodes).close(Identity, Label::default())
            }
        }
    }

    /// The steps `before`, and after them, with a side, those of `after`: in one vertex with that label if it can be, else in two.
    #[doc(hidden)]
    fn close_beside<B, X, Y>(self, side: Node<Side>, before: X, after: Y, label: Label) -> Node<Y::Out>
    where
        B: Send + 'static,
        X: Recipe<Self::Item, Out = B>,
        Y: Recipe<B>,
    {
        let node = self.node(before, label.unnamed());
        FromNodes::new(vec![node]).close_beside(side, Identity, after, label)
    }
}

/// The names of a recipe's steps, after that of its head.
fn steps<A>(head: Option<&'static str>, recipe: &impl Recipe<A>) -> Vec<&'static str> {
    let mut steps = Vec::from_iter(head);
    recipe.describe(&mut steps);
    steps
}

/// A source.
pub struct FromSource<M, T> {
    meta: Arc<M>,
    _item: PhantomData<fn() -> T>,
}

impl<M: MetaSupplier, T> FromSource<M, T> {
    pub(crate) fn new(meta: M) -> Self {
        Self { meta: Arc::new(meta), _item: PhantomData }
    }

    /// True when the steps behind it belong into its vertex. A reader that blocks, or is the only one, leaves the work to others.
    fn is_busy(&self) -> bool {
        M::Processor::IS_COOPERATIVE && self.meta.preferred_parallelism().is_none()
    }
}

impl<M, T> Head for FromSource<M, T>
where
    M: MetaSupplier,
    M::Processor: Processor<In = (), Out = Many<T>>,
    T: Send + 'static,
{
    type Item = T;

    fn close<X: Recipe<T>>(self, recipe: X, label: Label) -> Node<X::Out> {
        let is_busy = self.is_busy();
        let meta = self.meta;
        if X::IS_IDENTITY {
            return Node::new(move |plan| {
                let name = label.name_or(&["source"]);
                plan.vertex(name, label.parallelism, SharedMeta(Arc::clone(&meta))).index
            });
        }
        if is_busy {
            return Node::new(move |plan| {
                let name = label.name_or(&steps(Some("source"), &recipe));
                let fused = FusedMeta { meta: Arc::clone(&meta), recipe: recipe.clone() };
                plan.vertex(name, label.parallelism, fused).index
            });
        }
        let source = Node::new(move |plan| {
            plan.vertex("source".to_owned(), None, SharedMeta(Arc::clone(&meta))).index
        });
        FromNodes::new(vec![source]).close(recipe, label)
    }

    fn close_beside<B, X, Y>(self, side: Node<Side>, before: X, after: Y, label: Label) -> Node<Y::Out>
    where
        B: Send + 'static,
        X: Recipe<T, Out = B>,
        Y: Recipe<B>,
    {
        if X::IS_IDENTITY && !self.is_busy() {
            // The label is that of the source too.
            let source = self.close(before, label.unnamed());
            return FromNodes::new(vec![source]).close_beside(side, Identity, after, label);
        }
        if !self.is_busy() {
            let source = self.close(Identity, Label::default());
            return FromNodes::new(vec![source]).close_beside(side, before, after, label);
        }
        let meta = self.meta;
        let recipe = Then::new(before, after);
        Node::new(move |plan| {
            let name = label.name_or(&steps(Some("source"), &recipe));
            let fused = FusedMeta { meta: Arc::clone(&meta), recipe: recipe.clone() };
            let vertex = plan.vertex(name, label.parallelism, SidedSourceMeta(fused));
            plan.connect(&side, vertex.index, vertex.input(), Edge::broadcast);
            vertex.index
        })
    }
}

/// Other vertices.
pub struct FromNodes<T> {
    nodes: Vec<Node<T>>,
    shape: Shape<T>,
    /// False when the edges must be as `shape` says.
    is_plain: bool,
}

impl<T> Clone for FromNodes<T> {
    fn clone(&self) -> Self {
        Self { nodes: self.nodes.clone(), shape: Arc::clone(&self.shape), is_plain: self.is_plain }
    }
}

impl<T: Send + 'static> FromNodes<T> {
    pub(crate) fn new(nodes: Vec<Node<T>>) -> Self {
        Self { nodes, shape: unicast(), is_plain: true }
    }

    pub(crate) fn shaped(nodes: Vec<Node<T>>, shape: Shape<T>) -> Self {
        Self { nodes, shape, is_plain: false }
    }

    pub(crate) fn allow_copies(&self)
    where
        T: Clone,
    {
        self.nodes.iter().for_each(Node::allow_copies);
    }
}

impl<T: Send + 'static> Head for FromNodes<T> {
    type Item = T;

    fn close<X: Recipe<T>>(self, recipe: X, label: Label) -> Node<X::Out> {
        Node::new(move |plan| {
            let mut steps = steps(None, &recipe);
            if steps.is_empty() {
                steps.push("union");
            }
            let vertex = plan.vertex(label.name_or(&steps), label.parallelism, transform(recipe.clone()));
            plan.connect_all(&self.nodes, &vertex, &self.shape);
            vertex.index
        })
    }

    fn nodes<X: Recipe<T>>(self, recipe: X, label: Label) -> Vec<Node<X::Out>> {
        if X::IS_IDENTITY && self.is_plain && label.is_empty() {
            let nodes: Box<dyn Any> = Box::new(self.nodes.clone());
            if let Ok(nodes) = nodes.downcast::<Vec<Node<X::Out>>>() {
                return *nodes;
            }
        }
        vec![self.close(recipe, label)]
    }

    fn close_beside<B, X, Y>(self, side: Node<Side>, before: X, after: Y, label: Label) -> Node<Y::Out>
    where
        B: Send + 'static,
        X: Recipe<T, Out = B>,
        Y: Recipe<B>,
    {
        if self.nodes.len() > 1 {
            let node = self.node(before, label.unnamed());
            return FromNodes::new(vec![node]).close_beside(side, Identity, after, label);
        }
        let recipe = Then::new(before, after);
        Node::new(move |plan| {
            let name = label.name_or(&steps(None, &recipe));
            let vertex = plan.vertex(name, label.parallelism, sided(recipe.clone()));
            plan.connect(&side, vertex.index, vertex.input_at::<1>(), |edge| edge.priority(-1).broadcast());
            for node in &self.nodes {
                plan.connect(node, vertex.index, vertex.input_at::<0>(), &*self.shape);
            }
            vertex.index
        })
    }
}

/// Another stream, and a side that comes before its items.
pub struct FromSided<H, X> {
    pub(crate) large: Stream<H, X>,
    pub(crate) side: Node<Side>,
}

impl<H: Head, X: Recipe<H::Item>> Head for FromSided<H, X> {
    type Item = X::Out;

    fn close<Y: Recipe<X::Out>>(self, recipe: Y, label: Label) -> Node<Y::Out> {
        let Self { large, side } = self;
        if large.label == label.unnamed() {
            return large.head.close_beside(side, large.recipe, recipe, label);
        }
        // The stream has a name, or another number of processors: it stays a vertex of its own.
        FromNodes::new(vec![large.node()]).close_beside(side, Identity, recipe, label)
    }
}

/// Groups, aggregated in two stages or in one.
pub struct FromGroups<T, K: Keying<T>, G: Fold<K::Value>> {
    pub(crate) before: BeforeGroups<T, K, G>,
    pub(crate) keying: K,
    pub(crate) aggregate: G,
}

/// What the last stage of an aggregation gets.
pub(crate) enum BeforeGroups<T, K: Keying<T>, G: Fold<K::Value>> {
    Accumulated(Vec<Node<(K::Key, G::Accumulator)>>),
    Items(Vec<Node<T>>),
}

impl<T, K, G> Head for FromGroups<T, K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    G: Aggregate<K::Value>,
{
    type Item = (K::Key, G::Out);

    fn close<X: Recipe<Self::Item>>(self, recipe: X, label: Label) -> Node<X::Out> {
        let Self { before, keying, aggregate } = self;
        match before {
            BeforeGroups::Accumulated(nodes) => {
                let by_key: Shape<(K::Key, G::Accumulator)> =
                    Arc::new(|edge| edge.partitioned_by_ref(|group| &group.0));
                FromNodes::shaped(nodes, by_key).close(Then::new(Combining::new(aggregate), recipe), label)
            }
            BeforeGroups::Items(nodes) => {
                let by = keying.clone();
                let by_key: Shape<_> = Arc::new(move |edge| by.partition(edge));
                let groups = Grouping { keying, fold: aggregate };
                FromNodes::shaped(nodes, by_key).close(Then::new(groups, recipe), label)
            }
        }
    }
}

/// Two other vertices, and a processor of both.
pub struct FromPair<A, B, M, T> {
    pub(crate) left: (Node<A>, Shape<A>),
    pub(crate) right: (Node<B>, Shape<B>),
    pub(crate) name: &'static str,
    pub(crate) meta: Arc<M>,
    pub(crate) _item: PhantomData<fn() -> T>,
}

impl<A, B, M, T> Head for FromPair<A, B, M, T>
where
    A: Send + 'static,
    B: Send + 'static,
    M: MetaSupplier,
    M::Processor: Processor<In = (A, B), Out = Many<T>>,
    T: Send + 'static,
{
    type Item = T;

    fn close<X: Recipe<T>>(self, recipe: X, label: Label) -> Node<X::Out> {
        Node::new(move |plan| {
            let name = label.name_or(&steps(Some(self.name), &recipe));
            let fused = FusedMeta { meta: Arc::clone(&self.meta), recipe: recipe.clone() };
            let vertex = plan.vertex(name, label.parallelism, fused);
            plan.connect(&self.left.0, vertex.index, vertex.input_at::<0>(), &*self.left.1);
            plan.connect(&self.right.0, vertex.index, vertex.input_at::<1>(), &*self.right.1);
            vertex.index
        })
    }
}
