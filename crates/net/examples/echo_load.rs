//! How many messages of 100 bytes does one door echo, with 50 connections and 16 messages in flight on each?
//!
//! The bottleneck is the system: a read and a write per batch on each side. The ceiling is therefore what a loop of bare reads and
//! writes reaches. Run it with `--release`, alone, and under `strace -fc` to see what each request costs.
//!
//! `echo_load [connections] [in flight] [seconds] [now|later]`: `later` answers from a thread of stage `generic`.

#![allow(clippy::disallowed_methods, reason = "the load comes from threads of its own, by the real clock")]
#![forbid(unsafe_code)]

use bytes::BytesMut;
use filbert_net::{Close, Listener, NetSettings, Outbound, Protocol};
use filbert_pool::Stages;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const MESSAGE: usize = 100;

struct Echo {
    stages: Stages,
    later: bool,
}

impl Protocol for Echo {
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        while input.len() >= MESSAGE && !out.is_congested() {
            let message = input.split_to(MESSAGE);
            if self.later {
                let (owed, copy) = (out.owe(), message.to_vec());
                let answer = move || drop(owed.send(copy));
                self.stages
                    .generic()
                    .submit("echo", answer)
                    .map_err(|_| Close::because("overloaded"))?
                    .detach();
            } else {
                out.buffer().extend_from_slice(&message);
            }
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        1 << 20
    }
}

/// Keeps `in_flight` messages under way on each of its connections, one batch at a time; returns how many were answered.
fn load(address: SocketAddr, connections: usize, in_flight: usize, until: Instant) -> u64 {
    let mut streams: Vec<_> = (0..connections)
        .map(|_| {
            let stream = TcpStream::connect(address).expect("the door is open");
            stream.set_nodelay(true).expect("a socket has the option");
            stream
        })
        .collect();
    let (batch, mut answer) = (vec![7; MESSAGE * in_flight], vec![0; MESSAGE * in_flight]);
    let mut answered = 0;
    for stream in &mut streams {
        stream.write_all(&batch).expect("the door takes it");
    }
    while Instant::now() < until {
        for stream in &mut streams {
            stream.read_exact(&mut answer).expect("the door answers");
            stream.write_all(&batch).expect("the door takes it");
            answered += in_flight as u64;
        }
    }
    answered
}

fn main() {
    let argument = |number: usize, default: usize| {
        std::env::args().nth(number).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let (connections, in_flight) = (argument(1, 50), argument(2, 16));
    let seconds = argument(3, 5) as u64;
    let later = std::env::args().nth(4).is_some_and(|word| word == "later");
    let stages = Stages::start().expect("the defaults are sound");
    let shared = stages.clone();
    let door = Listener::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        .settings(NetSettings::default())
        .listen(&stages, move |_, _| Echo { stages: shared.clone(), later })
        .expect("the system gives a port");
    let begin = Instant::now();
    let until = begin + Duration::from_secs(seconds);
    let answered: u64 = std::thread::scope(|scope| {
        let address = door.local_addr();
        let halves = [connections.div_ceil(2), connections / 2];
        let loads =
            halves.map(|connections| scope.spawn(move || load(address, connections, in_flight, until)));
        loads.map(|load| load.join().expect("the load does not panic")).into_iter().sum()
    });
    let stats = door.stats();
    let rate = answered as f64 / begin.elapsed().as_secs_f64();
    println!("{connections} connections x {in_flight} in flight: {rate:.0} messages/s");
    println!(
        "per 1000 messages: {:.1} reads, {:.1} writes",
        stats.reads as f64 * 1_000.0 / answered as f64,
        stats.writes as f64 * 1_000.0 / answered as f64
    );
}
