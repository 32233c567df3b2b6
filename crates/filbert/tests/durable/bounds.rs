//! `kill -9` while clients write to a map whose answers do not wait for the disk: what is lost is the end, and no more than is promised.

use crate::kills::try_call;
use crate::line::{Client, eventually, int};
use crate::process::Process;
use filbert_wire::Data;
use filbert_wire::messages::map;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const WRITERS: i32 = 4;

/// Keys of each writer.
const KEYS: i32 = 20;

/// Bytes of a value: some megabytes are soon written.
const BYTES: usize = 16 << 10;

/// Acknowledged before a kill: far more than may be lost.
const WRITTEN: u64 = 64 << 20;

/// What may be lost: a group that is written, and one that waits (`docs/persistence.md`), each up to 8 MiB and the change that filled it.
const MAY_BE_LOST: u64 = (16 << 20) + 2 * BYTES as u64;

fn member(data: &Path, fsync: &str) -> Process {
    Process::start(&format!(
        "[grid]\ndata_directory = '{}'\n[map.orders.persistence]\nfsync = '{fsync}'",
        data.display()
    ))
}

fn value(number: i32) -> Data {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(BYTES, number as u8);
    Data::new(-12, &payload)
}

/// What a writer did since a start: the keys and values in order, the last one under way.
#[derive(Default)]
struct Written {
    /// What its keys held before.
    before: HashMap<i32, i32>,
    steps: Vec<(i32, i32)>,
}

/// Writes until the member is gone.
fn write(
    mut client: Client,
    writer: i32,
    numbers: std::ops::RangeFrom<i32>,
    all: &AtomicU64,
) -> Vec<(i32, i32)> {
    let mut steps = Vec::new();
    for number in numbers {
        let key = writer * KEYS + number % KEYS;
        steps.push((key, number));
        let (name, correlation) = ("orders".into(), 1_000 + i64::from(number));
        let set = map::Set { name, key: int(key), value: value(number), thread_id: 1, ttl_ms: -1 };
        if !try_call(&mut client, correlation, &set) {
            return steps;
        }
        all.fetch_add(BYTES as u64, Ordering::Relaxed);
    }
    steps
}

impl Written {
    /// Finds after which step the keys were as they are, and how many acknowledged steps came later.
    fn lost(&mut self, client: &mut Client, writer: i32) -> usize {
        let mut found = HashMap::new();
        for key in (0..KEYS).map(|key| writer * KEYS + key) {
            let get = map::Get { name: "orders".into(), key: int(key), thread_id: 1 };
            if let Some(there) = client.call(&get).unwrap().value {
                let number = i32::from_be_bytes(there.payload()[..4].try_into().unwrap());
                assert_eq!(there, value(number), "a value that nobody wrote");
                found.insert(key, number);
            }
        }
        let mut then = self.before.clone();
        let mut last = (then == found).then_some(0);
        for (done, (key, number)) in self.steps.iter().enumerate() {
            then.insert(*key, *number);
            if then == found {
                last = Some(done + 1);
            }
        }
        let last = last.unwrap_or_else(|| panic!("writer {writer}: it was never so: {found:?}"));
        // The last step was under way.
        let lost = self.steps.len().saturating_sub(1).saturating_sub(last);
        *self = Self { before: found, steps: Vec::new() };
        lost
    }
}

#[test]
fn no_more_is_lost_than_is_promised() {
    for fsync in ["interval", "never"] {
        let folder = tempfile::tempdir().unwrap();
        let mut all: Vec<Written> = (0..WRITERS).map(|_| Written::default()).collect();
        let mut first_number = 0;
        for round in 0..3 {
            let member = member(folder.path(), fsync);
            let clients: Vec<Client> = all.iter().map(|_| member.client()).collect();
            let acknowledged = AtomicU64::new(0);
            std::thread::scope(|scope| {
                let acknowledged = &acknowledged;
                let begun: Vec<_> = (0..WRITERS)
                    .zip(clients)
                    .map(|(writer, client)| {
                        scope.spawn(move || write(client, writer, first_number.., acknowledged))
                    })
                    .collect();
                eventually("enough is written", || acknowledged.load(Ordering::Relaxed) >= WRITTEN);
                // Dropped, it is killed: SIGKILL.
                drop(member);
                for (written, writer) in all.iter_mut().zip(begun) {
                    written.steps = writer.join().unwrap();
                }
            });
            first_number = all
                .iter()
                .filter_map(|written| written.steps.last())
                .map(|(_, last)| last + 1)
                .max()
                .unwrap();
            let again = self::member(folder.path(), fsync);
            let mut client = again.client();
            let lost: usize =
                (0..).zip(&mut all).map(|(writer, written)| written.lost(&mut client, writer)).sum();
            println!(
                "{fsync}, round {round}: {lost} of {} changes lost",
                acknowledged.into_inner() / BYTES as u64
            );
            assert!((lost * BYTES) as u64 <= MAY_BE_LOST, "{fsync}, round {round}: {lost} changes lost");
        }
    }
}

/// Until its log has a file a kill would take all of a map: its first changes wait for that, whatever is set.
#[test]
fn the_first_change_of_a_map_is_not_lost() {
    for fsync in ["interval", "never"] {
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let member = member(folder.path(), fsync);
            let set =
                map::Set { name: "orders".into(), key: int(1), value: value(7), thread_id: 1, ttl_ms: -1 };
            member.client().call(&set).unwrap();
            drop(member);
            let get = map::Get { name: "orders".into(), key: int(1), thread_id: 1 };
            let there = self::member(folder.path(), fsync).client().call(&get).unwrap().value;
            assert!(there == Some(value(7)), "{fsync}: the first change is lost");
        }
    }
}
