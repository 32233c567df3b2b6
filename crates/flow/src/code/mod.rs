//! DAGs that can be sent: made of vertices that are registered by name, with parameters, instead of closures.
//!
//! A closure can not leave its process. So code is registered under a name, on every member alike, and a DAG that travels holds names and
//! parameters only. [`Dag::encode`](crate::Dag::encode) says at once which vertex or edge stands in the way.
//!
//! | File | What |
//! |---|---|
//! | `items` | types of items: how an edge is made for a type that is known by its name only |
//! | `encoded` | a DAG as text, and back |
//! | `error` | [`CodeError`] |

mod encoded;
mod error;
mod items;

pub use error::CodeError;

use crate::dag::maker::{Maker, MakerOf};
use crate::edge::router::ByKey;
use crate::edge::wiring::{MakeHashed, MakeLink};
use crate::processor::{Failure, MetaSupplier};
use filbert_wire::{FromData, ToData};
use items::{AnyItems, ItemsOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The code that DAGs refer to by name: vertices, keys of partitioned edges, and types of items.
///
/// ```
/// use filbert_flow::{Dag, DagBuilder, FlowRegistry, processors};
///
/// let mut code = FlowRegistry::new();
/// let numbers = code.vertex("numbers", |below: u64| Ok(processors::iterate(move |share| share.part_of(0..below))));
/// let scale = code.vertex("scale", |by: u64| Ok(processors::map(move |n: u64| n * by)));
/// let print = code.vertex("print", |()| Ok(processors::for_each(|n: u64| println!("{n}"))));
/// let last_digit = code.key("last digit", |n: &u64| n % 10);
/// code.items::<u64>();
///
/// let mut dag = DagBuilder::new("scaled");
/// let source = dag.registered("source", &numbers, 100)?;
/// let triple = dag.registered("triple", &scale, 3)?;
/// let sink = dag.registered("sink", &print, ())?;
/// dag.edge(source.output().to(triple.input()));
/// dag.edge(triple.output().to(sink.input()).partitioned_by_key(&last_digit));
/// let text = dag.build()?.encode(&code)?;
///
/// // Elsewhere, where the same code is registered:
/// let dag = Dag::decode(&text, &code)?;
/// assert_eq!(dag.vertices().collect::<Vec<_>>(), ["source", "triple", "sink"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct FlowRegistry {
    vertices: HashMap<String, Box<dyn AnyVertexCode>>,
    /// Each a `Box<dyn MakeKey<T>>`, by the type of the items.
    keys: HashMap<(String, TypeId), Box<dyn Any + Send + Sync>>,
    items: HashMap<TypeId, Box<dyn AnyItems>>,
}

/// A registered vertex: give it to [`DagBuilder::registered`](crate::DagBuilder::registered), with parameters.
pub struct VertexCode<P, M> {
    name: Arc<str>,
    make: MakeVertex<P, M>,
}

type MakeVertex<P, M> = Arc<dyn Fn(P) -> Result<M, Failure> + Send + Sync>;

/// A registered key: give it to [`Edge::partitioned_by_key`](crate::Edge::partitioned_by_key).
pub struct KeyCode<T> {
    pub(crate) name: Arc<str>,
    make: Arc<dyn MakeKey<T>>,
}

impl<T> KeyCode<T> {
    pub(crate) fn link(&self) -> Box<dyn MakeLink<T>> {
        self.make.link()
    }
}

/// A vertex as it is known by name: what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VertexOrigin {
    pub(crate) code: String,
    pub(crate) parameters: Value,
}

impl<P: Serialize, M: MetaSupplier> VertexCode<P, M> {
    /// The processors for these parameters, and how to make them elsewhere.
    pub(crate) fn apply(&self, vertex: &str, parameters: P) -> Result<(M, VertexOrigin), CodeError> {
        let refused = |problem: String| CodeError::Parameters {
            vertex: vertex.to_owned(),
            code: self.name.to_string(),
            problem,
        };
        let written = serde_json::to_value(&parameters).map_err(|error| refused(error.to_string()))?;
        let made = (self.make)(parameters).map_err(|error| refused(error.to_string()))?;
        Ok((made, VertexOrigin { code: self.name.to_string(), parameters: written }))
    }
}

/// Makes the vertex from parameters that came as text.
trait AnyVertexCode: Send + Sync {
    fn maker(&self, parameters: Value) -> Result<(Box<dyn Maker>, Option<usize>), Failure>;
}

impl<P: DeserializeOwned, M: MetaSupplier> AnyVertexCode for VertexCode<P, M> {
    fn maker(&self, parameters: Value) -> Result<(Box<dyn Maker>, Option<usize>), Failure> {
        let made = (self.make)(serde_json::from_value(parameters)?)?;
        let parallelism = made.preferred_parallelism();
        Ok((Box::new(MakerOf(made)), parallelism))
    }
}

/// Makes the link of an edge that is partitioned by a registered key.
trait MakeKey<T>: Send + Sync {
    fn link(&self) -> Box<dyn MakeLink<T>>;
}

struct KeyOf<F>(Arc<ByKey<F>>);

impl<T, K, F> MakeKey<T> for KeyOf<F>
where
    T: Send + 'static,
    K: Hash,
    F: Fn(&T) -> K + Send + Sync + 'static,
{
    fn link(&self) -> Box<dyn MakeLink<T>> {
        Box::new(MakeHashed(Arc::clone(&self.0)))
    }
}

impl FlowRegistry {
    /// Nothing is registered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a vertex: `make` makes its processors from parameters. A second one of the same name replaces the first.
    pub fn vertex<P, M>(
        &mut self,
        name: &str,
        make: impl Fn(P) -> Result<M, Failure> + Send + Sync + 'static,
    ) -> VertexCode<P, M>
    where
        P: Serialize + DeserializeOwned + 'static,
        M: MetaSupplier,
    {
        let make: MakeVertex<P, M> = Arc::new(make);
        let code = || VertexCode { name: name.into(), make: Arc::clone(&make) };
        self.vertices.insert(name.to_owned(), Box::new(code()));
        code()
    }

    /// Registers the key of partitioned edges with items of `T`.
    pub fn key<T: Send + 'static, K: Hash + 'static>(
        &mut self,
        name: &str,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> KeyCode<T> {
        let make: Arc<dyn MakeKey<T>> = Arc::new(KeyOf(Arc::new(ByKey(key))));
        self.keys.insert((name.to_owned(), TypeId::of::<T>()), Box::new(Arc::clone(&make)));
        KeyCode { name: name.into(), make }
    }

    /// Registers a type of items: edges of DAGs that are decoded can carry it.
    pub fn items<T: Clone + Hash + Send + 'static>(&mut self) {
        self.items.insert(TypeId::of::<T>(), Box::new(ItemsOf::<T>::new(None)));
    }

    /// As [`FlowRegistry::items`], for items that can be written with [`DataCodec`](crate::DataCodec).
    pub fn data_items<T: Clone + Hash + Send + ToData + FromData + 'static>(&mut self) {
        self.items.insert(TypeId::of::<T>(), Box::new(ItemsOf::<T>::new(Some(Arc::new(crate::DataCodec)))));
    }
}
