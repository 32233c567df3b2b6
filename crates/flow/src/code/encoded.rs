//! A DAG as JSON text, and back. What comes in may be anything: it is checked like a DAG that is built here, types included.

use super::items::AnyItems;
use super::{CodeError, FlowRegistry, VertexOrigin};
use crate::dag::{Dag, DagBuilder, Graph};
use crate::edge::{CodecCode, EdgeParts, ForwardingCode, PortId};
use crate::signature::ItemType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many vertices and edges an encoded DAG has at most: each costs planning time that grows with all of them.
const MOST_PARTS: usize = 500;

/// How many places the queues of all edges of an encoded DAG have at most, together.
const MOST_PLACES: u128 = 1 << 26;

/// What a queue takes beside its places, in places.
const PLACES_PER_QUEUE: usize = 32;

/// How many processors an encoded DAG has at most, all vertices together.
const MOST_PROCESSORS: u128 = 10_000;

/// What a vertex without a parallelism counts as there.
const ASSUMED_PARALLELISM: usize = 64;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedDag {
    dag: String,
    vertices: Vec<EncodedVertex>,
    edges: Vec<EncodedEdge>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedVertex {
    name: String,
    code: String,
    parameters: Value,
    parallelism: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedEdge {
    /// Vertex and ordinal.
    from: (usize, usize),
    to: (usize, usize),
    priority: i32,
    forwarding: ForwardingCode,
    queue_size: usize,
    high_water_mark: usize,
    /// Items in memory, and whether the rest goes to disk.
    buffer: Option<usize>,
    is_distributed: bool,
    has_codec: bool,
}

impl Dag {
    /// The DAG as text, so that it can be sent to where the same code is registered.
    ///
    /// # Errors
    /// When a vertex or an edge is made of closures, or refers to code that is not in `registry`; the error names it.
    pub fn encode(&self, registry: &FlowRegistry) -> Result<String, CodeError> {
        let graph = &self.inner;
        let mut vertices = Vec::new();
        for vertex in &graph.vertices {
            let Some(VertexOrigin { code, parameters }) = &vertex.origin else {
                return Err(CodeError::Closure { vertex: vertex.name.to_string() });
            };
            if !registry.vertices.contains_key(code) {
                let whose = format!("vertex {:?}", vertex.name);
                return Err(CodeError::Unknown { whose, what: "vertex code", name: code.clone() });
            }
            vertices.push(EncodedVertex {
                name: vertex.name.to_string(),
                code: code.clone(),
                parameters: parameters.clone(),
                parallelism: vertex.parallelism,
            });
        }
        let mut edges = Vec::new();
        for edge in &graph.edges {
            let parts = &edge.parts;
            let name = edge_name(graph, parts);
            if parts.code == ForwardingCode::Closure {
                let remedy = "register it as a key and use `partitioned_by_key`";
                return Err(CodeError::ClosureOnEdge { edge: name, what: "key", remedy });
            }
            if parts.codec == CodecCode::Closure {
                let remedy = "use `DataCodec`";
                return Err(CodeError::ClosureOnEdge { edge: name, what: "codec", remedy });
            }
            // What can not be decoded here is not worth sending.
            registry.wire(graph, parts, &name)?;
            edges.push(EncodedEdge {
                from: (parts.from.vertex, parts.from.ordinal),
                to: (parts.to.vertex, parts.to.ordinal),
                priority: parts.priority,
                forwarding: parts.code.clone(),
                queue_size: parts.queue_size,
                high_water_mark: parts.high_water_mark,
                buffer: parts.buffer,
                is_distributed: parts.is_distributed,
                has_codec: parts.has_codec(),
            });
        }
        let encoded = EncodedDag { dag: graph.name.clone(), vertices, edges };
        serde_json::to_string(&encoded).map_err(|error| CodeError::Malformed { problem: error.to_string() })
    }

    /// The DAG of a text that [`Dag::encode`] gave, with the code that is registered here.
    ///
    /// # Errors
    /// When the text is none, or does not fit the code that is registered here.
    pub fn decode(text: &str, registry: &FlowRegistry) -> Result<Dag, CodeError> {
        let malformed = |problem: String| CodeError::Malformed { problem };
        let encoded: EncodedDag = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if encoded.vertices.len() > MOST_PARTS || encoded.edges.len() > MOST_PARTS {
            return Err(malformed(format!("it has more than {MOST_PARTS} vertices or edges")));
        }
        let mut dag = DagBuilder::new(encoded.dag);
        for EncodedVertex { name, code, parameters, parallelism } in encoded.vertices {
            let Some(known) = registry.vertices.get(&code) else {
                let whose = format!("vertex {name:?}");
                return Err(CodeError::Unknown { whose, what: "vertex code", name: code });
            };
            let (maker, preferred) = known.maker(parameters.clone()).map_err(|error| {
                CodeError::Parameters { vertex: name.clone(), code: code.clone(), problem: error.to_string() }
            })?;
            dag.add_vertex(name, maker, parallelism.or(preferred), Some(VertexOrigin { code, parameters }));
        }
        for edge in encoded.edges {
            let port = |(vertex, ordinal)| PortId { dag: dag.id(), vertex, ordinal };
            let mut parts = EdgeParts::new(port(edge.from), port(edge.to));
            parts.priority = edge.priority;
            parts.queue_size = edge.queue_size;
            parts.high_water_mark = edge.high_water_mark;
            (parts.has_queue_size, parts.has_high_water_mark) = (true, true);
            parts.buffer = edge.buffer;
            parts.is_distributed = edge.is_distributed;
            parts.forwarding = edge.forwarding.kind();
            parts.code = edge.forwarding;
            parts.codec = if edge.has_codec { CodecCode::Data } else { CodecCode::None };
            let count = dag.graph().vertices.len();
            if parts.from.vertex >= count || parts.to.vertex >= count {
                return Err(malformed("an edge refers to a vertex that there is not".to_owned()));
            }
            let name = edge_name(dag.graph(), &parts);
            let wire = registry.wire(dag.graph(), &parts, &name)?;
            dag.add_edge(parts, wire);
        }
        let processors: u128 =
            (0..dag.graph().vertices.len()).map(|vertex| processors(dag.graph(), vertex)).sum();
        if processors > MOST_PROCESSORS {
            return Err(malformed(format!("it has {processors} processors, more than {MOST_PROCESSORS}")));
        }
        let places: u128 = dag.graph().edges.iter().map(|edge| places(dag.graph(), &edge.parts)).sum();
        if places > MOST_PLACES {
            return Err(malformed(format!("its queues have {places} places, more than {MOST_PLACES}")));
        }
        Ok(dag.build()?)
    }
}

/// How many places the queues of an edge have.
fn places(graph: &Graph, parts: &EdgeParts) -> u128 {
    let lanes = processors(graph, parts.from.vertex).saturating_mul(processors(graph, parts.to.vertex));
    let queue = parts.queue_size.max(parts.high_water_mark).max(PLACES_PER_QUEUE);
    lanes.saturating_mul(queue as u128)
}

fn processors(graph: &Graph, vertex: usize) -> u128 {
    graph.vertices[vertex].parallelism.unwrap_or(ASSUMED_PARALLELISM) as u128
}

fn edge_name(graph: &Graph, parts: &EdgeParts) -> String {
    format!("{} -> {}", graph.vertices[parts.from.vertex].name, graph.vertices[parts.to.vertex].name)
}

impl FlowRegistry {
    /// What carries the items of an edge, if its ports fit each other and all that it needs is registered.
    fn wire(
        &self,
        graph: &Graph,
        parts: &EdgeParts,
        name: &str,
    ) -> Result<std::sync::Arc<dyn crate::edge::wiring::Wire>, CodeError> {
        let from = graph.vertices[parts.from.vertex].maker.output_item(parts.from.ordinal);
        let to = graph.vertices[parts.to.vertex].maker.input_item(parts.to.ordinal);
        let item = match (from, to) {
            (Some(from), Some(to)) if from == to => from,
            _ => {
                let name_of = |item: Option<ItemType>| item.map_or("nothing", |item| item.name).to_owned();
                let edge = name.to_owned();
                return Err(CodeError::Mismatch { edge, from: name_of(from), to: name_of(to) });
            }
        };
        let whose = || format!("the edge {name}");
        let Some(items) = self.items.get(&item.id) else {
            let name = item.name.to_owned();
            return Err(CodeError::Unknown { whose: whose(), what: "type of items", name });
        };
        let items: &dyn AnyItems = &**items;
        items.wire(&parts.code, parts.has_codec(), self).map_err(|missing| CodeError::Unknown {
            whose: whose(),
            what: missing.what,
            name: missing.name,
        })
    }
}
