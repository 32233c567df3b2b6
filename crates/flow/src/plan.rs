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
    let waits = Waits::of(graph);
    let mut held: Vec<usize> = (0..graph.edges.len())
        .filter(|&edge| waits.is_held(edge) && !graph.edges[edge].parts.is_buffered())
        .collect();
    let mut chosen = Vec::new();
    while let Some(circle) = waits.shortest_circle(&held) {
        // The one that its consumer takes last: the others are then needed sooner.
        let priority = |edge: &usize| graph.edges[*edge].parts.priority;
        let Some(edge) = circle.iter().copied().max_by_key(priority) else { break };
        held.retain(|other| *other != edge);
        chosen.push((edge, circle));
    }
    chosen
}

struct Waits {
    /// For every edge: the edges into the same vertex that are consumed before it.
    first: Vec<Vec<usize>>,
    /// For every edge: which vertices lie above it.
    above: Vec<Vec<bool>>,
}

impl Waits {
    fn of(graph: &Graph) -> Self {
        let edges = &graph.edges;
        let first = edges
            .iter()
            .map(|held| {
                let before = |edge: &usize| {
                    let parts = &edges[*edge].parts;
                    parts.to.vertex == held.parts.to.vertex && parts.priority < held.parts.priority
                };
                (0..edges.len()).filter(before).collect()
            })
            .collect();
        let above = edges
            .iter()
            .map(|edge| {
                let mut above = vec![false; graph.vertices.len()];
                let mut found = vec![edge.parts.from.vertex];
                while let Some(vertex) = found.pop() {
                    if !std::mem::replace(&mut above[vertex], true) {
                        let into = edges.iter().filter(|edge| edge.parts.to.vertex == vertex);
                        found.extend(into.map(|edge| edge.parts.from.vertex));
                    }
                }
                above
            })
            .collect();
        Self { first, above }
    }

    fn is_held(&self, edge: usize) -> bool {
        !self.first[edge].is_empty()
    }

    fn waits_for(&self, held: usize, other: usize) -> bool {
        let common = |first: &usize| self.above[*first].iter().zip(&self.above[other]).any(|(a, b)| *a && *b);
        self.first[held].iter().any(common)
    }

    /// The shortest circle among the held edges.
    fn shortest_circle(&self, held: &[usize]) -> Option<Circle> {
        held.iter().filter_map(|&start| self.way_back(held, start)).min_by_key(Vec::len)
    }

    /// The shortest way from an edge over edges that it waits for back to itself.
    fn way_back(&self, held: &[usize], start: usize) -> Option<Circle> {
        let mut ways = std::collections::VecDeque::from([vec![start]]);
        let mut seen = std::collections::HashSet::new();
        while let Some(way) = ways.pop_front() {
            let last = *way.last()?;
            for &next in held.iter().filter(|&&next| self.waits_for(last, next)) {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    ways.push_back(way.iter().copied().chain([next]).collect());
                }
            }
        }
        None
    }
}
