//! Which edges must be buffered so that no job hangs.
//!
//! An edge is *held* while its consumer has edges of a lower priority number to consume first. A held edge fills up, then its producer can not
//! emit, on this edge or any other, and so on upstream, as far as no buffered edge is in between, which takes whatever comes: that is
//! what `h` *stops*. So the consumer's first edges must be able to end without anything that the held edge stops. The held edge `h` at
//! vertex `v` is released when every edge `f` into `v` with a lower number has ended, and that *needs* the vertex that feeds `f` and all
//! vertices upstream of that, over buffered edges too. So `h` *waits for* every held edge `g` that stops something which `h` needs. If
//! an edge waits, over any number of others, for itself, the job may hang.
//!
//! The simplest case is a fork whose branches rejoin with different priorities (`h` waits for `h`); two joins that consume two sources
//! in opposite order wait for each other. A buffered edge stops nobody: buffering one edge of every circle breaks them all. One is
//! chosen at a time, the most upstream of those that wait for themselves at once, and what the others stop is looked at again: a branch
//! that has a buffer already may need no other.

use crate::dag::Graph;
use std::collections::{HashMap, VecDeque};

/// What to do about a fork that rejoins with different priorities, and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rejoin {
    /// Buffer as many edges as it takes.
    #[default]
    Buffer,
    /// Refuse to build the DAG.
    Refuse,
}

/// A circle of edges that wait for each other, by index.
pub(crate) type Circle = Vec<usize>;

/// The edges to be buffered, each with the circle that it breaks.
pub(crate) fn edges_to_buffer(graph: &Graph) -> Vec<(usize, Circle)> {
    let parts = |edge: &usize| &graph.edges[*edge].parts;
    let mut buffered: Vec<bool> = graph.edges.iter().map(|edge| edge.parts.is_buffered()).collect();
    let mut chosen: Vec<(usize, Circle)> = Vec::new();
    while let Some(waits) = Waits::of(graph, &buffered) {
        let held: Vec<usize> =
            (0..graph.edges.len()).filter(|edge| waits.is_held(*edge) && !buffered[*edge]).collect();
        let alone = held.iter().copied().filter(|edge| waits.waits_for(*edge, *edge));
        let (edge, circle) = match alone.min_by_key(|edge| waits.depth(*edge)) {
            Some(edge) => (edge, vec![edge]),
            None => {
                let Some(circle) = waits.circle(&held) else { break };
                // The one that its consumer takes last: the others are then needed sooner.
                let Some(edge) = circle.iter().copied().max_by_key(|edge| parts(edge).priority) else {
                    break;
                };
                (edge, circle)
            }
        };
        buffered[edge] = true;
        chosen.push((edge, circle));
    }
    chosen
}

struct Waits {
    /// For every edge: the vertices that stand still while it is held.
    stops: Vec<Vertices>,
    /// For every edge: all vertices above the edges that are consumed before it; none for an edge that is not held.
    needs: Vec<Vertices>,
    /// For every edge: how many vertices are above it.
    depths: Vec<usize>,
}

impl Waits {
    /// None when no edge is held.
    fn of(graph: &Graph, buffered: &[bool]) -> Option<Self> {
        let (edges, count) = (&graph.edges, graph.vertices.len());
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (edge, parts) in edges.iter().enumerate() {
            into[parts.parts.to.vertex].push(edge);
        }
        let first = |held: usize| {
            let held = &edges[held].parts;
            into[held.to.vertex].iter().copied().filter(|edge| edges[*edge].parts.priority < held.priority)
        };
        if (0..edges.len()).all(|edge| first(edge).next().is_none()) {
            return None;
        }
        // The vertices from which an edge can be reached, over edges that let it through.
        let upstream = |edge: usize, lets_through: &dyn Fn(&usize) -> bool| {
            let mut upstream = Vertices::none(count);
            let mut found: Vec<usize> = [edge].into_iter().filter(lets_through).collect();
            while let Some(edge) = found.pop() {
                let vertex = edges[edge].parts.from.vertex;
                if upstream.insert(vertex) {
                    found.extend(into[vertex].iter().copied().filter(lets_through));
                }
            }
            upstream
        };
        let above: Vec<Vertices> = (0..edges.len()).map(|edge| upstream(edge, &|_| true)).collect();
        let stops = (0..edges.len()).map(|edge| upstream(edge, &|edge| !buffered[*edge])).collect();
        let needs = |edge: usize| {
            let mut needs = Vertices::none(count);
            first(edge).for_each(|first| needs.add_all(&above[first]));
            needs
        };
        let needs = (0..edges.len()).map(needs).collect();
        let depths = above.iter().map(Vertices::len).collect();
        Some(Self { stops, needs, depths })
    }

    fn depth(&self, edge: usize) -> usize {
        self.depths[edge]
    }

    fn is_held(&self, edge: usize) -> bool {
        !self.needs[edge].is_empty()
    }

    fn waits_for(&self, held: usize, other: usize) -> bool {
        self.needs[held].meets(&self.stops[other])
    }

    /// A circle among the held edges.
    fn circle(&self, held: &[usize]) -> Option<Circle> {
        held.iter().find_map(|&start| self.way_back(held, start))
    }

    /// The shortest way from an edge over edges that it waits for back to itself.
    fn way_back(&self, held: &[usize], start: usize) -> Option<Circle> {
        // Where each edge was reached from.
        let mut reached: HashMap<usize, usize> = HashMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(edge) = next.pop_front() {
            for &other in held.iter().filter(|&&other| self.waits_for(edge, other)) {
                if other == start {
                    let back = std::iter::successors(Some(edge), |edge| reached.get(edge).copied());
                    let mut circle: Circle = back.collect();
                    circle.reverse();
                    return Some(circle);
                }
                reached.entry(other).or_insert_with(|| {
                    next.push_back(other);
                    edge
                });
            }
        }
        None
    }
}

/// A set of vertices.
struct Vertices(Vec<u64>);

impl Vertices {
    fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// False when it was there already.
    fn insert(&mut self, vertex: usize) -> bool {
        let (word, bit) = (&mut self.0[vertex / 64], 1 << (vertex % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn add_all(&mut self, others: &Vertices) {
        self.0.iter_mut().zip(&others.0).for_each(|(word, other)| *word |= other);
    }

    fn meets(&self, others: &Vertices) -> bool {
        self.0.iter().zip(&others.0).any(|(word, other)| word & other != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}
