//! Near caches: each change has a number, and what was not heard of is found by the numbers.

use crate::line::{Client, DEADLINE, Member, int};
use filbert_pool::Stages;
use filbert_wire::message::Raises;
use filbert_wire::messages::client::DestroyProxy;
use filbert_wire::messages::map::{
    self, AddNearCacheInvalidationListener, FetchNearCacheInvalidationMetadata, Invalidation,
};
use filbert_wire::{Data, ToData};
use std::sync::mpsc;
use uuid::Uuid;

fn listen(client: &mut Client) -> Uuid {
    let listener =
        AddNearCacheInvalidationListener { name: "m".into(), listener_flags: 256, local_only: true };
    client.call(&listener).unwrap().registration
}

fn set(client: &mut Client, key: i32) {
    let set = map::Set { name: "m".into(), key: int(key), value: int(0), thread_id: 1, ttl_ms: -1 };
    client.call(&set).unwrap();
}

/// The next invalidation, with the partition that the event says.
fn next(client: &mut Client) -> (Invalidation, i32) {
    let event = client.event();
    (AddNearCacheInvalidationListener::decode_event(&event).unwrap(), event.partition())
}

/// The last numbers of a map, by partition.
type Numbers = Vec<(i32, i64)>;

/// The last numbers of the map by partition, and the uuids of the partitions.
fn fetch(client: &mut Client) -> (Numbers, Vec<(i32, Uuid)>) {
    let request = FetchNearCacheInvalidationMetadata { names: vec!["m".into()], uuid: Uuid::nil() };
    let mut told = client.call(&request).unwrap();
    let (name, numbers) = told.name_partition_sequence_list.pop().unwrap();
    assert_eq!(&*name, "m");
    (numbers, told.partition_uuid_list)
}

fn number(client: &mut Client, partition: i32) -> i64 {
    let (numbers, _) = fetch(client);
    numbers.iter().find(|(found, _)| *found == partition).map(|(_, number)| *number).unwrap()
}

fn partition(key: &Data) -> i32 {
    key.partition().number() as i32
}

/// The numbers were counted where events are sent, so that what was dropped before left no gap; the metadata told of none at all.
#[test]
fn what_was_dropped_leaves_a_gap() {
    let stages = Stages::builder()
        .set("event.capacity", 2)
        .set("event.reserved_per_topic", 1)
        .set("event.offer_timeout_ms", 0)
        .start()
        .unwrap();
    let member = Member::on(stages.clone());
    let (mut hears, mut writer) = (member.client(), member.client());
    listen(&mut hears);
    set(&mut writer, 7);
    let first = next(&mut hears).0.sequence;
    assert_eq!(number(&mut hears, partition(&int(7))), first);

    // Something else takes all the room there is for events.
    let (begun, begins) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let other = stages.event().topic("other");
    let blocks = move || {
        begun.send(()).unwrap();
        let _ = waits.recv_timeout(DEADLINE);
    };
    let blocked = other.submit("block", blocks).unwrap();
    begins.recv_timeout(DEADLINE).unwrap();
    let queued: Vec<_> = (0..2).map(|_| other.submit("queue", || {}).unwrap()).collect();
    for _ in 0..3 {
        set(&mut writer, 7);
    }
    assert_eq!(number(&mut hears, partition(&int(7))), first + 3);
    go_on.send(()).unwrap();
    blocked.wait().unwrap();
    queued.into_iter().for_each(|event| event.wait().unwrap());

    set(&mut writer, 7);
    assert_eq!(next(&mut hears).0.sequence, first + 4, "three changes were not heard of");
}

