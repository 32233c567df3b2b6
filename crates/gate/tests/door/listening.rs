//! Listeners: what was asked for, nothing else, and after the answer.

use crate::line::{Client, Member, int};
use filbert_wire::message::Raises;
use filbert_wire::messages::client::{
    AddDistributedObjectListener, CreateProxy, DestroyProxy, DistributedObjectEvent,
    RemoveDistributedObjectListener,
};
use filbert_wire::messages::map::{self, AddEntryListener, EntryEvent};
use filbert_wire::messages::{queue, topic};
use filbert_wire::partition_of_name;

fn set(client: &mut Client, key: i32, value: i32) {
    let set = map::Set { name: "m".into(), key: int(key), value: int(value), thread_id: 1, ttl_ms: -1 };
    client.call(&set).unwrap();
}

fn delete(client: &mut Client, key: i32) {
    client.call(&map::Delete { name: "m".into(), key: int(key), thread_id: 1 }).unwrap();
}

fn listener(listener_flags: i32, include_value: bool) -> AddEntryListener {
    AddEntryListener { name: "m".into(), include_value, listener_flags, local_only: true }
}

#[test]
fn only_the_kinds_that_were_asked_for_come() {
    let member = Member::start();
    let (mut writer, mut hears) = (member.client(), member.client());
    let (added, removed) = (1, 2);
    hears.call(&listener(removed, true)).unwrap();
    set(&mut writer, 1, 10);
    set(&mut writer, 1, 11);
    delete(&mut writer, 1);
    let event: EntryEvent = AddEntryListener::decode_event(&hears.event()).unwrap();
    assert_eq!((event.event_type, event.key, event.old_value), (removed, Some(int(1)), Some(int(11))));
    let second = hears.send(&listener(added, false));
    hears.answer::<AddEntryListener>(second).unwrap();
    set(&mut writer, 2, 20);
    let event = hears.event();
    assert_eq!(event.correlation(), second);
    let event: EntryEvent = AddEntryListener::decode_event(&event).unwrap();
    assert_eq!(
        (event.event_type, event.key, event.value, event.old_value),
        (added, Some(int(2)), None, None)
    );
}

/// Clients with several threads for events keep the order of those of one partition.
#[test]
fn an_event_says_its_partition() {
    let member = Member::start();
    let (mut writer, mut hears) = (member.client(), member.client());
    hears.call(&listener(127, true)).unwrap();
    for key in [1, 2, 77] {
        set(&mut writer, key, 10);
        assert_eq!(hears.event().partition(), int(key).partition().number() as i32);
    }
    hears.call(&topic::AddMessageListener { name: "t".into(), local_only: true }).unwrap();
    writer.call(&topic::Publish { name: "t".into(), message: int(1) }).unwrap();
    assert_eq!(hears.event().partition(), partition_of_name("t").number() as i32);
    hears.call(&queue::AddListener { name: "q".into(), include_value: true, local_only: true }).unwrap();
    writer.call(&queue::Offer { name: "q".into(), value: int(1), timeout_ms: 0 }).unwrap();
    assert_eq!(hears.event().partition(), partition_of_name("q").number() as i32);
}

#[test]
fn a_listener_is_removed_by_its_connection_only() {
    let member = Member::start();
    let (mut one, mut other) = (member.client(), member.client());
    let registration = one.call(&listener(127, true)).unwrap().registration;
    let remove = map::RemoveEntryListener { name: "m".into(), registration_id: registration };
    assert!(!other.call(&remove).unwrap().value);
    assert!(one.call(&remove).unwrap().value);
    assert!(!one.call(&remove).unwrap().value);
}

#[test]
fn structures_that_come_and_go_are_heard_of() {
    let member = Member::start();
    let (mut writer, mut hears) = (member.client(), member.client());
    let registration = hears.call(&AddDistributedObjectListener { local_only: true }).unwrap().registration;
    let (name, service_name) = (|| "seen".into(), || "hz:impl:mapService".into());
    writer.call(&CreateProxy { name: name(), service_name: service_name() }).unwrap();
    writer.call(&DestroyProxy { name: name(), service_name: service_name() }).unwrap();
    for kind in ["CREATED", "DESTROYED"] {
        let event: DistributedObjectEvent =
            AddDistributedObjectListener::decode_event(&hears.event()).unwrap();
        assert_eq!(
            (&*event.name, &*event.service_name, &*event.event_type),
            ("seen", "hz:impl:mapService", kind)
        );
    }
    let remove = RemoveDistributedObjectListener { registration_id: registration };
    assert!(hears.call(&remove).unwrap().value);
}
