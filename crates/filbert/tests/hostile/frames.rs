//! Mutated frames, by the million in the long run: nothing crashes, nothing grows, a bystander is served.
//!
//! `FILBERT_FRAMES` says how many; without it, as many as fit into a few seconds.

use crate::bystander::{Bystander, MAP};
use crate::line::{Client, authentication};
use crate::mutation::Mutator;
use crate::process::Process;
use filbert_wire::message::Request;
use filbert_wire::messages::client::{DestroyProxy, GetDistributedObjects};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Without a count: how long frames are sent before the memory is looked at for the first time, and after.
const WARM_UP: Duration = Duration::from_secs(3);
const SHARE: Duration = Duration::from_secs(3);

/// As many frames at least warm the member up: on a busy machine few fit into that time, and what comes later would look like growth.
/// They are waited for so long, and so is the bystander.
const WARM_UP_FRAMES: u64 = 20_000;
const WARM_UP_AT_MOST: Duration = Duration::from_secs(300);

/// What the member may have grown by since it was warm.
const GROWTH: usize = 16 << 20;

/// The bystander is served more often than that meanwhile.
const SERVED: u64 = 10;

const ATTACKERS: u64 = 3;

/// How long a connection that takes nothing and says nothing is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

struct Attack {
    address: SocketAddr,
    sent: AtomicU64,
    /// Connections that the member closed.
    closed: AtomicU64,
    end: AtomicBool,
}

impl Attack {
    fn run(&self, seed: u64) {
        let mut mutator = Mutator::new(seed);
        while !self.end.load(Ordering::Relaxed) {
            let Some(mut stream) = self.connect(&mut mutator) else { continue };
            stream.set_nonblocking(true).unwrap();
            let lives = (0..mutator.below(12)).all(|_| {
                let count = 1 + mutator.below(32);
                let batch: Vec<u8> = (0..count).flat_map(|_| mutator.soft()).collect();
                self.sent.fetch_add(count as u64, Ordering::Relaxed);
                push(&mut stream, &batch)
            });
            self.sent.fetch_add(1, Ordering::Relaxed);
            if !(lives && push(&mut stream, &mutator.hard())) {
                self.closed.fetch_add(1, Ordering::Relaxed);
            }
            wait_until_closed(&mut stream);
        }
    }

    /// A connection, most often one that is logged in; `None` when the member or the system has no more of them just now.
    fn connect(&self, mutator: &mut Mutator) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_nodelay(true).unwrap();
        let mut hello = bytes::BytesMut::from(&b"CP2"[..]);
        match mutator.below(8) {
            0 => {}
            1 => hello[mutator.below(3)] = mutator.next() as u8,
            _ => authentication().encode(1, -1, &mut hello),
        }
        stream.write_all(&hello).ok()?;
        Some(stream)
    }
}

/// Sends all, and reads what comes meanwhile; false when the member closed the connection or takes no more.
fn push(stream: &mut TcpStream, mut bytes: &[u8]) -> bool {
    let mut since = Instant::now();
    let mut sink = [0; 16 << 10];
    loop {
        match stream.read(&mut sink) {
            Ok(0) => return false,
            Ok(_) => since = Instant::now(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        if bytes.is_empty() {
            return true;
        }
        match stream.write(bytes) {
            Ok(count) => {
                bytes = &bytes[count..];
                since = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if since.elapsed() > PATIENCE {
                    return false;
                }
                std::thread::yield_now();
            }
            Err(_) => return false,
        }
    }
}

/// Waits until the member is done with the connection: memory that many connections at a time take is another matter.
fn wait_until_closed(stream: &mut TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut sink = [0; 16 << 10];
    while stream.read(&mut sink).is_ok_and(|count| count > 0) {}
}

/// Destroys what the attackers made: what they stored is no leak.
fn clean(client: &mut Client) {
    for object in client.call(&GetDistributedObjects {}).unwrap().objects {
        if &*object.name != MAP {
            let destroy = DestroyProxy { name: object.name, service_name: object.service_name };
            client.call(&destroy).unwrap();
        }
    }
}

#[test]
fn mutated_frames_harm_nobody() {
    let frames: Option<u64> =
        std::env::var("FILBERT_FRAMES").ok().map(|count| count.replace('_', "").parse().unwrap());
    let member = Process::start("structures = 40");
    let bystander = Bystander::start(&member);
    let attack = Attack {
        address: member.address(),
        sent: AtomicU64::new(0),
        closed: AtomicU64::new(0),
        end: AtomicBool::new(false),
    };
    let begin = Instant::now();
    let (mut warm, mut warm_since, mut most) = (None, Duration::MAX, 0);
    std::thread::scope(|scope| {
        for seed in 0..ATTACKERS {
            let attack = &attack;
            scope.spawn(move || attack.run(seed + 1));
        }
        let mut janitor = member.client();
        let mut look = || {
            clean(&mut janitor);
            // sleeps because connections that ended give back what they had a little later.
            std::thread::sleep(Duration::from_millis(100));
            clean(&mut janitor);
            assert!(member.is_alive(), "the member died after {:?}", attack.sent);
            member.resident()
        };
        loop {
            let sent = attack.sent.load(Ordering::Relaxed);
            let elapsed = begin.elapsed();
            let has_all = sent >= WARM_UP_FRAMES || elapsed >= WARM_UP_AT_MOST;
            let (is_warm, is_over) = match frames {
                Some(frames) => (sent >= frames / 5, sent >= frames),
                None => {
                    let is_served = bystander.served() > SERVED || elapsed >= WARM_UP_AT_MOST;
                    (elapsed >= WARM_UP && has_all, elapsed.saturating_sub(SHARE) >= warm_since && is_served)
                }
            };
            let resident = look();
            match warm {
                None if is_warm => (warm, warm_since) = (Some(resident), elapsed),
                Some(_) => most = most.max(resident),
                None => {}
            }
            if is_over {
                break;
            }
        }
        attack.end.store(true, Ordering::Relaxed);
    });
    let served = bystander.end();
    let mut last = member.client();
    clean(&mut last);
    let (sent, closed) = (attack.sent.into_inner(), attack.closed.into_inner());
    let (warm, end) = (warm.unwrap_or(0), member.resident());
    println!(
        "{sent} frames in {:.1} s, {closed} connections closed by the member, bystander served {served} times, \
         resident: warm {} KB, at most {} KB, in the end {} KB",
        begin.elapsed().as_secs_f64(),
        warm >> 10,
        most >> 10,
        end >> 10
    );
    assert!(sent > 1_000 && served > SERVED, "{sent} frames, {served} times served");
    assert!(end < warm + GROWTH, "it grew from {warm} to {end} bytes");
}