/// A client that was cut off for a moment began at 1 again, below what it had seen, and took no notice of anything.
#[test]
fn a_client_that_comes_back_finds_the_numbers_further_on() {
    let member = Member::start();
    let (mut hears, mut writer) = (member.client(), member.client());
    listen(&mut hears);
    set(&mut writer, 7);
    let (event, found) = next(&mut hears);
    let (_, uuids) = fetch(&mut hears);
    assert_eq!((found, uuids.len()), (partition(&int(7)), 271));
    assert!(uuids.iter().all(|(_, uuid)| *uuid == event.partition_uuid));
    drop(hears);
    set(&mut writer, 7);
    let mut again = member.client();
    listen(&mut again);
    set(&mut writer, 7);
    assert_eq!(next(&mut again).0.sequence, event.sequence + 2);
    assert_eq!(fetch(&mut again).1, uuids, "they stay as long as the member");
}

/// A client forgets its own entry when it changes it; the late news of that made it forget what it had read since.
#[test]
fn a_change_says_which_client_made_it() {
    let member = Member::start();
    let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (mut hears, mut writer) = (member.client_named(Some(one)), member.client_named(Some(other)));
    listen(&mut hears);
    set(&mut hears, 1);
    set(&mut writer, 2);
    let entries = vec![(int(3), int(3))];
    writer.call(&map::PutAll { name: "m".into(), entries, trigger_map_loader: false }).unwrap();
    writer.call(&map::Delete { name: "m".into(), key: int(2), thread_id: 1 }).unwrap();
    hears.call(&map::Clear { name: "m".into() }).unwrap();
    let expected = [
        (Some(int(1)), one),
        (Some(int(2)), other),
        (Some(int(3)), other),
        (Some(int(2)), other),
        (None, one),
    ];
    for (key, source_uuid) in expected {
        let (event, _) = next(&mut hears);
        assert_eq!((event.key, event.source_uuid), (key, source_uuid));
    }
}

/// One event tells of the end of all entries; that it was one is seen by the numbers of every partition that lost some.
#[test]
fn the_end_of_all_entries_counts_where_there_were_some() {
    let member = Member::start();
    let mut hears = member.client();
    listen(&mut hears);
    let keys = 0..40;
    for key in keys.clone() {
        set(&mut hears, key);
        next(&mut hears);
    }
    let of_name = partition(&"m".to_data().unwrap());
    for evicts in [false, true] {
        let before = fetch(&mut hears).0;
        if evicts {
            hears.call(&map::EvictAll { name: "m".into() }).unwrap();
        } else {
            hears.call(&map::Clear { name: "m".into() }).unwrap();
        }
        let (event, found) = next(&mut hears);
        assert_eq!((event.key, found), (None, of_name));
        let after = fetch(&mut hears).0;
        for ((at, before), (_, after)) in before.into_iter().zip(after) {
            let entries = keys.clone().any(|key| partition(&int(key)) == at);
            assert_eq!(after - before, i64::from(entries) + i64::from(at == of_name), "partition {at}");
        }
        for key in keys.clone() {
            set(&mut hears, key);
            next(&mut hears);
        }
    }
}

/// Whoever has entries of a map that is gone is told, hears of the next map of that name, and finds no number twice.
#[test]
fn a_map_that_is_made_anew_goes_on() {
    let member = Member::start();
    let (mut hears, mut writer) = (member.client(), member.client());
    let destroy = || DestroyProxy { name: "m".into(), service_name: "hz:impl:mapService".into() };
    listen(&mut hears);
    set(&mut writer, 7);
    let first = next(&mut hears).0.sequence;
    writer.call(&destroy()).unwrap();
    assert_eq!(next(&mut hears).0.key, None);
    set(&mut writer, 7);
    let (event, _) = next(&mut hears);
    assert!(event.key == Some(int(7)) && event.sequence > first);
    // Nobody listens any more, so nothing of the map is left when it is destroyed.
    drop(hears);
    writer.call(&destroy()).unwrap();
    let mut again = member.client();
    let last = number(&mut again, partition(&int(7)));
    assert!(last > event.sequence, "{last} after {}", event.sequence);
    listen(&mut again);
    set(&mut writer, 7);
    // The end of the map before may be told only now.
    let of_key = std::iter::repeat_with(|| next(&mut again).0).find(|event| event.key.is_some());
    assert!(of_key.unwrap().sequence > last);
}
