//! Hostile inputs for every decoder, by the hundred million in the long run: frames, the fields of every message, `Data`, Compact, Portable.
//! None panics, none hangs, and memory stays bounded.
//!
//! `FILBERT_DECODER_INPUTS` says how many; without it, as many as fit into seconds. Every input is made from its number alone, so one
//! that fails is made again: `FILBERT_DECODER_FIRST=<number> FILBERT_DECODER_INPUTS=1`.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod support;

use bytes::BytesMut;
use filbert_wire::compact::{CompactRecord, Schema};
use filbert_wire::frame::{Limits, Splitter};
use filbert_wire::message::{MessageReader, sample};
use filbert_wire::messages::MESSAGES;
use filbert_wire::portable::{PortableField, PortableReader};
use filbert_wire::{Data, Decimal, FromData, Json, ToData, Value, type_id};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::node::{Node, node};
use support::{VERSIONS, parts, random};

/// Inputs without the variable.
const SHARE: u64 = 50_000;

/// Inputs that a thread takes at a time.
const CHUNK: u64 = 500;

/// An input that takes longer hangs.
const HANG: Duration = Duration::from_secs(60);

/// What the process may grow by, whatever the inputs say.
const GROWTH: usize = 128 << 20;

/// How often the long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(30);

/// A Portable object of a client: factory 1, class 1, version 0; ends at 42; one field at 36, no raw data: `f`, an int.
const PORTABLE: [i32; 7] = [1, 1, 0, 42, 1, 36, 0];

/// What inputs are made from, made once for each thread.
struct Seeds {
    nodes: Vec<Data>,
    portable: Data,
    schemas: HashMap<i64, Arc<Schema>>,
    /// Request, response and events of every message.
    parts: Vec<&'static filbert_wire::message::PartRow>,
}

impl Seeds {
    fn new() -> Self {
        let mut schemas = Vec::new();
        Node::schemas(&mut schemas);
        let mut portable = PORTABLE.map(i32::to_be_bytes).concat();
        portable.extend([0, 1, b'f', 5, 0, 0, 0, 7]);
        Self {
            nodes: (0..4).map(|depth| node(depth).to_data().unwrap()).collect(),
            portable: Data::new(type_id::PORTABLE, &portable),
            schemas: schemas.into_iter().map(|schema| (schema.id(), Arc::new(schema.clone()))).collect(),
            parts: MESSAGES.iter().flat_map(parts).collect(),
        }
    }

    /// Makes the input of this number and has it decoded.
    fn decode(&self, number: u64) {
        let mut random = random(number);
        match number % 8 {
            0..=3 => self.message(&mut random),
            4 => self.stream(&mut random),
            5 => self.any_data(&mut random),
            6 => self.compact(&mut random),
            _ => self.portable(&mut random),
        }
    }

    /// A valid message, changed in a few places.
    fn mutated_message(
        &self,
        random: &mut impl FnMut() -> u64,
    ) -> (&'static filbert_wire::message::PartRow, BytesMut) {
        let part = self.parts[below(random, self.parts.len())];
        let mut bytes = BytesMut::new();
        sample(part, VERSIONS[below(random, VERSIONS.len())], 1, random, &mut bytes);
        let mut changed = bytes.to_vec();
        mutate(&mut changed, random);
        (part, BytesMut::from(&changed[..]))
    }

    fn message(&self, random: &mut impl FnMut() -> u64) {
        let (part, bytes) = self.mutated_message(random);
        let length = bytes.len();
        let Ok(reader) = MessageReader::new(bytes.freeze()) else { return };
        let mut again = BytesMut::new();
        let decoded = (part.transcode)(&reader, VERSIONS[below(random, VERSIONS.len())], &mut again);
        let described = (part.describe)(&reader);
        assert_eq!(decoded.is_ok(), described.is_ok());
        assert!(again.len() <= length + 1000, "{length} bytes became {}", again.len());
    }

