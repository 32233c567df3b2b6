//! The journal of a map as a source: replaying it gives the map.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

use filbert_connect::grid::{self, JournalSource, MapChange};
use filbert_flow::processors::for_each;
use filbert_flow::{Dag, DagBuilder, Job, JobStatus, Many, MetaSupplier, Processor};
use filbert_grid::{Grid, GridSettings, JournalSettings, MapEventKind, MapSettings, Registry};
use filbert_pool::{Stages, simulate};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A grid whose maps `j*` have journals.
fn member(stages: &Stages, capacity: u64) -> Grid {
    let mut settings = GridSettings::default();
    let journal = Some(JournalSettings { capacity, ..Default::default() });
    settings.maps.set("j*", MapSettings { journal, ..Default::default() });
    Grid::with(stages, settings, Registry::new())
}

/// What came out of a job that is cancelled in the end.
type Changes = Arc<Mutex<Vec<MapChange<i64, i64>>>>;

fn taken(changes: &Changes) -> Vec<MapChange<i64, i64>> {
    std::mem::take(&mut *changes.lock().unwrap())
}

/// A sink that adds to them.
fn add_to(
    changes: &Changes,
) -> impl MetaSupplier<Processor: Processor<In = Many<MapChange<i64, i64>>, Out = ()>> + use<> {
    let changes = Arc::clone(changes);
    for_each(move |change| changes.lock().unwrap().push(change))
}

fn job(source: JournalSource<i64, i64>) -> (Dag, Changes) {
    let list = Changes::default();
    let mut dag = DagBuilder::new("journal");
    let changes = dag.vertex("changes", source);
    let sink = dag.vertex("sink", add_to(&list));
    dag.edge(changes.output().to(sink.input()).partitioned_by(|change| change.partition).queue_size(3));
    (dag.build().unwrap(), list)
}

/// Does what the changes say, in the order of each partition.
fn replay(mut changes: Vec<MapChange<i64, i64>>) -> BTreeMap<i64, i64> {
    changes.sort_by_key(|change| (change.partition.number(), change.sequence));
    let mut replayed = BTreeMap::new();
    for change in changes {
        assert_eq!((replayed.get(&change.key), change.lost_before), (change.old_value.as_ref(), 0));
        match change.value {
            Some(value) => replayed.insert(change.key, value),
            None => replayed.remove(&change.key),
        };
    }
    replayed
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

fn counted(job: &Job) -> u64 {
    job.metrics().vertices.iter().find(|vertex| vertex.name == "sink").map_or(0, |sink| sink.items_in)
}

#[test]
fn replaying_a_live_journal_gives_the_map() {
    let stages = Stages::start().unwrap();
    let member = member(&stages, 1_000_000);
    let map = member.typed_map::<i64, i64>("j");
    for key in 0..500 {
        map.set(&key, &-1).wait().unwrap();
    }
    let (dag, list) = job(grid::journal(&member, "j"));
    let job = dag.submit(&stages).unwrap();
    for round in 0..20 {
        for key in 0..500 {
            match (key + round) % 7 {
                0 => drop(map.delete(&key).wait().unwrap()),
                _ => map.set(&key, &(key * round)).wait().unwrap(),
            }
        }
    }
    let expected: BTreeMap<i64, i64> = map.entries().wait().unwrap().into_iter().collect();
    let written: u64 = filbert_wire::PartitionId::all()
        .map(|partition| map.raw().span_of_journal(partition).wait().unwrap().next)
        .sum();
    wait_until("reading", || counted(&job) == written);
    job.cancel();
    assert!(job.wait().is_err());
    assert_eq!(replay(taken(&list)), expected);
}

#[test]
fn replaying_gives_the_map_in_simulation() {
    simulate::seeds("replaying_gives_the_map_in_simulation", 0..40, |seed| {
        let stages = Stages::simulated(seed);
        let member = member(&stages, 100_000);
        let map = member.typed_map::<i64, i64>("j");
        let (dag, list) = job(grid::journal(&member, "j"));
        let job = dag.submit(&stages).unwrap();
        for step in 0..200_i64 {
            match (step * 7 + seed as i64) % 5 {
                0 => drop(map.delete(&(step % 20)).wait().unwrap()),
                1 => stages.simulation().unwrap().advance(Duration::from_micros(50)),
                _ => map.set(&(step % 23), &step).wait().unwrap(),
            }
        }
        stages.simulation().unwrap().settle();
        assert_eq!(job.status(), JobStatus::Running);
        job.cancel();
        assert!(job.wait().is_err());
        let expected: BTreeMap<i64, i64> = map.entries().wait().unwrap().into_iter().collect();
        assert_eq!(replay(taken(&list)), expected);
    });
}

#[test]
fn from_now_leaves_out_what_was_before() {
    let stages = Stages::simulated(1);
    let member = member(&stages, 100_000);
    let map = member.typed_map::<i64, i64>("j");
    (0..100).for_each(|key| map.set(&key, &1).wait().unwrap());
    let (dag, list) = job(grid::journal(&member, "j").from_now());
    let job = dag.submit(&stages).unwrap();
    stages.simulation().unwrap().settle();
    map.set(&5, &2).wait().unwrap();
    stages.simulation().unwrap().settle();
    job.cancel();
    assert!(job.wait().is_err());
    let changes = taken(&list);
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].kind, changes[0].old_value, changes[0].value),
        (MapEventKind::Updated, Some(1), Some(2))
    );
}

