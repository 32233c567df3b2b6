//! Which edges must be buffered so that no job hangs.
//!
//! An edge is *held* while its consumer has edges of a lower priority number to consume first. A held edge fills up, then its producer can not
//! emit, on this edge or any other, and so on upstream: it stops everything that it comes from. So the consumer's first edges must be
//! able to end without anything that the held edge stops. For a held edge `h`, let `above(h)` be the vertex that feeds it and
//! all vertices upstream of that. The held edge `h` at vertex `v` is released when every edge `f` into `v` with a lower number
//! has ended, and that takes all of `above(f)`. So `h` *waits for* every held edge `g` with `above(f)` and `above(g)` in common: while
//! `g` is held, some of what feeds `f` stands still. If an edge waits, over any number of others, for itself, the job may hang.
//!
//! The simplest case is a fork whose branches rejoin with different priorities (`h` waits for `h`); two joins that consume two sources
//! in opposite order wait for each other. A buffered edge stops nobody: buffering one edge of every circle
//! breaks them all. Edges that wait for themselves at once go first, since they must be buffered in any case.

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
    let Some(waits) = Waits::of(graph) else { return Vec::new() };
    let parts = |edge: &usize| &graph.edges[*edge].parts;
    let held = (0..graph.edges.len()).filter(|edge| waits.is_held(*edge) && !parts(edge).is_buffered());
    let (alone, mut others): (Vec<usize>, Vec<usize>) = held.partition(|&edge| waits.waits_for(edge, edge));
    let mut chosen: Vec<(usize, Circle)> = alone.into_iter().map(|edge| (edge, vec![edge])).collect();
    while let Some(circle) = waits.circle(&others) {
        // The one that its consumer takes last: the others are then needed sooner.
        let Some(edge) = circle.iter().copied().max_by_key(|edge| parts(edge).priority) else { break };
        others.retain(|other| *other != edge);
        chosen.push((edge, circle));
    }
    chosen
}

struct Waits {
    /// For every edge: the vertices above it.
    above: Vec<Vertices>,
    /// For every edge: all vertices above the edges that are consumed before it; none for an edge that is not held.
    needs: Vec<Vertices>,
}

impl Waits {
    /// None when no edge is held.
    fn of(graph: &Graph) -> Option<Self> {
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
        let above = |edge: usize| {
            let mut above = Vertices::none(count);
            let mut found = vec![edges[edge].parts.from.vertex];
            while let Some(vertex) = found.pop() {
                if above.insert(vertex) {
                    found.extend(into[vertex].iter().map(|edge| edges[*edge].parts.from.vertex));
                }
            }
            above
        };
        let above: Vec<Vertices> = (0..edges.len()).map(above).collect();
        let needs = |edge: usize| {
            let mut needs = Vertices::none(count);
            first(edge).for_each(|first| needs.add_all(&above[first]));
            needs
        };
        let needs = (0..edges.len()).map(needs).collect();
        Some(Self { above, needs })
    }

    fn is_held(&self, edge: usize) -> bool {
        !self.needs[edge].is_empty()
    }

    fn waits_for(&self, held: usize, other: usize) -> bool {
        self.needs[held].meets(&self.above[other])
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
}
