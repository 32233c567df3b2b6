//! What a connection had goes with it: locks, waiting operations, listeners. And the door is closed in order.

use crate::line::{Member, eventually, int};
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map;
use std::time::Duration;
use uuid::Uuid;

fn lock(key: i32, thread_id: i64) -> map::Lock {
    map::Lock { name: "m".into(), key: int(key), thread_id, ttl_ms: -1, reference_id: 1 }
}

fn set(key: i32) -> map::Set {
    map::Set { name: "m".into(), key: int(key), value: int(1), thread_id: 1, ttl_ms: -1 }
}

#[test]
fn locks_go_with_the_last_connection_of_their_client() {
    let member = Member::start();
    let id = Some(Uuid::from_u128(42));
    let (mut holder, second) = (member.client_named(id), member.client_named(id));
    let mut other = member.client();
    holder.call(&lock(1, 1)).unwrap();
    drop(holder);
    eventually("the first connection is gone", || member.door.stats().connections == 2);
    let locked = |client: &mut crate::line::Client| {
        client.call(&map::IsLocked { name: "m".into(), key: int(1) }).unwrap().value
    };
    assert!(locked(&mut other));
    let waits = other.send(&set(1));
    drop(second);
    assert!(other.answer::<map::Set>(waits).is_ok());
    assert!(!locked(&mut other));
}

/// Hazelcast's identity bug: a lock is the connection's client's, whatever thread another client names.
#[test]
fn another_client_is_another_owner() {
    let member = Member::start();
    let (mut holder, mut other) = (member.client(), member.client());
    holder.call(&lock(1, 1)).unwrap();
    let unlock = map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 };
    assert_eq!(other.refused(&unlock), ErrorCode::IllegalMonitorState);
    assert!(holder.call(&unlock).is_ok());
}

#[test]
fn a_waiting_operation_of_a_closed_connection_does_nothing() {
    let member = Member::start();
    let mut holder = member.client();
    holder.call(&lock(1, 1)).unwrap();
    let mut waits = member.client();
    waits.send(&lock(1, 1));
    assert!(waits.call(&Ping {}).is_ok());
    drop(waits);
    eventually("it is gone", || member.door.clients().len() == 1);
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    let mut third = member.client();
    let try_lock = map::TryLock {
        name: "m".into(),
        key: int(1),
        thread_id: 1,
        lease_ms: -1,
        timeout_ms: 30_000,
        reference_id: 3,
    };
    assert!(third.call(&try_lock).unwrap().value);
}

/// Operations that wait must not keep the connection from the message that ends their wait.
#[test]
fn a_connection_with_many_waiting_operations_is_served_on() {
    let member = Member::start();
    let (mut holder, mut client) = (member.client(), member.client());
    holder.call(&lock(1, 1)).unwrap();
    let waiting: Vec<i64> = (0..3_000).map(|_| client.send(&set(1))).collect();
    assert!(client.call(&Ping {}).is_ok());
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    for correlation in waiting {
        assert!(client.answer::<map::Set>(correlation).is_ok());
    }
}

#[test]
fn too_many_waiting_operations_are_refused() {
    let settings = HazelcastSettings { waiting_invocations: 5, ..HazelcastSettings::default() };
    let member = Member::with(settings);
    let (mut holder, mut client) = (member.client(), member.client());
    holder.call(&lock(1, 1)).unwrap();
    let waiting: Vec<i64> = (0..5).map(|_| client.send(&set(1))).collect();
    assert_eq!(client.refused(&set(1)), ErrorCode::Overload);
    assert!(client.call(&set(2)).is_ok());
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    for correlation in waiting {
        assert!(client.answer::<map::Set>(correlation).is_ok());
    }
}

#[test]
fn a_drain_gives_waiting_operations_up_and_closes() {
    let member = Member::start();
    let (mut idle, mut client) = (member.client(), member.client());
    member.grid.map("m").lock(int(1), None).wait().unwrap();
    let waits = client.send(&lock(1, 1));
    assert!(client.call(&Ping {}).is_ok());
    let report = member.door.drain(Duration::from_secs(30)).unwrap().wait().unwrap();
    assert_eq!((report.connections, report.cut_short), (2, 0));
    let error = client.answer::<map::Lock>(waits).unwrap_err();
    assert_eq!(error.errors[0].code, ErrorCode::RetryableHazelcast as i32);
    assert!(client.is_closed() && idle.is_closed());
    assert!(std::net::TcpStream::connect(member.address()).is_err());
}
