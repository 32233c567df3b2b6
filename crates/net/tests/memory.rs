//! Ten clients that ask for 500 times a megabyte and never read; alone in its process, since it looks at the memory of it.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use bytes::BytesMut;
use filbert_net::{Close, CloseReason, Listener, NetSettings, Outbound, Protocol};
use filbert_pool::Stages;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ANSWER: usize = 1 << 20;
const BOUND: usize = 64 << 20;

/// A byte asks for a megabyte: 'n' now, 'l' later, from another thread.
struct Megabytes(Stages);

impl Protocol for Megabytes {
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        while !input.is_empty() && !out.is_congested() {
            if input.split_to(1)[0] == b'n' {
                out.buffer().extend_from_slice(&vec![1; ANSWER]);
            } else {
                let owed = out.owe();
                let answer = move || drop(owed.send(vec![1; ANSWER]));
                self.0.generic().submit("answer", answer).map_err(|_| Close::because("overloaded"))?.detach();
            }
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        1 << 20
    }
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

/// The most that the memory grows until `done`.
fn growth(from: usize, mut done: impl FnMut() -> bool) -> usize {
    let (mut most, deadline) = (0, Instant::now() + Duration::from_secs(60));
    loop {
        most = most.max(resident().saturating_sub(from));
        if done() {
            return most;
        }
        assert!(Instant::now() < deadline, "never done");
        // sleeps because memory is looked at again and again.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn clients_that_never_read_take_little_memory() {
    for kind in ["n", "l"] {
        let stages = Stages::start().unwrap();
        let settings = NetSettings { stall_timeout_ms: 1_500, ..NetSettings::default() };
        let listener = Listener::new("127.0.0.1:0".parse().unwrap()).settings(settings);
        let shared = stages.clone();
        let door = listener.listen(&stages, move |_, _| Megabytes(shared.clone())).unwrap();
        let before = resident();
        let mut clients: Vec<_> = (0..10).map(|_| TcpStream::connect(door.local_addr()).unwrap()).collect();
        for client in &mut clients {
            client.write_all(kind.repeat(500).as_bytes()).unwrap();
        }
        let grown = growth(before, || door.stats().closed_by(CloseReason::Stalled) == 10);
        assert!(grown < BOUND, "kind {kind}: {} MB", grown >> 20);
        let sent = door.stats().bytes_out;
        assert!(sent < 10 * 500 * ANSWER as u64 / 4, "the system took {sent} bytes: nothing was slowed");
        // One that reads gets everything after that. On a busy machine it may stand still for too long: then another one reads.
        let reads = |_| {
            let mut reader = TcpStream::connect(door.local_addr()).unwrap();
            let mut all = vec![0; 20 * ANSWER];
            reader.write_all(kind.repeat(20).as_bytes()).and_then(|()| reader.read_exact(&mut all)).is_ok()
        };
        assert!((0..20).any(reads), "kind {kind}: nobody gets all answers");
    }
}
