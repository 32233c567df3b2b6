//! What edges are made of: the ports of vertices, with the types of their items.

use crate::edge::{Edge, PortId};
use crate::signature::{Many, Port};
use std::marker::PhantomData;

/// A vertex of a DAG that is being built: where its ports come from. `I` and `O` are the signature of its processors.
pub struct Vertex<I, O> {
    pub(crate) dag: u64,
    pub(crate) index: usize,
    signature: PhantomData<fn(I) -> O>,
}

impl<I, O> Clone for Vertex<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Vertex<I, O> {}

/// The inbound port of a vertex at one ordinal.
///
/// Ports of different types do not connect:
/// ```compile_fail
/// use filbert_flow::{DagBuilder, processors};
/// let mut dag = DagBuilder::new("mismatch");
/// let numbers = dag.vertex("numbers", processors::iterate(|_| 0..100_u64));
/// let words = dag.vertex("words", processors::for_each(|word: String| drop(word)));
/// dag.edge(numbers.output().to(words.input()));
/// ```
/// Nor does a source have an inbound port:
/// ```compile_fail
/// use filbert_flow::{DagBuilder, processors};
/// let mut dag = DagBuilder::new("into a source");
/// let one = dag.vertex("one", processors::iterate(|_| 0..100_u64));
/// let two = dag.vertex("two", processors::iterate(|_| 0..100_u64));
/// dag.edge(one.output().to(two.input()));
/// ```
pub struct In<T> {
    port: PortId,
    item: PhantomData<fn(T)>,
}

/// The outbound port of a vertex at one ordinal.
///
/// Items that can not be copied go to one edge only:
/// ```compile_fail
/// use filbert_flow::{DagBuilder, processors};
/// struct Unique;
/// let mut dag = DagBuilder::new("fork");
/// let things = dag.vertex("things", processors::iterate(|_| std::iter::once(Unique)));
/// let second = things.output_number(1);
/// ```
pub struct Out<T> {
    port: PortId,
    copy: Option<fn(&T) -> T>,
}

impl<I, O> Vertex<I, O> {
    pub(crate) fn new(dag: u64, index: usize) -> Self {
        Self { dag, index, signature: PhantomData }
    }

    fn port(&self, ordinal: usize) -> PortId {
        PortId { dag: self.dag, vertex: self.index, ordinal }
    }

    /// The inbound port at ordinal 0.
    pub fn input(&self) -> In<<I as Port<0>>::Item>
    where
        I: Port<0>,
    {
        self.input_at::<0>()
    }

    /// The inbound port at ordinal `N`.
    pub fn input_at<const N: usize>(&self) -> In<<I as Port<N>>::Item>
    where
        I: Port<N>,
    {
        In { port: self.port(N), item: PhantomData }
    }

    /// The outbound port at ordinal 0.
    pub fn output(&self) -> Out<<O as Port<0>>::Item>
    where
        O: Port<0>,
    {
        Out { port: self.port(0), copy: None }
    }
}

impl<T: Send + 'static, O> Vertex<Many<T>, O> {
    /// The inbound port at any ordinal, for a vertex that takes any number of edges.
    pub fn input_number(&self, ordinal: usize) -> In<T> {
        In { port: self.port(ordinal), item: PhantomData }
    }
}

impl<I, T: Send + 'static> Vertex<I, Many<T>> {
    /// The outbound port at any ordinal, when it is known only now whether items can be copied.
    pub(crate) fn output_with(&self, ordinal: usize, copy: Option<fn(&T) -> T>) -> Out<T> {
        Out { port: self.port(ordinal), copy }
    }
}

impl<I, T: Clone + Send + 'static> Vertex<I, Many<T>> {
    /// The outbound port at any ordinal, for a vertex that feeds any number of edges. Items are copied for all but one of them.
    pub fn output_number(&self, ordinal: usize) -> Out<T> {
        Out { port: self.port(ordinal), copy: Some(T::clone) }
    }
}

macro_rules! outputs_of_tuple {
    ($($all:ident),+: $($method:ident $index:literal $item:ident $which:literal),+) => {
        impl<I, $($all: Send + 'static),+> Vertex<I, ($($all,)+)> {
            $(
                #[doc = concat!("The outbound port at ordinal ", $which, ".")]
                pub fn $method(&self) -> Out<$item> {
                    Out { port: self.port($index), copy: None }
                }
            )+
        }
    };
}

outputs_of_tuple!(A, B: output_0 0 A "0", output_1 1 B "1");
outputs_of_tuple!(A, B, C: output_0 0 A "0", output_1 1 B "1", output_2 2 C "2");
outputs_of_tuple!(A, B, C, D: output_0 0 A "0", output_1 1 B "1", output_2 2 C "2", output_3 3 D "3");

impl<T: Send + 'static> Out<T> {
    /// An edge from here to there: unicast, with priority 0, until it is told otherwise.
    pub fn to(self, input: In<T>) -> Edge<T> {
        Edge::new(self.port, input.port, self.copy)
    }
}
