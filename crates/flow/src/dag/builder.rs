//! Builds a graph, and refuses one that makes no sense, with the names of the vertices that are to blame.

use super::error::DagError;
use super::maker::{Maker, MakerOf};
use super::port::Vertex;
use super::{Dag, EdgeOfDag, Graph, VertexParts};
use crate::code::{CodeError, VertexCode, VertexOrigin};
use crate::edge::wiring::Wire;
use crate::edge::{Edge, EdgeParts, PortId};
use crate::plan::{self, Rejoin};
use crate::processor::{MetaSupplier, Processor};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The vertex that a meta-supplier makes: with the ports of its processors.
pub type VertexOf<M> = Vertex<
    <<M as MetaSupplier>::Processor as Processor>::In,
    <<M as MetaSupplier>::Processor as Processor>::Out,
>;

/// Vertices first, then edges between their ports, then [`DagBuilder::build`].
///
/// ```
/// use filbert_flow::{DagBuilder, DagError, processors};
///
/// let mut dag = DagBuilder::new("unfinished");
/// let numbers = dag.vertex("numbers", processors::iterate(|_| 0..100_u64));
/// let refused = dag.build().unwrap_err();
/// assert_eq!(refused.to_string(), "vertex \"numbers\" has 0 outbound edge(s) and needs at least 1; connect each port once");
/// ```
pub struct DagBuilder {
    id: u64,
    graph: Graph,
    rejoin: Rejoin,
    /// A vertex of another DAG was meant; told when the graph is built.
    has_foreign_vertex: bool,
}

