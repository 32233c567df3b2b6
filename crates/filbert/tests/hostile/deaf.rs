//! Clients that ask for much and read nothing: they are slowed, then closed, and take bounded memory all the while.

use crate::bystander::Bystander;
use crate::line::{Client, blob, int};
use crate::process::Process;
use bytes::BytesMut;
use filbert_wire::message::Request;
use filbert_wire::messages::{list, map, queue, topic};
use std::io::Write;
use std::time::Duration;

const CLIENTS: usize = 10;
const REQUESTS: i64 = 500;
/// What ten of them may cost: about 45 MB that wait, and as much that the allocator has not given back yet. They ask for gigabytes.
const GROWTH: usize = 128 << 20;

/// The pieces that a megabyte is asked for in, where it is asked for in pieces.
const PIECES: i32 = 16;

fn set(name: &str, key: i32, value: filbert_wire::Data) -> map::Set {
    map::Set { name: name.into(), key: int(key), value, thread_id: 1, ttl_ms: -1 }
}

/// Sends 500 times the same request from each of ten clients that never read, and looks at the memory meanwhile.
fn never_read(member: &Process, what: &str, request: &impl Request) {
    let bystander = Bystander::start(member);
    let before = member.resident();
    let mut bytes = BytesMut::new();
    (0..REQUESTS).for_each(|number| request.encode(number, -1, &mut bytes));
    let deaf: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut deaf = member.client();
            deaf.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            // The member may stop to take any more.
            let _ = deaf.stream.write_all(&bytes);
            deaf
        })
        .collect();
    let most = watch(member, &bystander);
    drop(deaf);
    bystander.end();
    report(what, before, most);
}

/// The most memory while the bystander is served some hundred times.
fn watch(member: &Process, bystander: &Bystander) -> usize {
    let (begin, mut most) = (bystander.served(), 0);
    while bystander.served() < begin + 300 {
        most = most.max(member.resident());
        std::thread::yield_now();
    }
    most
}

fn report(what: &str, before: usize, most: usize) {
    let growth = most.saturating_sub(before);
    println!("{what}: grew by {} KB", growth >> 10);
    assert!(growth < GROWTH, "{what}: from {before} to {most} bytes");
}

#[test]
fn answers_that_nobody_reads_take_bounded_memory() {
    let member = Process::start("");
    let mut client = member.client();
    client.call(&set("one", 1, blob(1 << 20))).unwrap();
    for key in 0..PIECES {
        let piece = || blob((1 << 20) / PIECES as usize);
        client.call(&set("pieces", key, piece())).unwrap();
        client.call(&list::Add { name: "l".into(), value: piece() }).unwrap();
        client.call(&queue::Offer { name: "q".into(), value: piece(), timeout_ms: 0 }).unwrap();
    }
    let name = || "pieces".into();
    never_read(&member, "get", &map::Get { name: "one".into(), key: int(1), thread_id: 1 });
    never_read(&member, "get_all", &map::GetAll { name: name(), keys: (0..PIECES).map(int).collect() });
    never_read(&member, "values", &map::Values { name: name() });
    never_read(&member, "entry_set", &map::EntrySet { name: name() });
    never_read(&member, "list.get_all", &list::GetAll { name: "l".into() });
    never_read(&member, "queue.iterator", &queue::Iterator { name: "q".into() });
}

/// What a connection may have waiting bounds events too; who has more is closed.
#[test]
fn events_that_nobody_reads_take_bounded_memory() {
    let member = Process::start("connections = { overflow_bytes = 4_194_304 }");
    let bystander = Bystander::start(&member);
    let mut client = member.client();
    let piece = || blob(64 << 10);
    // Warm: the bytes of as many events as will come passed once.
    for number in 0..200 {
        client.call(&set("m", number % 10, piece())).unwrap();
    }
    let before = member.resident();
    let deaf: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut deaf = member.client();
            let listener = map::AddEntryListener {
                name: "m".into(),
                include_value: true,
                listener_flags: 127,
                local_only: true,
            };
            deaf.call(&listener).unwrap();
            deaf.call(&topic::AddMessageListener { name: "t".into(), local_only: true }).unwrap();
            deaf
        })
        .collect();
    let mut most = 0;
    for number in 0..1_000 {
        client.call(&set("m", number % 10, piece())).unwrap();
        client.call(&topic::Publish { name: "t".into(), message: piece() }).unwrap();
        most = most.max(member.resident());
    }
    most = most.max(watch(&member, &bystander));
    bystander.end();
    for mut client in deaf {
        assert!(client.is_closed());
    }
    report("events", before, most);
}

/// Writes that wait are forgotten with the connection that sent them, not when whatever they wait for happens.
#[test]
fn writes_that_waited_go_with_their_connection() {
    let member = Process::start("");
    let (mut holder, bystander) = (member.client(), Bystander::start(&member));
    for key in 0..20 {
        let lock = map::Lock { name: "m".into(), key: int(key), thread_id: 1, ttl_ms: -1, reference_id: 1 };
        holder.call(&lock).unwrap();
    }
    let before = member.resident();
    let mut most = 0;
    for _ in 0..20 {
        let mut client = member.client();
        for key in 0..20 {
            client.send(&set("m", key, blob(1 << 20)));
        }
        client.call(&filbert_wire::messages::client::Ping {}).unwrap();
        drop(client);
        most = most.max(watch(&member, &bystander));
    }
    bystander.end();
    report("writes that waited", before, most);
}

/// Values of writes that wait for a lock are memory too, whoever sent them.
#[test]
fn writes_that_wait_take_bounded_memory() {
    let member = Process::start("");
    let mut holder = member.client();
    holder
        .call(&map::Lock { name: "m".into(), key: int(1), thread_id: 1, ttl_ms: -1, reference_id: 1 })
        .unwrap();
    let bystander = Bystander::start(&member);
    let before = member.resident();
    let mut client = member.client();
    let waiting: Vec<i64> = (0..REQUESTS).map(|_| client.send(&set("m", 1, blob(1 << 20)))).collect();
    // The last ones are refused: the answer says that all were handled.
    assert!(client.answer::<map::Set>(*waiting.last().unwrap()).is_err());
    let most = watch(&member, &bystander);
    holder.call(&map::Unlock { name: "m".into(), key: int(1), thread_id: 1, reference_id: 2 }).unwrap();
    let done = waiting[..REQUESTS as usize - 1]
        .iter()
        .filter(|&&call| client.answer::<map::Set>(call).is_ok())
        .count();
    assert!((1..=40).contains(&done), "{done} waited");
    bystander.end();
    report("writes that wait", before, most);
}
