//! Maps, lists, topics and queues of the grid as sources and sinks, against what they hold.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_connect::{channel, grid, memory};
use filbert_flow::processors::{Collected, collect, map};
use filbert_flow::{Dag, DagBuilder};
use filbert_grid::Grid;
use filbert_pool::{Stages, simulate};
use filbert_wire::{FromData, ToData};
use std::time::{Duration, Instant};

/// Entries of map `from`, their values plus one, into map `to`, by the partitions of the keys.
fn map_to_map(member: &Grid, queue_size: usize) -> Dag {
    let mut dag = DagBuilder::new("map to map");
    let from = dag.vertex("from", grid::map::<i64, String>(member, "from"));
    let louder = dag.vertex("louder", map(|(key, value): (i64, String)| (key * 3, value + "!")));
    let to = dag.vertex("to", grid::write_map::<i64, String>(member, "to"));
    dag.edge(from.output().to(louder.input()).queue_size(queue_size));
    let edge = louder.output().to(to.input()).queue_size(queue_size);
    dag.edge(edge.partitioned_with(|(key, _)| grid::partition_of(key)));
    dag.build().unwrap()
}

fn fill(member: &Grid, count: i64) {
    let entries: Vec<(i64, String)> = (0..count).map(|key| (key, format!("value {key}"))).collect();
    member.typed_map("from").put_all(entries.iter().map(|(key, value)| (key, value))).wait().unwrap();
}

fn check(member: &Grid, count: i64) {
    let mut entries = member.typed_map::<i64, String>("to").entries().wait().unwrap();
    entries.sort();
    let expected: Vec<(i64, String)> = (0..count).map(|key| (key * 3, format!("value {key}!"))).collect();
    assert_eq!(entries, expected);
}

#[test]
fn a_map_is_read_and_another_written_by_partitions() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    fill(&member, 20_000);
    map_to_map(&member, 1024).submit(&stages).unwrap().wait().unwrap();
    check(&member, 20_000);
}

#[test]
fn a_map_is_read_and_another_written_in_simulation() {
    simulate::seeds("a_map_is_read_and_another_written_in_simulation", 0..30, |seed| {
        let stages = Stages::simulated(seed);
        let member = Grid::new(&stages);
        fill(&member, 300);
        map_to_map(&member, 1 + (seed % 4) as usize).submit(&stages).unwrap().wait().unwrap();
        check(&member, 300);
    });
}

#[test]
fn writes_to_a_key_keep_their_order() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    let mut dag = DagBuilder::new("order");
    let numbers = dag.vertex("numbers", memory::range(0..100_000));
    dag.local_parallelism(&numbers, 1);
    let entries = dag.vertex("entries", map(|n: u64| ((n % 100) as i64, n as i64)));
    dag.local_parallelism(&entries, 1);
    let sink = dag.vertex("sink", grid::write_map::<i64, i64>(&member, "last"));
    dag.edge(numbers.output().to(entries.input()));
    dag.edge(entries.output().to(sink.input()).partitioned_with(|(key, _)| grid::partition_of(key)));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    let mut last = member.typed_map::<i64, i64>("last").entries().wait().unwrap();
    last.sort();
    assert_eq!(last, (0..100).map(|key| (key, 99_900 + key)).collect::<Vec<_>>());
}

#[test]
fn a_value_of_another_type_fails_the_job_with_the_maps_name() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    member.typed_map::<i64, i64>("from").set(&1, &2).wait().unwrap();
    let said = map_to_map(&member, 8).submit(&stages).unwrap().wait().unwrap_err().to_string();
    assert!(said.contains("map \"from\"") && said.contains("\"from\" failed"), "{said}");
}

