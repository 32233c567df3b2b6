//! The end of connections: by the peer, the protocol, a drain, the door, the stages, a panic.

use crate::line::{Client, Seen, eventually, open};
use filbert_net::{CloseReason, DoorWatcher, Listener, NetSettings};
use filbert_pool::{Shutdown, Stages};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

#[test]
fn the_protocol_has_the_last_word() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo a\nquit\necho never\n");
    assert_eq!(client.line(), "a");
    assert_eq!(client.line(), "bye");
    eventually("it is counted", || door.stats().closed_by(CloseReason::Protocol) == 1);
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::Protocol]);
    assert_eq!(seen.handled.load(Ordering::SeqCst), 2);
}

#[test]
fn a_peer_that_stops_sending_still_gets_its_answers() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo a\nbig 3000000\n");
    client.reader.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.rest().len(), 3_000_002);
    eventually("it is counted", || door.stats().closed_by(CloseReason::PeerClosed) == 1);
}

#[test]
fn a_drain_waits_for_what_is_owed() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let (mut busy, mut idle) = (Client::connect(&door), Client::connect(&door));
    busy.send("hold\n");
    idle.send("echo here\n");
    assert_eq!(idle.line(), "here");
    eventually("it is owed", || seen.held.lock().unwrap().len() == 1);
    let mut drain = door.drain(Duration::from_secs(60)).unwrap();
    assert_eq!(busy.line(), "draining");
    assert_eq!(idle.rest(), "draining\n");
    eventually("the idle one is gone", || door.connection_count() == 1);
    assert!(!drain.is_done());
    let owed = seen.held.lock().unwrap().pop().unwrap();
    owed.send("answer\n").unwrap();
    assert_eq!(busy.rest(), "answer\n");
    let report = drain.wait_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!((report.connections, report.cut_short), (2, 0));
    assert_eq!(door.stats().closed_by(CloseReason::Drained), 2);
    eventually("nobody listens", || TcpStream::connect(door.local_addr()).is_err());
}

#[test]
fn a_drain_that_takes_too_long_ends_hard() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("wait\n");
    eventually("it is owed", || seen.held.lock().unwrap().len() == 1);
    // Time enough to say that it drains, also on a busy machine.
    let report = door.drain(Duration::from_secs(10)).unwrap().wait().unwrap();
    assert_eq!((report.connections, report.cut_short), (1, 1));
    assert_eq!(client.rest(), "draining\n");
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::DoorClosed]);
    let owed = seen.held.lock().unwrap().pop().unwrap();
    assert!(owed.send("too late\n").is_err());
}

#[test]
fn a_dropped_door_closes_its_connections() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo here\n");
    assert_eq!(client.line(), "here");
    let address = door.local_addr();
    drop(door);
    assert_eq!(client.rest(), "");
    eventually("nobody listens", || TcpStream::connect(address).is_err());
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::DoorClosed]);
}

#[test]
fn an_outlet_closes_its_connection() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo here\n");
    assert_eq!(client.line(), "here");
    let outlet = seen.outlets.lock().unwrap()[0].clone();
    outlet.close();
    assert!(outlet.send_slice(b"x").is_err());
    assert_eq!(client.rest(), "");
    eventually("it is counted", || door.stats().closed_by(CloseReason::Asked) == 1);
}

#[test]
fn sockets_close_when_the_stages_end() {
    let (stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo here\n");
    assert_eq!(client.line(), "here");
    stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(client.rest(), "");
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::StagesEnded]);
    assert!(TcpStream::connect(door.local_addr()).is_err());
    assert!(door.drain(Duration::ZERO).is_err());
}

#[test]
fn a_panic_ends_one_connection_and_no_other() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let (mut bystander, mut client) = (Client::connect(&door), Client::connect(&door));
    client.send("panic\n");
    assert_eq!(client.rest(), "");
    eventually("it is counted", || door.stats().closed_by(CloseReason::Panicked) == 1);
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::Panicked]);
    bystander.send("echo fine\n");
    assert_eq!(bystander.line(), "fine");
}

#[test]
fn a_thousand_connections_leave_nothing_behind() {
    let (stages, door, seen) = open(NetSettings::default(), Seen::default());
    for _ in 0..10 {
        let mut clients: Vec<_> = (0..100).map(|_| Client::connect(&door)).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.send(&format!("echo {number}\n"));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.line(), number.to_string());
        }
    }
    eventually("all are gone", || door.connection_count() == 0);
    let stats = door.stats();
    assert_eq!((stats.accepted, stats.in_flight), (1_000, 0));
    assert_eq!(stats.closed.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
    assert_eq!(seen.closed.lock().unwrap().len(), 1_000);
    assert!(door.connections().is_empty());
    // What lives on the loops is the accepting task alone.
    let io = |stages: &filbert_pool::Stages| {
        let all = stages.snapshot();
        let io = all.iter().find(|stage| stage.stage == "io").unwrap();
        io.depth + io.suspended + io.running.len()
    };
    eventually("the loops are empty", || io(&stages) == 1);
}

/// Counts the connections of its door when it goes.
struct CountsAtItsEnd {
    door: Arc<OnceLock<DoorWatcher>>,
    counted: Arc<Mutex<Vec<usize>>>,
}

impl Drop for CountsAtItsEnd {
    fn drop(&mut self) {
        let connections = self.door.get().map_or(0, |door| door.stats().connections);
        self.counted.lock().unwrap().push(connections);
    }
}

/// A protocol that drives itself was dropped after its connection was counted out: a drain was over before queries were.
#[test]
fn what_a_future_holds_is_gone_before_its_connection_is_counted_out() {
    let stages = Stages::start().unwrap();
    let (watched, counted) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
    let (watches, counts) = (Arc::clone(&watched), Arc::clone(&counted));
    let settings = NetSettings { login_timeout_ms: 50, ..NetSettings::default() };
    let listener = Listener::new("127.0.0.1:0".parse().unwrap()).settings(settings);
    let door = listener.serve(&stages, move |stream| {
        let held = (stream, CountsAtItsEnd { door: Arc::clone(&watches), counted: Arc::clone(&counts) });
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let door = door.unwrap();
    watched.set(door.watcher()).unwrap();
    let _silent = TcpStream::connect(door.local_addr()).unwrap();
    eventually("it came and went", || door.stats().accepted == 1 && door.connection_count() == 0);
    assert_eq!(*counted.lock().unwrap(), [1], "it was still counted when what its future held went");
    assert_eq!(door.stats().closed_by(CloseReason::LoginTimeout), 1);
}
