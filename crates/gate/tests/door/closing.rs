//! What a connection had goes with it: locks, waiting operations, listeners. And the door is closed in order.

use crate::line::{Member, blob, eventually, int};
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_grid::{Entry, EntryProcessor};
use filbert_wire::Data;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{map, queue};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Whoever waits for an item and goes takes none with it; the next who asks has it.
#[test]
fn an_item_is_not_taken_for_a_connection_that_is_gone() {
    let member = Member::start();
    let mut giver = member.client();
    for round in 0..20 {
        let mut waits = member.client();
        waits.send(&queue::Take { name: "q".into() });
        waits.send(&queue::Poll { name: "q".into(), timeout_ms: 60_000 });
        assert!(waits.call(&Ping {}).is_ok());
        drop(waits);
        eventually("it is gone", || member.door.clients().len() == 1);
        let offer = queue::Offer { name: "q".into(), value: int(round), timeout_ms: 0 };
        assert!(giver.call(&offer).unwrap().value);
        assert_eq!(giver.call(&queue::Size { name: "q".into() }).unwrap().value, 1);
        let polled = giver.call(&queue::Poll { name: "q".into(), timeout_ms: 60_000 }).unwrap();
        assert_eq!(polled.value, Some(int(round)));
    }
}

/// The race that remains: an item that comes while its taker goes is either kept, or was on its way to the taker, as a message lost
/// in the network would be. It is never given to two, and nothing that came before or after it is lost.
#[test]
fn at_most_one_item_goes_with_each_connection() {
    let member = Member::start();
    let mut giver = member.client();
    let mut gone = 0;
    for round in 0..100 {
        let mut waits = member.client();
        waits.send(&queue::Take { name: "q".into() });
        assert!(waits.call(&Ping {}).is_ok());
        let offer = queue::Offer { name: "q".into(), value: int(round), timeout_ms: 0 };
        let offered = giver.send(&offer);
        drop(waits);
        assert!(giver.answer::<queue::Offer>(offered).unwrap().value);
        eventually("it is gone", || member.door.clients().len() == 1);
        match giver.call(&queue::Poll { name: "q".into(), timeout_ms: 0 }).unwrap().value {
            Some(item) => assert_eq!(item, int(round)),
            None => gone += 1,
        }
        assert_eq!(giver.call(&queue::Size { name: "q".into() }).unwrap().value, 0);
    }
    println!("{gone} of 100 items had been given before their taker went");
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

/// Bytes count too: a write that waits keeps its value.
#[test]
fn too_many_bytes_that_wait_are_refused() {
    let settings = HazelcastSettings { waiting_bytes: 100_000, ..HazelcastSettings::default() };
    let member = Member::with(settings);
    let (mut holder, mut client) = (member.client(), member.client());
    holder.call(&lock(1, 1)).unwrap();
    let large = map::Set { value: blob(60_000), ..set(1) };
    let waiting = [client.send(&large), client.send(&large)];
    assert_eq!(client.refused(&large), ErrorCode::Overload);
    assert!(client.call(&map::Set { key: int(2), ..large.clone() }).is_ok());
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    for correlation in waiting {
        assert!(client.answer::<map::Set>(correlation).is_ok());
    }
    holder.call(&lock(1, 1)).unwrap();
    client.send(&large);
    assert!(client.call(&Ping {}).is_ok());
    let third = client.send(&set(1));
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    assert!(client.answer::<map::Set>(third).is_ok(), "what was answered does not count any more");
}

/// Each connection had a bound, and ten thousand of them had none.
#[test]
fn what_waits_on_all_connections_has_a_bound() {
    let settings = HazelcastSettings { total_waiting_bytes: 100_000, ..HazelcastSettings::default() };
    let member = Member::with(settings);
    let mut holder = member.client();
    holder.call(&lock(1, 1)).unwrap();
    let large = map::Set { value: blob(60_000), ..set(1) };
    let mut clients: Vec<_> = (0..3).map(|_| member.client()).collect();
    let mut waits = |client: usize| {
        let correlation = clients[client].send(&large);
        // What was sent before is parked when this is answered.
        assert!(clients[client].call(&Ping {}).is_ok());
        correlation
    };
    let waiting = [(0, waits(0)), (1, waits(1))];
    let error = clients[2].call(&large).unwrap_err();
    assert_eq!(error.errors[0].code, ErrorCode::Overload as i32);
    let text = error.errors[0].message.as_deref().unwrap_or_default();
    assert!(text.contains("hazelcast.total_waiting_bytes"), "{text}");
    assert!(
        clients[2].call(&map::Set { key: int(2), ..large.clone() }).is_ok(),
        "what need not wait is done"
    );
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    for (client, correlation) in waiting {
        assert!(clients[client].answer::<map::Set>(correlation).is_ok());
    }
    // What a connection leaves behind is given back as well.
    holder.call(&lock(1, 1)).unwrap();
    for _ in 0..2 {
        clients[0].send(&large);
    }
    assert!(clients[0].call(&Ping {}).is_ok());
    assert_eq!(clients[2].refused(&large), ErrorCode::Overload);
    drop(clients.remove(0));
    let waits_a_moment =
        map::TryPut { name: "m".into(), key: int(1), value: int(1), thread_id: 1, timeout_ms: 1 };
    let other = RefCell::new(member.client());
    eventually("the bytes of a connection that is gone are given back", || {
        other.borrow_mut().call(&waits_a_moment).is_ok()
    });
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
    // The listening socket closes on its own loop.
    eventually("nobody listens", || std::net::TcpStream::connect(member.address()).is_err());
}

/// Keeps its strand until it is told to go on.
struct Holds(Arc<AtomicBool>);

impl EntryProcessor for Holds {
    fn process(&self, _: &mut Entry<'_>) -> Result<Option<Data>, String> {
        while !self.0.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(None)
    }
}

/// An operation that begins to wait when its connection drains already would hold the drain up until its time is over.
#[test]
fn nothing_begins_to_wait_while_the_door_drains() {
    let member = Member::start();
    let go_on = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&go_on);
    member.grid.registry().add_processor_class(66, 9, move |_| Ok(Holds(Arc::clone(&told))));
    let same = |key: &i32| int(*key).partition() == int(1).partition();
    let (second, other) = ((2..).find(same).unwrap(), (2..).find(|key| !same(key)).unwrap());
    for key in [second, other] {
        member.grid.map("m").lock(int(key), None).wait().unwrap();
    }
    let (mut holder, mut client) = (member.client(), member.client());
    let fields = [&[1], &66_i32.to_be_bytes()[..], &9_i32.to_be_bytes()].concat();
    let entry_processor = Data::new(-2, &fields);
    holder.send(&map::ExecuteOnKey { name: "m".into(), entry_processor, key: int(1), thread_id: 1 });
    assert!(holder.call(&Ping {}).is_ok());
    let (waits, late) = (client.send(&lock(other, 1)), client.send(&lock(second, 1)));
    assert!(client.call(&Ping {}).is_ok());
    let draining = member.door.drain(Duration::from_secs(60)).unwrap();
    let lost = ErrorCode::RetryableHazelcast as i32;
    assert_eq!(client.answer::<map::Lock>(waits).unwrap_err().errors[0].code, lost);
    go_on.store(true, Ordering::Relaxed);
    assert_eq!(client.answer::<map::Lock>(late).unwrap_err().errors[0].code, lost);
    assert_eq!(draining.wait().unwrap().cut_short, 0);
}