#[test]
fn a_reader_that_is_lapped_says_how_many_it_lost() {
    let stages = Stages::start().unwrap();
    let member = member(&stages, 2_000);
    let map = member.typed_map::<i64, i64>("j");
    let source = grid::journal::<i64, i64>(&member, "j");
    let lost = source.lost();
    let go_on = Arc::new(AtomicBool::new(false));
    let list = Changes::default();
    let mut dag = DagBuilder::new("lapped");
    let changes = dag.vertex("changes", source);
    let sink = {
        let (go_on, list) = (Arc::clone(&go_on), Arc::clone(&list));
        let add = move |change| {
            wait_until("the signal", || go_on.load(Ordering::Relaxed));
            list.lock().unwrap().push(change);
        };
        dag.vertex("sink", for_each(add))
    };
    dag.edge(changes.output().to(sink.input()).queue_size(1).high_water_mark(1));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    // What is overwritten before it begins to read is not lost to it.
    wait_until("start", || job.status() == JobStatus::Running);
    const WRITTEN: i64 = 50_000;
    for step in 0..WRITTEN {
        map.set(&(step % 300), &step).wait().unwrap();
    }
    go_on.store(true, Ordering::Relaxed);
    let is_through = || list.lock().unwrap().len() as u64 + lost.load(Ordering::Relaxed) == WRITTEN as u64;
    wait_until("reading", is_through);
    job.cancel();
    assert!(job.wait().is_err());
    let changes = taken(&list);
    let told: u64 = changes.iter().map(|change| change.lost_before).sum();
    assert!(told > 0);
    assert_eq!((told, changes.len() as u64 + told), (lost.load(Ordering::Relaxed), WRITTEN as u64));
}

#[test]
fn a_map_without_a_journal_and_one_that_is_destroyed_fail_the_job() {
    let stages = Stages::simulated(1);
    let member = member(&stages, 1_000);
    let said =
        job(grid::journal(&member, "plain")).0.submit(&stages).unwrap().wait().unwrap_err().to_string();
    assert!(said.contains("has no journal"), "{said}");
    let running = job(grid::journal(&member, "j")).0.submit(&stages).unwrap();
    stages.simulation().unwrap().settle();
    member.structures().destroy(filbert_grid::Service::Map, "j");
    let said = running.wait().unwrap_err().to_string();
    assert!(said.contains("map j was destroyed"), "{said}");
}
