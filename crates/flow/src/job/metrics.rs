//! What a job says of itself: per vertex and per edge, at any time.

use super::core::JobCore;
use crate::counters::{Counters, SpoolCounters};
use crate::dag::Graph;
use crate::edge::Forwarding;
use std::sync::Arc;
use std::time::Duration;

/// What a job has done so far; see [`Job::metrics`](crate::Job::metrics).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobMetrics {
    /// Its vertices, in the order in which they were added.
    pub vertices: Vec<VertexMetrics>,
    /// Its edges, in the order in which they were added.
    pub edges: Vec<EdgeMetrics>,
}

/// What the processors of a vertex have done so far, all together.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VertexMetrics {
    /// Its name.
    pub name: String,
    /// How many processors it has here.
    pub processors: usize,
    /// Items taken from all its edges.
    pub items_in: u64,
    /// Items emitted to all its edges.
    pub items_out: u64,
    /// How long its processors were at work.
    pub busy: Duration,
    /// How long they waited for room in the queues behind them.
    pub blocked: Duration,
    /// How long they waited for items, or for their own waker.
    pub idle: Duration,
    /// Calls of its processors.
    pub calls: u64,
    /// Calls that took longer than a cooperative processor's should, a millisecond; none where a processor may block.
    pub long_calls: u64,
    /// The longest call.
    pub longest_call: Duration,
    /// Items that were dropped because their windows were closed when they came; see [`event_time`](crate::event_time).
    pub late_items: u64,
    /// Bytes that its groups, joins, sorts and windows take, about, as of the last calls of its processors.
    pub state_bytes: u64,
}

impl VertexMetrics {
    /// Which part of their time its processors were busy, blocked and idle; what is missing to 1 they waited for a worker, or were done.
    pub fn shares(&self, elapsed: Duration) -> [f64; 3] {
        let whole = elapsed.as_secs_f64() * self.processors as f64;
        let share = |part: Duration| if whole > 0.0 { (part.as_secs_f64() / whole).min(1.0) } else { 0.0 };
        [share(self.busy), share(self.blocked), share(self.idle)]
    }
}

/// What an edge has carried so far.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EdgeMetrics {
    /// The vertex that feeds it.
    pub from: String,
    /// The vertex that it feeds.
    pub to: String,
    /// Who gets an item.
    pub forwarding: Forwarding,
    /// Its place in the order of the consumer's edges.
    pub priority: i32,
    /// Items that its consumers took.
    pub items: u64,
    /// Items in its queues, as of the last turns of its consumers.
    pub queued: u64,
    /// How many items its queues hold.
    pub capacity: u64,
    /// How full the queues before one of its consumers were at most, 0 to 1: where it is near 1, the consumers hold the producers up.
    pub fullest: f64,
    /// Items that its producers emitted and that found no room.
    pub held: u64,
    /// Items that wait in its buffer.
    pub buffered: u64,
    /// Bytes that its buffer has written to disk.
    pub spilled_bytes: u64,
}

impl EdgeMetrics {
    /// How full its queues are, 0 to 1.
    pub fn fill(&self) -> f64 {
        if self.capacity == 0 { 0.0 } else { (self.queued as f64 / self.capacity as f64).min(1.0) }
    }
}

/// The counters of all processors and buffers of a job.
pub(super) struct JobCounters {
    /// The names of the vertices.
    pub(super) names: Vec<Arc<str>>,
    /// By vertex.
    pub(super) processors: Vec<Vec<Arc<Counters>>>,
    /// By edge.
    pub(super) spools: Vec<Arc<SpoolCounters>>,
}

impl JobCounters {
    /// Returns the vertex whose state is the largest, and its bytes.
    pub(super) fn largest_state(&self) -> (String, usize) {
        let of_vertex = |counters: &Vec<Arc<Counters>>| -> u64 {
            counters.iter().map(|counters| counters.state_bytes.get()).sum()
        };
        let vertices = self.names.iter().zip(self.processors.iter().map(of_vertex));
        let largest = vertices.max_by_key(|(_, bytes)| *bytes);
        largest.map(|(name, bytes)| (name.to_string(), bytes as usize)).unwrap_or_default()
    }
}

impl JobCore {
    /// What the counters say at the time `now`.
    pub(super) fn metrics(&self, graph: &Graph, now: Duration) -> JobMetrics {
        let Some(counters) = self.counters() else {
            return JobMetrics { vertices: Vec::new(), edges: Vec::new() };
        };
        let vertices = graph.vertices.iter().zip(&counters.processors);
        let edges = graph.edges.iter().zip(&counters.spools);
        JobMetrics {
            vertices: vertices.map(|(vertex, counters)| of_vertex(&vertex.name, counters, now)).collect(),
            edges: edges
                .map(|(edge, spool)| {
                    let (from, to) = (edge.parts.from, edge.parts.to);
                    let (producers, consumers) =
                        (&counters.processors[from.vertex], &counters.processors[to.vertex]);
                    let inbound = || consumers.iter().map(|counters| &counters.inbound[to.ordinal]);
                    let outbound = producers.iter().map(|counters| &counters.outbound[from.ordinal]);
                    let is_buffered = edge.parts.is_buffered();
                    let lanes = if is_buffered { consumers.len() } else { 0 };
                    // A consumer reads a queue per producer, or the one behind its buffer.
                    let before = edge.parts.queue_size * if is_buffered { 1 } else { producers.len() };
                    let fullest = inbound().map(|end| end.fullest.get()).max().unwrap_or(0);
                    EdgeMetrics {
                        from: graph.vertices[from.vertex].name.to_string(),
                        to: graph.vertices[to.vertex].name.to_string(),
                        forwarding: edge.parts.forwarding,
                        priority: edge.parts.priority,
                        items: inbound().map(|end| end.items.get()).sum(),
                        queued: inbound().map(|end| end.waiting.get()).sum(),
                        capacity: ((producers.len() * consumers.len() + lanes) * edge.parts.queue_size)
                            as u64,
                        fullest: fullest as f64 / before.max(1) as f64,
                        held: outbound.map(|end| end.waiting.get()).sum(),
                        buffered: spool.waiting(),
                        spilled_bytes: spool.spilled_bytes(),
                    }
                })
                .collect(),
        }
    }
}

fn of_vertex(name: &str, counters: &[Arc<Counters>], now: Duration) -> VertexMetrics {
    let sum = |count: fn(&Counters) -> u64| counters.iter().map(|counters| count(counters)).sum::<u64>();
    let rests = counters.iter().map(|counters| counters.rest_so_far(now));
    let (idle, blocked) = rests.fold((0, 0), |(idle, blocked), rest| (idle + rest.0, blocked + rest.1));
    VertexMetrics {
        name: name.to_owned(),
        processors: counters.len(),
        items_in: sum(|counters| counters.inbound.iter().map(|end| end.items.get()).sum()),
        items_out: sum(|counters| counters.outbound.iter().map(|end| end.items.get()).sum()),
        busy: Duration::from_nanos(sum(|counters| counters.busy.get())),
        blocked: Duration::from_nanos(sum(|counters| counters.blocked.get()) + blocked),
        idle: Duration::from_nanos(sum(|counters| counters.idle.get()) + idle),
        calls: sum(|counters| counters.calls.get()),
        long_calls: sum(|counters| counters.long_calls.get()),
        longest_call: Duration::from_nanos(
            counters.iter().map(|counters| counters.longest_call.get()).max().unwrap_or(0),
        ),
        late_items: sum(|counters| counters.late.get()),
        state_bytes: sum(|counters| counters.state_bytes.get()),
    }
}
