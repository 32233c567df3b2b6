//! From a graph to tasklets: how many processors each vertex has, the queues of every edge, the processors themselves.
//!
//! On a thread of the stage `mixed`: suppliers may look at files or ask other systems. All processors are made before the first one
//! runs, so that a supplier that fails leaves nothing behind.

use super::core::{JobCore, Live};
use super::error::{JobError, JobFailure};
use super::memory::JobMemory;
use super::metrics::JobCounters;
use super::run::Running;
use super::settings::JobSettings;
use crate::counters::{Counters, SpoolCounters};
use crate::dag::maker::EndsOfProcessor;
use crate::dag::{Dag, Graph};
use crate::edge::wiring::{Buffer, Size};
use crate::processor::Share;
use crate::tasklet::{Conduct, Seat};
use filbert_pool::{Stages, caught};
use std::cell::Cell;
use std::sync::Arc;

/// Has the job started.
pub(super) fn begin(
    core: &Arc<JobCore>,
    dag: &Dag,
    stages: &Stages,
    settings: JobSettings,
) -> Result<(), JobError> {
    let mut live = core.live();
    let (dag, on) = (dag.clone(), stages.clone());
    let started = stages.mixed().submit("start job", move || {
        // Dropped after the failure is noted: a tasklet that goes without it looks like a cancellation.
        let mut made = Vec::new();
        match start(&dag.inner, &on, &settings, &live, &mut made) {
            Ok(()) => live.core().running(),
            Err(failure) => live.core().fail(failure),
        }
        // One by one: two drops of user code that panic inside one drop would end the process.
        for tasklet in made {
            let _ = caught(|| drop(tasklet));
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

fn start(
    graph: &Graph,
    stages: &Stages,
    settings: &JobSettings,
    live: &Live,
    running: &mut Vec<(Running, bool)>,
) -> Result<(), JobFailure> {
    let shares = shares(graph, stages);
    let Wired { mut ends, spools, spool_counters } = wire(graph, stages, settings, &shares, live)?;
    let names = graph.vertices.iter().map(|vertex| Arc::clone(&vertex.name)).collect();
    let mut counters = JobCounters { names, processors: Vec::new(), spools: spool_counters };
    let memory = JobMemory::new(settings.memory_bytes, settings.memory.clone());
    for (index, spool, edge) in spools {
        running.push((Running::new(spool, edge, index, live.core().live()), true));
    }
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
            memory: Arc::clone(&memory),
        });
        let seats: Vec<Seat> = seats.collect();
        counters.processors.push(seats.iter().map(|seat| Arc::clone(&seat.counters)).collect());
        let at = Cell::new(0);
        let made = match caught(|| parts.maker.tasklets(*share, seats, &at)) {
            Ok(Ok(made)) => made,
            Ok(Err(failure)) => return Err(failed(at.get(), failure.to_string(), false)),
            Err(message) => return Err(failed(at.get(), message, true)),
        };
        if let Some(closer) = made.closer {
            live.core().add_closer(&parts.name, closer);
        }
        for (index, conduct) in made.tasklets.into_iter().enumerate() {
            let tasklet = Running::new(conduct, Arc::clone(&parts.name), index, live.core().live());
            running.push((tasklet, parts.maker.is_cooperative()));
        }
    }
    live.core().set_counters(counters);
    for (tasklet, is_cooperative) in running.drain(..) {
        let (vertex, index) = tasklet.place();
        if let Err(refused) = tasklet.spawn(stages, is_cooperative) {
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

/// All edges of a job.
struct Wired {
    /// The ends, by vertex and processor.
    ends: Vec<Vec<EndsOfProcessor>>,
    /// The buffers of buffered edges, with the consumer's index and the name of the edge.
    spools: Vec<(usize, Box<dyn Conduct>, Arc<str>)>,
    /// What they count, by edge.
    spool_counters: Vec<Arc<SpoolCounters>>,
}

fn wire(
    graph: &Graph,
    stages: &Stages,
    settings: &JobSettings,
    shares: &[Share],
    live: &Live,
) -> Result<Wired, JobFailure> {
    let none = |share: &Share| (0..share.count).map(|_| EndsOfProcessor::default()).collect();
    let spool_counters = graph.edges.iter().map(|_| Arc::default()).collect();
    let mut wired = Wired { ends: shares.iter().map(none).collect(), spools: Vec::new(), spool_counters };
    // By ordinal on both sides: the stores are made in that order.
    let mut edges: Vec<_> =
        graph.edges.iter().enumerate().map(|(number, edge)| (number, edge, None)).collect();
    edges.sort_by_key(|(_, edge, _)| edge.parts.from.ordinal);
    for (number, edge, items) in &mut edges {
        let (from, to) = (edge.parts.from.vertex, edge.parts.to.vertex);
        let name: Arc<str> = format!("{} -> {}", graph.vertices[from].name, graph.vertices[to].name).into();
        let buffer = edge.parts.buffer.map(|memory| Buffer {
            memory,
            folder: settings.spill_folder.clone(),
            stages: stages.downgrade(),
            edge: Arc::clone(&name),
            counters: Arc::clone(&wired.spool_counters[*number]),
            job: Arc::clone(live.core()),
        });
        let size = Size {
            producers: shares[from].count,
            consumers: shares[to].count,
            queue: edge.parts.queue_size,
            mark: edge.parts.high_water_mark,
            chosen: stages.clock().random_below(shares[to].count),
            is_encoded: edge.parts.is_distributed && settings.encode_distributed,
            buffer,
        };
        // Queues of a size that fits no memory.
        let made = caught(|| edge.wire.ends(size)).map_err(|message| JobFailure {
            vertex: name.to_string(),
            index: 0,
            message,
            panicked: true,
        })?;
        for (processor, bucket) in wired.ends[from].iter_mut().zip(made.buckets) {
            processor.outputs.push(bucket);
        }
        for (index, spool) in made.spools.into_iter().enumerate() {
            wired.spools.push((index, spool, Arc::clone(&name)));
        }
        *items = Some(made.items);
    }
    edges.sort_by_key(|(_, edge, _)| edge.parts.to.ordinal);
    for (_, edge, items) in edges {
        for (processor, items) in wired.ends[edge.parts.to.vertex].iter_mut().zip(items.unwrap_or_default()) {
            processor.inputs.push(items);
            processor.priorities.push(edge.parts.priority);
        }
    }
    Ok(wired)
}
