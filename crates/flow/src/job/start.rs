//! From a graph to tasklets: how many processors each vertex has, the queues of every edge, the processors themselves.
//!
//! On a thread of the stage `mixed`: suppliers may look at files or ask other systems. All processors are made before the first one
//! runs, so that a supplier that fails leaves nothing behind.

use super::core::{JobCore, Live};
use super::error::{JobError, JobFailure};
use super::run::Running;
use crate::counters::Counters;
use crate::dag::maker::EndsOfProcessor;
use crate::dag::{Dag, Graph};
use crate::edge::wiring::Size;
use crate::processor::Share;
use crate::tasklet::Seat;
use filbert_pool::{Stages, caught};
use std::sync::Arc;

/// Has the job started.
pub(super) fn begin(core: &Arc<JobCore>, dag: &Dag, stages: &Stages) -> Result<(), JobError> {
    let mut live = core.live();
    let (dag, on) = (dag.clone(), stages.clone());
    let started = stages.mixed().submit("start job", move || {
        match start(&dag.inner, &on, &live) {
            Ok(()) => live.core().running(),
            Err(failure) => live.core().fail(failure),
        }
        live.done();
    });
    match started {
        Ok(started) => {
            started.detach();
            Ok(())
        }
        Err(cause) => Err(JobError::NotStarted { job: core.name().to_owned(), cause }),
    }
}

fn start(graph: &Graph, stages: &Stages, live: &Live) -> Result<(), JobFailure> {
    let shares = shares(graph, stages);
    let mut ends = ends(graph, stages, &shares);
    let mut running = Vec::new();
    for (vertex, share) in shares.iter().enumerate() {
        let parts = &graph.vertices[vertex];
        let failed = |index, message, panicked| JobFailure {
            vertex: parts.name.to_string(),
            index,
            message,
            panicked,
        };
        let seats = std::mem::take(&mut ends[vertex]).into_iter().enumerate().map(|(index, ends)| Seat {
            vertex: Arc::clone(&parts.name),
            share: Share { index, ..*share },
            counters: Arc::new(Counters::new(ends.inputs.len(), ends.outputs.len())),
            ends,
            clock: stages.clock(),
            stages: stages.downgrade(),
        });
        let seats = seats.collect();
        let made = match caught(|| parts.maker.tasklets(*share, seats)) {
            Ok(Ok(made)) => made,
            Ok(Err(failure)) => return Err(failed(0, failure.to_string(), false)),
            Err(message) => return Err(failed(0, message, true)),
        };
        if let Some(closer) = made.closer {
            live.core().add_closer(&parts.name, closer);
        }
        for (index, conduct) in made.tasklets.into_iter().enumerate() {
            let tasklet = Running::new(conduct, Arc::clone(&parts.name), index, live.core().live());
            running.push((tasklet, parts.maker.is_cooperative(), vertex, index));
        }
    }
    for (tasklet, is_cooperative, vertex, index) in running {
        if let Err(refused) = tasklet.spawn(stages, is_cooperative) {
            let vertex = graph.vertices[vertex].name.to_string();
            return Err(JobFailure { vertex, index, message: refused.to_string(), panicked: false });
        }
    }
    Ok(())
}

/// How many processors each vertex has.
fn shares(graph: &Graph, stages: &Stages) -> Vec<Share> {
    let workers = stages.flow().threads();
    let share = |parallelism: Option<usize>| Share { count: parallelism.unwrap_or(workers), ..Share::WHOLE };
    graph.vertices.iter().map(|vertex| share(vertex.parallelism)).collect()
}

/// The ends of all edges, by vertex and processor.
fn ends(graph: &Graph, stages: &Stages, shares: &[Share]) -> Vec<Vec<EndsOfProcessor>> {
    let none = |share: &Share| (0..share.count).map(|_| EndsOfProcessor::default()).collect();
    let mut ends: Vec<Vec<EndsOfProcessor>> = shares.iter().map(none).collect();
    // By ordinal on both sides: the stores are made in that order.
    let mut edges: Vec<_> = graph.edges.iter().map(|edge| (edge, None)).collect();
    edges.sort_by_key(|(edge, _)| edge.parts.from.ordinal);
    for (edge, items) in &mut edges {
        let (from, to) = (edge.parts.from.vertex, edge.parts.to.vertex);
        let size = Size {
            producers: shares[from].count,
            consumers: shares[to].count,
            queue: edge.parts.queue_size,
            mark: edge.parts.high_water_mark,
            chosen: stages.clock().random_below(shares[to].count),
        };
        let made = edge.wire.ends(size);
        for (processor, bucket) in ends[from].iter_mut().zip(made.buckets) {
            processor.outputs.push(bucket);
        }
        *items = Some(made.items);
    }
    edges.sort_by_key(|(edge, _)| edge.parts.to.ordinal);
    for (edge, items) in edges {
        for (processor, items) in ends[edge.parts.to.vertex].iter_mut().zip(items.unwrap_or_default()) {
            processor.inputs.push(items);
            processor.priorities.push(edge.parts.priority);
        }
    }
    ends
}