/// A taker that is gone takes nothing: the item is there for the next one.
#[test]
fn no_item_is_taken_for_a_closed_connection() {
    let member = Member::start();
    let (mut giver, mut gone) = (member.client(), member.client());
    gone.send(&queue::Take { name: "q".into() });
    gone.send(&queue::Poll { name: "q".into(), timeout_ms: 600_000 });
    assert!(gone.call(&Ping {}).is_ok());
    drop(gone);
    eventually("it is gone", || member.door.clients().len() == 1);
    let offer = queue::Offer { name: "q".into(), value: int(1), timeout_ms: 0 };
    assert!(giver.call(&offer).unwrap().value);
    let poll = queue::Poll { name: "q".into(), timeout_ms: 30_000 };
    assert_eq!(giver.call(&poll).unwrap().value, Some(int(1)));
}

#[test]
fn a_taker_is_served_when_an_item_comes() {
    let member = Member::start();
    let (mut giver, mut taker) = (member.client(), member.client());
    let taken: Vec<i64> = (0..100).map(|_| taker.send(&queue::Take { name: "q".into() })).collect();
    assert!(taker.call(&Ping {}).is_ok());
    for number in 0..100 {
        giver.call(&queue::Put { name: "q".into(), value: int(number) }).unwrap();
    }
    for (number, correlation) in taken.into_iter().enumerate() {
        let found = taker.answer::<queue::Take>(correlation).unwrap();
        assert_eq!(found.value, Some(int(number as i32)));
    }
}
