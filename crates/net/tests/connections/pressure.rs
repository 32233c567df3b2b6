//! Peers that do not read: slowed, then closed, in bounded memory.

use crate::line::{Client, Seen, eventually, open};
use filbert_net::{CloseReason, NetSettings};
use std::sync::atomic::Ordering;

fn small_limits() -> NetSettings {
    NetSettings { congested_bytes: 256 << 10, overflow_bytes: 4 << 20, ..NetSettings::default() }
}

#[test]
fn a_slow_reader_is_slowed_and_gets_everything() {
    let (_stages, door, seen) = open(small_limits(), Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"big 1000000\n".repeat(40));
    eventually("it is slowed", || door.stats().congestions > 0);
    let handled = seen.handled.load(Ordering::SeqCst);
    assert!(handled < 40, "all were handled though nobody reads");
    for _ in 0..40 {
        assert_eq!(client.line().len(), 999_999);
    }
    assert_eq!(seen.handled.load(Ordering::SeqCst), 40);
    assert_eq!(door.stats().closed_by(CloseReason::Overflow), 0);
}

#[test]
fn later_answers_are_slowed_too() {
    let (_stages, door, seen) = open(small_limits(), Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"big-later 1000000\n".repeat(40));
    eventually("it is slowed", || door.stats().congestions > 0);
    for _ in 0..40 {
        assert_eq!(client.line().len(), 999_999);
    }
    assert_eq!(seen.handled.load(Ordering::SeqCst), 40);
    assert_eq!(door.stats().closed_by(CloseReason::Overflow), 0);
}

#[test]
fn a_peer_that_takes_nothing_is_closed() {
    let settings = NetSettings { stall_timeout_ms: 100, ..small_limits() };
    let (_stages, door, seen) = open(settings, Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"big 1000000\n".repeat(40));
    eventually("it is closed", || door.stats().closed_by(CloseReason::Stalled) == 1);
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::Stalled]);
    assert!(seen.handled.load(Ordering::SeqCst) < 40);
}

#[test]
fn events_for_a_peer_that_does_not_read_close_it_within_the_bound() {
    let (_stages, door, seen) = open(small_limits(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo ready\n");
    assert_eq!(client.line(), "ready");
    let outlet = seen.outlets.lock().unwrap()[0].clone();
    let event = vec![b'e'; 10_000];
    let mut most = 0;
    while outlet.send_slice(&event).is_ok() {
        most = most.max(outlet.in_flight());
    }
    assert!(most <= (4 << 20) + 2 * event.len(), "{most} bytes waited");
    assert!(outlet.is_closed());
    eventually("it is closed", || door.stats().closed_by(CloseReason::Overflow) == 1);
    assert_eq!(outlet.in_flight(), 0);
}

#[test]
fn answers_that_may_take_any_time_do_not_hold_up_others() {
    let settings = NetSettings { congested_bytes: 4_096, owed_answers: 4, ..NetSettings::default() };
    let (_stages, door, seen) = open(settings, Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"wait\n".repeat(50));
    client.send("echo through\n");
    assert_eq!(client.line(), "through");
    // Those that do count stop it, until they are answered or given up.
    client.send(&"hold\n".repeat(50));
    client.send("echo after\n");
    eventually("it is slowed", || door.stats().congestions > 0);
    let count = |seen: &Seen| seen.held.lock().unwrap().len();
    assert!((51..=60).contains(&count(&seen)), "{}", count(&seen));
    eventually("all are handled", || {
        let held = std::mem::take(&mut *seen.held.lock().unwrap());
        drop(held);
        seen.handled.load(Ordering::SeqCst) == 102
    });
    assert_eq!(client.line(), "after");
}

#[test]
fn all_connections_together_are_bounded_too() {
    let settings = NetSettings { total_congested_bytes: 1 << 20, ..NetSettings::default() };
    let (_stages, door, _seen) = open(settings, Seen::default());
    let mut clients: Vec<_> = (0..12).map(|_| Client::connect(&door)).collect();
    for client in &mut clients {
        // More than the system takes, less than one connection may have waiting.
        client.send(&"big 300000\n".repeat(50));
    }
    eventually("it is over the bound", || door.stats().in_flight > 1 << 20);
    // Each may have added what one turn brings, and no more.
    assert!(door.stats().in_flight <= (1 << 20) + 12 * 900_000, "{:?}", door.stats());
    let mut reader = Client::connect(&door);
    reader.send("echo served\n");
    assert_eq!(reader.line(), "served");
    for client in &mut clients {
        for _ in 0..50 {
            assert_eq!(client.line().len(), 299_999);
        }
    }
    eventually("nothing waits", || door.stats().in_flight == 0);
}

/// A request lies in memory until it is answered, whatever the answer's size.
#[test]
fn requests_whose_answers_are_owed_are_bytes_in_flight() {
    let (_stages, door, seen) = open(small_limits(), Seen::default());
    let mut client = Client::connect(&door);
    // Small answers, so that the window is wide open.
    for _ in 0..100 {
        client.send("later x\n");
        assert_eq!(client.line(), "x");
    }
    client.send(&"hold 100000\n".repeat(20));
    client.send("echo after\n");
    eventually("it is slowed", || door.stats().congestions > 0);
    let held = seen.held.lock().unwrap().len();
    assert!((1..=4).contains(&held), "{held} are in memory");
    eventually("all are handled", || {
        let held = std::mem::take(&mut *seen.held.lock().unwrap());
        drop(held);
        seen.handled.load(Ordering::SeqCst) == 121
    });
    assert_eq!(client.line(), "after");
}

/// What nobody asked for is bounded over all connections too, not only for each.
#[test]
fn events_for_many_that_do_not_read_are_bounded_in_all() {
    let settings = NetSettings {
        congested_bytes: 64 << 10,
        overflow_bytes: 32 << 20,
        total_congested_bytes: 4 << 20,
        ..NetSettings::default()
    };
    let (stages, door, seen) = open(settings, Seen::default());
    let mut clients: Vec<_> = (0..10).map(|_| Client::connect(&door)).collect();
    for client in &mut clients {
        client.send("echo ready\n");
        assert_eq!(client.line(), "ready");
    }
    let outlets = seen.outlets.lock().unwrap().clone();
    assert_eq!(outlets.len(), 10);
    let event = vec![b'e'; 10_000];
    let mut open = outlets.len();
    while open > 0 {
        open = outlets.iter().filter(|outlet| outlet.send_slice(&event).is_ok()).count();
        // Between a send and the loop that takes it a little is not counted; on a busy machine it would be much, so the loops come first.
        for on in 0..stages.io().loops() {
            stages.io().spawn_on(on, "turn", async {}).unwrap().wait().unwrap();
        }
        assert!(door.stats().in_flight < 12 << 20, "{:?}", door.stats());
        if door.stats().closed_by(CloseReason::Overflow) > 0 {
            break;
        }
    }
    eventually("one is closed", || door.stats().closed_by(CloseReason::Overflow) > 0);
}

/// A connection that is not read must not outlive its peer: what it holds (locks, room) goes with it, and others wait for that.
#[test]
fn a_peer_that_goes_while_it_is_not_read_is_noticed() {
    let settings = NetSettings { congested_bytes: 4_096, owed_answers: 4, ..NetSettings::default() };
    let (_stages, door, seen) = open(settings, Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"hold\n".repeat(5_000));
    eventually("it is slowed", || door.stats().congestions > 0);
    drop(client);
    eventually("it is closed", || door.stats().connections == 0);
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::PeerClosed]);
    assert!(!seen.held.lock().unwrap().is_empty(), "answers are still owed");
}