#[test]
fn a_list_is_copied_in_order() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    let items: Vec<_> = (0..3_000_i64).map(|n| n.to_data().unwrap()).collect();
    member.list("from").add_all(items.clone()).wait().unwrap();
    let mut dag = DagBuilder::new("copy");
    let from = dag.vertex("from", grid::list::<i64>(&member, "from"));
    let to = dag.vertex("to", grid::write_list::<i64>(&member, "to"));
    dag.edge(from.output().to(to.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    assert_eq!(member.list("to").get_all().wait().unwrap(), items);
}

#[test]
fn a_topic_is_heard_until_the_job_is_cancelled() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    let (sink, receiver) = channel::sink(1024);
    let mut dag = DagBuilder::new("relay");
    let from = dag.vertex("from", grid::topic::<i64>(&member, "from"));
    let to = dag.vertex("to", grid::write_topic::<i64>(&member, "to"));
    dag.edge(from.output().to(to.input()).all_to_one());
    let relay = dag.build().unwrap().submit(&stages).unwrap();
    let mut dag = DagBuilder::new("listen");
    let from = dag.vertex("from", grid::topic::<i64>(&member, "to"));
    let sink = dag.vertex("sink", sink);
    dag.local_parallelism(&sink, 1);
    dag.edge(from.output().to(sink.input()));
    let listen = dag.build().unwrap().submit(&stages).unwrap();
    // Published until it is heard: jobs begin to listen some time after they were submitted.
    let deadline = Instant::now() + Duration::from_secs(60);
    while receiver.is_empty() {
        member.topic("from").publish(&(-1_i64).to_data().unwrap()).wait().unwrap();
        assert!(Instant::now() < deadline, "nothing is heard");
        // sleeps because what was published takes its way through three stages.
        std::thread::sleep(Duration::from_millis(1));
    }
    for n in 0..2_000_i64 {
        member.topic("from").publish(&n.to_data().unwrap()).wait().unwrap();
    }
    let heard: Vec<i64> = receiver.iter().filter(|n| *n >= 0).take(2_000).collect();
    assert_eq!(heard, (0..2_000).collect::<Vec<_>>());
    relay.cancel();
    listen.cancel();
    assert!(relay.wait().is_err() && listen.wait().is_err());
}

#[test]
fn a_queue_feeds_a_job_and_a_cancelled_job_takes_no_more() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    let mut dag = DagBuilder::new("relay");
    let from = dag.vertex("from", grid::queue::<i64>(&member, "from"));
    let to = dag.vertex("to", grid::write_queue::<i64>(&member, "to"));
    dag.edge(from.output().to(to.input()).all_to_one());
    let relay = dag.build().unwrap().submit(&stages).unwrap();
    let (from, to) = (member.queue("from"), member.queue("to"));
    for n in 0..500_i64 {
        from.put(&n.to_data().unwrap()).wait().unwrap();
    }
    let taken: Vec<i64> = (0..500).map(|_| i64::from_data(&to.take().wait().unwrap()).unwrap()).collect();
    assert_eq!(taken, (0..500).collect::<Vec<_>>());
    relay.cancel();
    assert!(relay.wait().is_err());
    from.put(&7_i64.to_data().unwrap()).wait().unwrap();
    assert_eq!(from.poll(Duration::ZERO).wait().unwrap(), Some(7_i64.to_data().unwrap()));
}

#[test]
fn an_empty_map_and_an_empty_list_end_at_once() {
    let stages = Stages::start().unwrap();
    let member = Grid::new(&stages);
    let mut dag = DagBuilder::new("empty");
    let (entries, items) = (Collected::new(), Collected::new());
    let map = dag.vertex("map", grid::map::<i64, i64>(&member, "none"));
    let list = dag.vertex("list", grid::list::<i64>(&member, "none"));
    let map_sink = dag.vertex("map sink", collect(&entries));
    let list_sink = dag.vertex("list sink", collect(&items));
    dag.edge(map.output().to(map_sink.input()));
    dag.edge(list.output().to(list_sink.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    assert!(entries.take().is_empty() && items.take().is_empty());
}