    /// Messages one behind the other, as they come from a socket: in pieces.
    fn stream(&self, random: &mut impl FnMut() -> u64) {
        let mut all = Vec::new();
        for _ in 0..=below(random, 3) {
            all.extend_from_slice(&self.mutated_message(random).1);
        }
        let limits =
            Limits { frame_bytes: 1 << 20, message_bytes: 1 << 20, open_fragments: below(random, 3) };
        let (mut splitter, mut buffer) = (Splitter::new(limits), BytesMut::new());
        for piece in all.chunks(1 + below(random, 200)) {
            buffer.extend_from_slice(piece);
            loop {
                match splitter.split(&mut buffer) {
                    Ok(Some(message)) => drop(MessageReader::new(message)),
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
        }
    }

    /// Words in which small numbers, lengths and type ids are frequent, under any type id.
    fn any_data(&self, random: &mut impl FnMut() -> u64) {
        let mut payload = Vec::new();
        for _ in 0..below(random, 12) {
            let word = match random() % 4 {
                0 => random() as i32,
                1 => below(random, 40) as i32,
                2 => -(below(random, 60) as i32),
                _ => [i32::MAX, i32::MIN, type_id::ARRAY_LIST, type_id::NULL][below(random, 4)],
            };
            payload.extend_from_slice(&word.to_be_bytes());
        }
        let type_id = match random() % 8 {
            0 => random() as i32,
            1 => type_id::JSON,
            _ => 2 - below(random, 60) as i32,
        };
        self.read(&Data::new(type_id, &payload));
    }

    fn compact(&self, random: &mut impl FnMut() -> u64) {
        let mut payload = self.nodes[below(random, self.nodes.len())].payload().to_vec();
        mutate(&mut payload, random);
        self.read(&Data::new(type_id::COMPACT, &payload));
    }

    fn portable(&self, random: &mut impl FnMut() -> u64) {
        let mut payload = self.portable.payload().to_vec();
        mutate(&mut payload, random);
        self.read(&Data::new(type_id::PORTABLE, &payload));
    }

    /// Reads a value in every way there is.
    fn read(&self, data: &Data) {
        if let Ok(value) = Value::from_data(data) {
            let again = value.to_data().expect("what was understood can be written");
            assert_eq!(Value::from_data(&again).unwrap().total_cmp(&value), std::cmp::Ordering::Equal);
        }
        let _ = String::from_data(data);
        let _ = i64::from_data(data);
        let _ = Vec::<Option<Vec<String>>>::from_data(data);
        let _ = Json::<HashMap<String, f64>>::from_data(data);
        let _ = Decimal::from_data(data).map(|number| number.to_string());
        let _ = Node::from_data(data);
        if let Ok(record) = CompactRecord::of_data(data, &self.schemas) {
            for field in record.schema().fields() {
                let _ = record.field(&field.name);
            }
            let _ = record.path(["first", "first", "text"]);
        }
        let mut reader = PortableReader::new(data.as_bytes());
        if let Ok(root) = reader.root()
            && let Ok(Some(PortableField::Record(within))) = reader.field(root, "f")
        {
            let _ = reader.opaque(within);
        }
    }
}

fn below(random: &mut impl FnMut() -> u64, bound: usize) -> usize {
    (random() % bound as u64) as usize
}

/// Changes one to four places: bits, bytes, numbers of either order, an end, a hole, something more.
fn mutate(bytes: &mut Vec<u8>, random: &mut impl FnMut() -> u64) {
    for _ in 0..1 + random() % 4 {
        if bytes.is_empty() {
            return;
        }
        let at = below(random, bytes.len());
        match random() % 7 {
            0 => bytes[at] ^= 1 << (random() % 8),
            1 => bytes[at] = random() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 1 + below(random, 8)).min(bytes.len()))),
            4 => drop(bytes.splice(at..at, random().to_le_bytes().into_iter().take(below(random, 8)))),
            kind => {
                let odd = [0, 1, -1, 5, 7, 4096, 1 << 24, i32::MAX, i32::MIN][below(random, 9)];
                let odd = if kind == 5 { odd.to_le_bytes() } else { odd.to_be_bytes() };
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&odd[..end - at]);
            }
        }
    }
}

/// A run, by all threads.
struct Run {
    next: AtomicU64,
    end: u64,
    done: AtomicU64,
}

impl Run {
    /// Decodes until there is no more; `at` says all the while which input is decoded.
    fn work(&self, at: &AtomicU64) {
        let seeds = Seeds::new();
        loop {
            let first = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            if first >= self.end {
                return;
            }
            let last = (first + CHUNK).min(self.end);
            for number in first..last {
                at.store(number, Ordering::Relaxed);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| seeds.decode(number))) {
                    println!("input {number} made a decoder panic");
                    self.next.store(self.end, Ordering::Relaxed);
                    self.done.store(self.end, Ordering::Relaxed);
                    resume_unwind(panic);
                }
            }
            self.done.fetch_add(last - first, Ordering::Relaxed);
        }
    }

    /// Looks at the memory and at how long inputs take, until all are done; the most memory.
    fn watch(&self, total: u64, workers: &[AtomicU64]) -> usize {
        let (begin, mut said, mut most) = (Instant::now(), Instant::now(), 0);
        let mut seen = vec![(u64::MAX, Instant::now()); workers.len()];
        loop {
            let done = self.done.load(Ordering::Relaxed);
            if done >= total {
                return most;
            }
            for (worker, (input, since)) in workers.iter().zip(&mut seen) {
                let now = worker.load(Ordering::Relaxed);
                if now != *input {
                    (*input, *since) = (now, Instant::now());
                } else if now != u64::MAX && since.elapsed() > HANG {
                    // The thread cannot be ended, so the process is.
                    println!("input {now} hangs");
                    std::process::abort();
                }
            }
            most = most.max(resident());
            if said.elapsed() > PROGRESS {
                said = Instant::now();
                let rate = done as f64 / begin.elapsed().as_secs_f64();
                println!("{done} of {total} inputs, {rate:.0} per second, {} KB resident", most >> 10);
            }
            // sleeps because the workers tell nobody how far they are, and need the processors meanwhile
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What this process holds of the memory of this machine, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|number| number.replace('_', "").parse().unwrap())
}

#[test]
fn no_input_makes_trouble() {
    let first = number("FILBERT_DECODER_FIRST").unwrap_or(0);
    let total = number("FILBERT_DECODER_INPUTS").unwrap_or(SHARE);
    let run = Run { next: AtomicU64::new(first), end: first + total, done: AtomicU64::new(0) };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let workers: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect();
    let (begin, before) = (Instant::now(), resident());
    let most = std::thread::scope(|scope| {
        for at in &workers {
            let run = &run;
            scope.spawn(move || {
                run.work(at);
                at.store(u64::MAX, Ordering::Relaxed);
            });
        }
        run.watch(total, &workers)
    });
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{total} inputs in {seconds:.1} s, {:.0} per second, at most {} KB resident",
        total as f64 / seconds,
        most >> 10
    );
    assert!(most < before + GROWTH, "it grew from {before} to {most} bytes");
}