impl DagBuilder {
    /// An empty DAG of that name.
    pub fn new(name: impl Into<String>) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let graph = Graph { name: name.into(), vertices: Vec::new(), edges: Vec::new() };
        Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            graph,
            rejoin: Rejoin::default(),
            has_foreign_vertex: false,
        }
    }

    /// Adds a vertex. `processors` makes its processors: a meta-supplier, or a closure `Fn(Share) -> Processor`.
    pub fn vertex<M: MetaSupplier>(&mut self, name: impl Into<String>, processors: M) -> VertexOf<M> {
        let parallelism = processors.preferred_parallelism();
        let index = self.add_vertex(name.into(), Box::new(MakerOf(processors)), parallelism, None);
        Vertex::new(self.id, index)
    }

    /// Adds a vertex whose code is registered: a DAG of such vertices can be [encoded](Dag::encode).
    ///
    /// # Errors
    /// When the code does not take these parameters.
    pub fn registered<P: Serialize, M: MetaSupplier>(
        &mut self,
        name: impl Into<String>,
        code: &VertexCode<P, M>,
        parameters: P,
    ) -> Result<VertexOf<M>, CodeError> {
        let name = name.into();
        let (processors, origin) = code.apply(&name, parameters)?;
        let parallelism = processors.preferred_parallelism();
        let index = self.add_vertex(name, Box::new(MakerOf(processors)), parallelism, Some(origin));
        Ok(Vertex::new(self.id, index))
    }

    pub(crate) fn add_vertex(
        &mut self,
        name: String,
        maker: Box<dyn Maker>,
        parallelism: Option<usize>,
        origin: Option<VertexOrigin>,
    ) -> usize {
        self.graph.vertices.push(VertexParts { name: name.into(), parallelism, maker, origin });
        self.graph.vertices.len() - 1
    }

    pub(crate) fn add_edge(&mut self, parts: EdgeParts, wire: Arc<dyn Wire>) {
        self.graph.edges.push(EdgeOfDag { parts, wire });
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How many processors a vertex has on each member; as many as the stage `flow` has workers, if nobody says otherwise. With a vertex
    /// of another DAG this one is [refused](DagError::ForeignVertex) when it is built.
    pub fn local_parallelism<I, O>(&mut self, vertex: &Vertex<I, O>, processors: usize) {
        if vertex.dag == self.id {
            self.graph.vertices[vertex.index].parallelism = Some(processors);
        } else {
            self.has_foreign_vertex = true;
        }
    }

    /// Adds an edge.
    pub fn edge<T: Send + 'static>(&mut self, edge: Edge<T>) {
        let (parts, wire) = edge.into_parts();
        self.add_edge(parts, wire);
    }

    /// What to do about edges that could make a job hang: a fork that rejoins with different priorities, and the like.
    pub fn on_rejoin(&mut self, rejoin: Rejoin) {
        self.rejoin = rejoin;
    }

    /// Checks the graph, and finds the edges that need a buffer.
    pub fn build(mut self) -> Result<Dag, DagError> {
        self.check_vertices()?;
        self.check_edges()?;
        self.check_ports("inbound")?;
        self.check_ports("outbound")?;
        self.check_cycles()?;
        self.size_queues();
        self.plan_buffers()?;
        Ok(Dag { inner: Arc::new(self.graph) })
    }

    fn name(&self, vertex: usize) -> String {
        self.graph.vertices[vertex].name.to_string()
    }

    fn edge_name(&self, edge: usize) -> String {
        let parts = &self.graph.edges[edge].parts;
        format!("{} -> {}", self.name(parts.from.vertex), self.name(parts.to.vertex))
    }

    fn size_queues(&mut self) {
        let Graph { vertices, edges, .. } = &mut self.graph;
        for edge in edges {
            if let Some(items) = vertices[edge.parts.from.vertex].maker.preferred_queue_size() {
                edge.parts.prefer_queue_size(items.max(1));
            }
        }
    }

    fn plan_buffers(&mut self) -> Result<(), DagError> {
        for (edge, circle) in plan::edges_to_buffer(&self.graph) {
            if self.rejoin == Rejoin::Refuse {
                let waiting = circle.iter().map(|edge| self.edge_name(*edge)).collect();
                return Err(DagError::Rejoin { edge: self.edge_name(edge), waiting });
            }
            self.graph.edges[edge].parts.set_buffered();
        }
        Ok(())
    }

    fn check_vertices(&self) -> Result<(), DagError> {
        if self.has_foreign_vertex {
            return Err(DagError::ForeignVertex { dag: self.graph.name.clone() });
        }
        if self.graph.vertices.is_empty() {
            return Err(DagError::Empty { dag: self.graph.name.clone() });
        }
        let mut names = HashSet::new();
        for vertex in &self.graph.vertices {
            if !names.insert(&vertex.name) {
                return Err(DagError::DuplicateName { vertex: vertex.name.to_string() });
            }
            if vertex.parallelism == Some(0) {
                let whose = format!("vertex {:?}", vertex.name);
                return Err(DagError::Zero { what: "the local parallelism", whose });
            }
        }
        Ok(())
    }

    fn check_edges(&self) -> Result<(), DagError> {
        let mut pairs = HashSet::new();
        for edge in &self.graph.edges {
            let (from, to) = (edge.parts.from, edge.parts.to);
            if from.dag != self.id || to.dag != self.id {
                return Err(DagError::ForeignPort { dag: self.graph.name.clone() });
            }
            if !pairs.insert((from.vertex, to.vertex)) {
                return Err(DagError::DuplicateEdge {
                    from: self.name(from.vertex),
                    to: self.name(to.vertex),
                });
            }
            let sizes = [
                ("the queue size", edge.parts.queue_size),
                ("the high-water mark", edge.parts.high_water_mark),
                ("the buffer", edge.parts.buffer.unwrap_or(1)),
                ("what a buffer keeps in memory", edge.parts.spill_beyond),
            ];
            if let Some((what, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
                let whose =
                    format!("the edge from {:?} to {:?}", self.name(from.vertex), self.name(to.vertex));
                return Err(DagError::Zero { what, whose });
            }
        }
        Ok(())
    }

    fn check_ports(&self, side: &'static str) -> Result<(), DagError> {
        let port =
            |edge: &EdgeOfDag| -> PortId { if side == "inbound" { edge.parts.to } else { edge.parts.from } };
        for (index, vertex) in self.graph.vertices.iter().enumerate() {
            let edges = self.graph.edges.iter().map(port).filter(|port| port.vertex == index);
            let mut ordinals: Vec<usize> = edges.map(|port| port.ordinal).collect();
            ordinals.sort_unstable();
            let name = || vertex.name.to_string();
            for (expected, &ordinal) in ordinals.iter().enumerate() {
                if ordinal < expected {
                    return Err(DagError::PortTaken { vertex: name(), side, ordinal });
                }
                if ordinal > expected {
                    return Err(DagError::Gap { vertex: name(), side, missing: expected });
                }
            }
            let needed = if side == "inbound" { vertex.maker.inbound() } else { vertex.maker.outbound() };
            if !needed.allows(ordinals.len()) {
                return Err(DagError::WrongArity { vertex: name(), side, found: ordinals.len(), needed });
            }
        }
        Ok(())
    }

    /// Walks along the edges from every vertex; whoever meets a vertex of its own way has found a cycle.
    fn check_cycles(&self) -> Result<(), DagError> {
        let count = self.graph.vertices.len();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
        for edge in &self.graph.edges {
            next[edge.parts.from.vertex].push(edge.parts.to.vertex);
        }
        let mut finished = vec![false; count];
        for start in 0..count {
            // The way from the start to here: each vertex with how many of its edges were tried.
            let mut way = vec![(start, 0)];
            while let Some((vertex, tried)) = way.last_mut() {
                if finished[*vertex] || *tried == next[*vertex].len() {
                    finished[*vertex] = true;
                    way.pop();
                    continue;
                }
                let to = next[*vertex][*tried];
                *tried += 1;
                if let Some(begin) = way.iter().position(|(vertex, _)| *vertex == to) {
                    let circle = way[begin..].iter().map(|(vertex, _)| *vertex).chain([to]);
                    return Err(DagError::Cycle {
                        vertices: circle.map(|vertex| self.name(vertex)).collect(),
                    });
                }
                way.push((to, 0));
            }
        }
        Ok(())
    }
}
