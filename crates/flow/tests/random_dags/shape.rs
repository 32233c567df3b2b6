//! A random DAG as a value: drawn from a seed, built, and evaluated by hand.

use crate::node::{Alive, Effect, NodeProcessor, Trouble};
use filbert_flow::processors::{Collected, collect, iterate};
use filbert_flow::{Dag, DagBuilder, DagError, Edge, Failure, In, ItemCodec, Out, Rejoin, Share, Vertex};
use filbert_pool::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Link>,
    pub(crate) refuses: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) trouble: Trouble,
    pub(crate) parallelism: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Source { items: u64 },
    Inner(Effect),
    Sink,
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) priority: i32,
    pub(crate) queue: usize,
    pub(crate) mark: usize,
    pub(crate) pattern: usize,
    pub(crate) buffer: usize,
    /// It has a codec, so that a buffer spills to disk, beyond so many items in memory.
    pub(crate) spill: Option<usize>,
}

/// A shape that can run.
pub(crate) struct Built {
    pub(crate) dag: Dag,
    pub(crate) clock: Arc<OnceLock<Clock>>,
    alive: Arc<AtomicUsize>,
    sinks: Vec<(usize, Collected<u64>)>,
}

/// Items as bytes.
struct EightBytes;

impl ItemCodec<u64> for EightBytes {
    fn encode(&self, item: &u64, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        bytes.extend(item.to_le_bytes());
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<u64, Failure> {
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 32) as usize * bound) >> 32
    }
}

impl Node {
    pub(crate) fn name(&self) -> String {
        format!("v{}", self.number)
    }
}

impl Shape {
    pub(crate) fn random(seed: u64) -> Shape {
        let mut dice = Dice(seed);
        let sources = 1 + dice.below(2);
        let inner = 1 + dice.below(5);
        let mut nodes: Vec<Node> = Vec::new();
        let mut edges: Vec<Link> = Vec::new();
        for number in 0..sources + inner {
            let parallelism = 1 + dice.below(3);
            let kind = match number < sources {
                true => Kind::Source { items: dice.below(60) as u64 },
                false => {
                    Kind::Inner([Effect::Pass, Effect::Twice, Effect::Odd, Effect::Hoard][dice.below(4)])
                }
            };
            let trouble = match (kind, dice.below(24)) {
                (Kind::Source { .. }, _) => Trouble::None,
                (_, 0 | 1) => Trouble::Lazy,
                (_, 2) => Trouble::Sleeps,
                (_, 3 | 4) => Trouble::Closes { after: 1 + dice.below(20) },
                (_, 5) => Trouble::Fails { after: 1 + dice.below(30), panics: dice.below(2) == 0 },
                _ => Trouble::None,
            };
            if number >= sources {
                for from in distinct(&mut dice, number, 3) {
                    edges.push(Link::random(&mut dice, from, number));
                }
            }
            nodes.push(Node { number, kind, trouble, parallelism });
        }
        // What nobody takes from yet goes to a sink; now and then several vertices share one.
        for from in 0..nodes.len() {
            if edges.iter().any(|edge| edge.from == from) && dice.below(8) > 0 {
                continue;
            }
            let shared = nodes.iter().position(|node| node.kind == Kind::Sink).filter(|_| dice.below(2) == 0);
            let to = shared.unwrap_or(nodes.len());
            if to == nodes.len() {
                let parallelism = 1 + dice.below(2);
                nodes.push(Node { number: to, kind: Kind::Sink, trouble: Trouble::None, parallelism });
            }
            edges.push(Link::random(&mut dice, from, to));
        }
        Shape { nodes, edges, refuses: dice.below(4) == 0 }
    }

    pub(crate) fn build(&self) -> Result<Built, DagError> {
        let mut dag = DagBuilder::new("random");
        if self.refuses {
            dag.on_rejoin(Rejoin::Refuse);
        }
        let (clock, alive) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
        let mut sinks = Vec::new();
        let mut vertices = Vec::new();
        for node in &self.nodes {
            vertices.push(match node.kind {
                Kind::Source { items } => {
                    let vertex = dag.vertex(node.name(), iterate(move |share| share.part_of(0..items)));
                    dag.local_parallelism(&vertex, node.parallelism);
                    Place::Source(vertex)
                }
                Kind::Inner(effect) => {
                    let (trouble, clock, alive) = (node.trouble, Arc::clone(&clock), Arc::clone(&alive));
                    let make = move |_: Share| {
                        NodeProcessor::new(effect, trouble, Arc::clone(&clock), Alive::new(&alive))
                    };
                    let vertex = dag.vertex(node.name(), make);
                    dag.local_parallelism(&vertex, node.parallelism);
                    Place::Inner(vertex)
                }
                Kind::Sink => {
                    let list = Collected::new();
                    let vertex = dag.vertex(node.name(), collect(&list));
                    dag.local_parallelism(&vertex, node.parallelism);
                    sinks.push((node.number, list));
                    Place::Sink(vertex)
                }
            });
        }
        let mut used = vec![(0, 0); self.nodes.len()];
        for link in &self.edges {
            let output = vertices[link.from].output(used[link.from].1);
            let input = vertices[link.to].input(used[link.to].0);
            used[link.from].1 += 1;
            used[link.to].0 += 1;
            dag.edge(link.apply(output.to(input)));
        }
        Ok(Built { dag: dag.build()?, clock, alive, sinks })
    }

