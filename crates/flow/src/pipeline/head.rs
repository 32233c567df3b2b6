//! Where an open vertex gets its items from. Steps are added to it until the stream is grouped, forked, joined or written.

use super::plan::{Label, Node, Shape, unicast};
use crate::aggregate::{Aggregate, Fold};
use crate::processor::{MetaSupplier, Processor};
use crate::processors::fused::{FusedMeta, SharedMeta, sided};
use crate::processors::transform;
use crate::signature::Many;
use crate::transform::{Combining, Grouping, Keying, Recipe, Side, Then};
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

impl<M, T> FromSource<M, T> {
    pub(crate) fn new(meta: M) -> Self {
        Self { meta: Arc::new(meta), _item: PhantomData }
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
        let meta = self.meta;
        // A reader that blocks, or is the only one, leaves the work to others.
        let is_busy = M::Processor::IS_COOPERATIVE && meta.preferred_parallelism().is_none();
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
}

/// Other vertices, and a side that comes before their items.
pub struct FromSided<T> {
    pub(crate) node: Node<T>,
    pub(crate) side: Node<Side>,
}

impl<T: Send + 'static> Head for FromSided<T> {
    type Item = T;

    fn close<X: Recipe<T>>(self, recipe: X, label: Label) -> Node<X::Out> {
        Node::new(move |plan| {
            let name = label.name_or(&steps(None, &recipe));
            let vertex = plan.vertex(name, label.parallelism, sided(recipe.clone()));
            plan.connect(&self.side, vertex.index, vertex.input_at::<1>(), |edge| {
                edge.priority(-1).broadcast()
            });
            plan.connect(&self.node, vertex.index, vertex.input_at::<0>(), |edge| edge);
            vertex.index
        })
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
