//! From a pipeline to a DAG: every vertex once, however many streams lead to it, and the edges between them.

use crate::dag::{DagBuilder, In, Vertex, VertexOf};
use crate::edge::{Edge, StreamCodec};
use crate::processor::MetaSupplier;
use crate::processors::transform;
use crate::signature::Many;
use crate::transform::Identity;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// How an edge forwards its items.
pub(crate) type Shape<T> = Arc<dyn Fn(Edge<T>) -> Edge<T> + Send + Sync>;

/// Any one processor, all equally.
pub(crate) fn unicast<T: Send + 'static>() -> Shape<T> {
    Arc::new(|edge| edge)
}

/// What the user said of a vertex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    pub(crate) name: Option<String>,
    pub(crate) parallelism: Option<usize>,
}

impl Label {
    pub(crate) fn is_empty(&self) -> bool {
        self.name.is_none() && self.parallelism.is_none()
    }

    /// The same without a name.
    pub(crate) fn unnamed(&self) -> Self {
        Self { name: None, parallelism: self.parallelism }
    }

    /// The user's name, or one made of the steps.
    pub(crate) fn name_or(&self, steps: &[&'static str]) -> String {
        self.name.clone().unwrap_or_else(|| steps.join(" + "))
    }
}

/// A vertex with items of type `T` that is not in a DAG yet; clones are the same vertex.
pub struct Node<T> {
    inner: Arc<NodeParts<T>>,
}

struct NodeParts<T> {
    build: Box<dyn Fn(&mut Plan) -> usize + Send + Sync>,
    /// How items are copied for all edges but one; set when a second stream begins here.
    copy: OnceLock<fn(&T) -> T>,
    /// How items are written, should an edge have to keep many of them.
    codec: OnceLock<StreamCodec<T>>,
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T: Send + 'static> Node<T> {
    /// `build` adds the vertex, and what is before it, to a plan; it returns the vertex's index.
    pub(crate) fn new(build: impl Fn(&mut Plan) -> usize + Send + Sync + 'static) -> Self {
        Self {
            inner: Arc::new(NodeParts {
                build: Box::new(build),
                copy: OnceLock::new(),
                codec: OnceLock::new(),
            }),
        }
    }

    /// Several streams may begin here.
    pub(crate) fn allow_copies(&self)
    where
        T: Clone,
    {
        self.inner.copy.get_or_init(|| T::clone);
    }

    /// Edges that begin here may write items so. The first codec that is given counts.
    pub(crate) fn allow_spilling(&self, codec: &StreamCodec<T>) {
        self.inner.codec.get_or_init(|| codec.clone());
    }
}

/// A DAG that is being made of a pipeline.
pub(crate) struct Plan {
    dag: DagBuilder,
    /// The vertex of every node, by its address.
    built: HashMap<usize, usize>,
    /// How many edges leave each vertex.
    outputs: HashMap<usize, usize>,
    /// Vertices with an edge between them.
    pairs: HashSet<(usize, usize)>,
    names: HashMap<String, usize>,
}

impl Plan {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            dag: DagBuilder::new(name),
            built: HashMap::new(),
            outputs: HashMap::new(),
            pairs: HashSet::new(),
            names: HashMap::new(),
        }
    }

    pub(crate) fn into_dag(self) -> DagBuilder {
        self.dag
    }

    /// Adds a vertex; the second of a name is called `name 2`.
    pub(crate) fn vertex<M: MetaSupplier>(
        &mut self,
        name: String,
        parallelism: Option<usize>,
        meta: M,
    ) -> VertexOf<M> {
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name} {count}") };
        let vertex = self.dag.vertex(name, meta);
        if let Some(parallelism) = parallelism {
            self.dag.local_parallelism(&vertex, parallelism);
        }
        vertex
    }

    /// The vertex of a node; built the first time that it is asked for.
    pub(crate) fn build<T>(&mut self, node: &Node<T>) -> usize {
        let address = Arc::as_ptr(&node.inner).cast::<()>() as usize;
        if let Some(&vertex) = self.built.get(&address) {
            return vertex;
        }
        let vertex = (node.inner.build)(self);
        self.built.insert(address, vertex);
        vertex
    }

    /// An edge from a node to the port of the vertex `to`.
    pub(crate) fn connect<T: Send + 'static>(
        &mut self,
        node: &Node<T>,
        to: usize,
        input: In<T>,
        shape: impl FnOnce(Edge<T>) -> Edge<T>,
    ) {
        let mut from = self.build(node);
        let mut copy = node.inner.copy.get().copied();
        let codec = node.inner.codec.get();
        let spilling = |edge: Edge<T>| match codec {
            Some(codec) => edge.with_codec_of(codec),
            None => edge,
        };
        if !self.pairs.insert((from, to)) {
            // Two streams from one vertex meet again: a DAG has one edge between two vertices, so the second goes round a corner.
            let corner = self.vertex("copy".to_owned(), None, transform::<T, _>(Identity));
            self.edge(from, copy, corner.input(), spilling);
            (from, copy) = (corner.index, None);
        }
        self.edge(from, copy, input, |edge| shape(spilling(edge)));
    }

    /// All nodes at the ports of one vertex, by their order.
    pub(crate) fn connect_all<T: Send + 'static, O>(
        &mut self,
        nodes: &[Node<T>],
        to: &Vertex<Many<T>, O>,
        shape: &Shape<T>,
    ) {
        for (ordinal, node) in nodes.iter().enumerate() {
            self.connect(node, to.index, to.input_number(ordinal), &**shape);
        }
    }

    fn edge<T: Send + 'static>(
        &mut self,
        from: usize,
        copy: Option<fn(&T) -> T>,
        input: In<T>,
        shape: impl FnOnce(Edge<T>) -> Edge<T>,
    ) {
        let ordinal = self.outputs.entry(from).or_default();
        let vertex = Vertex::<(), Many<T>>::new(self.dag.id(), from);
        let output = vertex.output_with(*ordinal, copy);
        *ordinal += 1;
        self.dag.edge(shape(output.to(input)));
    }
}