    /// Compares what the sinks found with what they should have.
    pub(crate) fn check(&self, found: &BTreeMap<usize, Vec<u64>>) {
        let expected = self.evaluate();
        for (sink, found) in found {
            let whole = &expected[*sink];
            if self.is_cut(*sink) {
                let mut rest = whole.iter();
                assert!(
                    found.iter().all(|item| rest.any(|other| other == item)),
                    "sink v{sink} has items that never were: {found:?}, possible: {whole:?}"
                );
            } else {
                assert_eq!(found, whole, "sink v{sink}");
            }
        }
    }

    /// What every vertex emits or, for sinks, gets: sorted.
    fn evaluate(&self) -> Vec<Vec<u64>> {
        let mut emitted: Vec<Vec<u64>> = Vec::new();
        for node in &self.nodes {
            let mut items = Vec::new();
            for edge in self.edges.iter().filter(|edge| edge.to == node.number) {
                let copies = if edge.is_broadcast() { node.parallelism } else { 1 };
                items.extend(emitted[edge.from].iter().flat_map(|item| std::iter::repeat_n(*item, copies)));
            }
            let mut result = match node.kind {
                Kind::Source { items } => (0..items).collect(),
                Kind::Inner(effect) => effect.apply(&items),
                Kind::Sink => items,
            };
            result.sort_unstable();
            emitted.push(result);
        }
        emitted
    }

    /// True when something before the sink closes early: then it gets a part of its items.
    fn is_cut(&self, vertex: usize) -> bool {
        matches!(self.nodes[vertex].trouble, Trouble::Closes { .. })
            || self.edges.iter().any(|edge| edge.to == vertex && self.is_cut(edge.from))
    }
}

/// A vertex of any kind.
enum Place {
    Source(Vertex<(), filbert_flow::Many<u64>>),
    Inner(Vertex<filbert_flow::Many<u64>, filbert_flow::Many<u64>>),
    Sink(Vertex<filbert_flow::Many<u64>, ()>),
}

impl Place {
    fn output(&self, ordinal: usize) -> Out<u64> {
        match self {
            Place::Source(vertex) => vertex.output_number(ordinal),
            Place::Inner(vertex) => vertex.output_number(ordinal),
            Place::Sink(_) => unreachable!("a sink emits nothing"),
        }
    }

    fn input(&self, ordinal: usize) -> In<u64> {
        match self {
            Place::Source(_) => unreachable!("a source takes nothing"),
            Place::Inner(vertex) => vertex.input_number(ordinal),
            Place::Sink(vertex) => vertex.input_number(ordinal),
        }
    }
}

impl Link {
    fn random(dice: &mut Dice, from: usize, to: usize) -> Link {
        Link {
            from,
            to,
            priority: dice.below(3) as i32 - 1,
            queue: 1 + dice.below(4),
            mark: 1 + dice.below(4),
            pattern: dice.below(6),
            buffer: dice.below(12),
            spill: (dice.below(2) == 0).then(|| 1 + dice.below(4)),
        }
    }

    fn is_broadcast(&self) -> bool {
        self.pattern == 3
    }

    fn apply(&self, edge: Edge<u64>) -> Edge<u64> {
        let edge = edge.priority(self.priority).queue_size(self.queue).high_water_mark(self.mark);
        let edge = match self.pattern {
            0 => edge.partitioned(),
            1 => edge.partitioned_by(|item| item % 5),
            2 => edge.all_to_one(),
            3 => edge.broadcast(),
            _ => edge,
        };
        let edge = match self.spill {
            Some(items) => edge.with_codec(EightBytes).spill_beyond(items),
            None => edge,
        };
        match (self.buffer, self.spill) {
            (0, Some(_)) => edge.buffered(EightBytes),
            (0, None) => edge.buffered_in_memory(10_000),
            _ => edge,
        }
    }
}

impl Built {
    /// What every sink has, sorted.
    pub(crate) fn found(&self) -> BTreeMap<usize, Vec<u64>> {
        let sorted = |list: &Collected<u64>| {
            let mut items = list.take();
            items.sort_unstable();
            items
        };
        self.sinks.iter().map(|(sink, list)| (*sink, sorted(list))).collect()
    }

    /// Processors that are not dropped yet.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

/// Up to `most` different numbers below `bound`.
fn distinct(dice: &mut Dice, bound: usize, most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..bound).collect();
    (0..1 + dice.below(most.min(bound))).map(|_| all.swap_remove(dice.below(all.len()))).collect()
}
