//! Clients that ask for much and read nothing. A process of its own: it measures memory.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

#[path = "../door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;

use crate::line::{Member, blob, int};
use bytes::BytesMut;
use filbert_wire::message::Request;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::map;
use std::io::Write;
use std::time::Duration;

/// What the member holds of the memory of this machine, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn clients_that_never_read_take_bounded_memory() {
    let member = Member::start();
    let mut client = member.client();
    client
        .call(&map::Set { name: "m".into(), key: int(1), value: blob(1 << 20), thread_id: 1, ttl_ms: -1 })
        .unwrap();
    let before = resident();
    let get = map::Get { name: "m".into(), key: int(1), thread_id: 1 };
    let deaf: Vec<_> = (0..10)
        .map(|_| {
            let mut deaf = member.client();
            let mut out = BytesMut::new();
            (0..500).for_each(|number| get.encode(number, -1, &mut out));
            deaf.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            // The member may stop to take any more.
            let _ = deaf.stream.write_all(&out);
            deaf
        })
        .collect();
    for _ in 0..100 {
        assert!(client.call(&Ping {}).is_ok());
        assert_eq!(client.call(&get).unwrap().value, Some(blob(1 << 20)));
    }
    let growth = resident().saturating_sub(before);
    assert!(growth < 64 << 20, "{growth} bytes");
    drop(deaf);
}
