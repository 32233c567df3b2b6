//! The load generator: one thread, non-blocking sockets, a closed loop with a fixed number of requests in flight on each connection.
//!
//! Every answer is counted; on gets a share of the answers is checked to hold the right value, so that a server cannot win by
//! answering nonsense.

use super::dialect::Dialect;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Set,
}

/// How hard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) connections: usize,
    pub(super) in_flight: usize,
}

/// What was measured.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    /// When each request under way was sent, and for which key; few, so that one is found by looking at all.
    under_way: VecDeque<(Instant, usize)>,
}

/// A share of answers is looked into.
const CHECK_EVERY: u64 = 64;

/// Connects and keeps the server busy for `time`.
pub(super) fn run(
    dialect: &Dialect,
    server: SocketAddr,
    verb: Verb,
    shape: Shape,
    time: Duration,
) -> Result<Outcome> {
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(shape.connections);
    for number in 0..shape.connections {
        let mut stream = std::net::TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        dialect.greet(&mut stream)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let (out, input) = (Vec::new(), Vec::new());
        connections.push(Connection { stream, out, written: 0, input, under_way: VecDeque::new() });
    }
    let requests = match verb {
        Verb::Get => &dialect.gets,
        Verb::Set => &dialect.sets,
    };
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next_key = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 32) as usize % requests.len()
    };
    let mut latencies: Vec<u32> = Vec::new();
    let (mut events, mut chunk) = (Events::with_capacity(256), vec![0; 64 << 10]);
    let (begin, mut answered) = (Instant::now(), 0_u64);
    for connection in &mut connections {
        connection.ask(shape.in_flight, Instant::now(), requests, &mut next_key)?;
    }
    while begin.elapsed() < time {
        poll.poll(&mut events, Some(Duration::from_secs(5)))?;
        if events.is_empty() {
            return Err(Error::new(ErrorKind::TimedOut, "the server has not answered for 5 s"));
        }
        for event in &events {
            let connection = &mut connections[event.token().0];
            connection.flush()?;
            loop {
                let read = match connection.stream.read(&mut chunk) {
                    Ok(0) => return Err(Error::other("the server closed a connection under load")),
                    Ok(read) => read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                connection.input.extend_from_slice(&chunk[..read]);
                let now = Instant::now();
                let (mut at, mut done) = (0, 0);
                while let Some(length) = dialect.answer(&connection.input[at..]) {
                    let answer = &connection.input[at..at + length];
                    let asked = match dialect.key_of(answer) {
                        None => Some(0),
                        Some(key) => connection.under_way.iter().position(|(_, asked)| *asked == key),
                    };
                    let Some((sent, key)) = asked.and_then(|place| connection.under_way.remove(place)) else {
                        return Err(Error::other("an answer that nobody asked for"));
                    };
                    if verb == Verb::Get && answered % CHECK_EVERY == 0 {
                        dialect.check_hit(answer, key).map_err(Error::other)?;
                    }
                    latencies.push(now.duration_since(sent).as_nanos().min(u128::from(u32::MAX)) as u32);
                    at += length;
                    done += 1;
                    answered += 1;
                }
                connection.input.drain(..at);
                connection.ask(done, now, requests, &mut next_key)?;
                if read < chunk.len() {
                    break;
                }
            }
        }
    }
    let took = begin.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let percentile = |share: f64| {
        let at = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
        latencies.get(at).map_or(0.0, |nanos| f64::from(*nanos) / 1e3)
    };
    Ok(Outcome { per_second: answered as f64 / took, p50_us: percentile(0.50), p99_us: percentile(0.99) })
}

/// Sets every key once, with many requests in flight.
pub(super) fn fill(dialect: &Dialect, server: SocketAddr) -> Result<()> {
    const WINDOW: usize = 256;
    let mut stream = std::net::TcpStream::connect(server)?;
    dialect.greet(&mut stream)?;
    let (mut input, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    for window in dialect.sets.chunks(WINDOW) {
        stream.write_all(&window.concat())?;
        let mut answered = 0;
        while answered < window.len() {
            let read = stream.read(&mut chunk)?;
            if read == 0 {
                return Err(Error::other("the server closed the connection while it was filled"));
            }
            input.extend_from_slice(&chunk[..read]);
            let mut at = 0;
            while let Some(length) = dialect.answer(&input[at..]) {
                at += length;
                answered += 1;
            }
            input.drain(..at);
        }
    }
    Ok(())
}

impl Connection {
    fn ask(
        &mut self,
        count: usize,
        now: Instant,
        requests: &[bytes::Bytes],
        next_key: &mut impl FnMut() -> usize,
    ) -> Result<()> {
        for _ in 0..count {
            let key = next_key();
            self.out.extend_from_slice(&requests[key]);
            self.under_way.push_back((now, key));
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }
}
