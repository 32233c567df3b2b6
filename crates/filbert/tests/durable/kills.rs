//! `kill -9` while clients write: what was acknowledged is there afterwards, and what is there was written.

use crate::line::{Client, int};
use crate::member;
use bytes::BytesMut;
use filbert_wire::Data;
use filbert_wire::message::Request;
use filbert_wire::messages::error::{ERROR_ID, ErrorResponse};
use filbert_wire::messages::map;
use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

/// Rounds of one run of the test; `FILBERT_KILLS` says otherwise.
const ROUNDS: u32 = 20;

const WRITERS: i32 = 4;

/// Keys of each writer: few, so that they are written over again and again.
const KEYS: i32 = 50;

/// What a writer knows of its keys: the last value that was acknowledged, and the one that was under way.
#[derive(Default)]
struct Known {
    acknowledged: HashMap<i32, Option<i32>>,
    under_way: Option<(i32, Option<i32>)>,
}

fn value(number: i32) -> Data {
    // Long enough that the log is folded now and then.
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(200, number as u8);
    Data::new(-12, &payload)
}

fn number(value: &Data) -> i32 {
    let bytes = value.as_bytes();
    let number = i32::from_be_bytes(bytes[8..12].try_into().unwrap());
    assert_eq!(*value, self::value(number), "a value that nobody wrote");
    number
}

/// Sends a request to a member that may be gone; whether it was answered, and not with an error.
pub(crate) fn try_call<R: Request>(client: &mut Client, correlation: i64, request: &R) -> bool {
    let mut out = BytesMut::new();
    request.encode(correlation, -1, &mut out);
    if client.stream.write_all(&out).is_err() {
        return false;
    }
    while let Some(answer) = client.receive() {
        if answer.correlation() == correlation {
            assert!(answer.id() != ERROR_ID, "{:?}", ErrorResponse::decode(&answer));
            return true;
        }
    }
    false
}

/// Writes until the member is gone.
fn write(mut client: Client, writer: i32, round: i32, mut known: Known) -> Known {
    for step in 0.. {
        let key = writer * KEYS + step % KEYS;
        let new = (step % 7 != 6).then_some(round * 1_000_000 + step);
        known.under_way = Some((key, new));
        let correlation = 1_000 + i64::from(step);
        let name = "orders".into();
        let written = match new {
            Some(new) => {
                let set = map::Set { name, key: int(key), value: value(new), thread_id: 1, ttl_ms: -1 };
                try_call(&mut client, correlation, &set)
            }
            None => try_call(&mut client, correlation, &map::Delete { name, key: int(key), thread_id: 1 }),
        };
        if !written {
            return known;
        }
        known.acknowledged.insert(key, new);
    }
    known
}

#[test]
fn every_acknowledged_write_is_there_after_a_kill() {
    let rounds = std::env::var("FILBERT_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let folder = tempfile::tempdir().unwrap();
    let mut writers: Vec<Known> = std::iter::repeat_with(Known::default).take(WRITERS as usize).collect();
    let mut acknowledged = 0;
    for round in 0..rounds as i32 {
        let member = member(folder.path(), "always");
        check(&mut member.client(), &mut writers, round);
        // Logged in before the member can be killed.
        let clients: Vec<Client> = writers.iter().map(|_| member.client()).collect();
        writers = std::thread::scope(|scope| {
            let begun: Vec<_> = writers
                .drain(..)
                .zip(clients)
                .zip(0..)
                .map(|((known, client), writer)| scope.spawn(move || write(client, writer, round, known)))
                .collect();
            // sleeps because the member is to be killed in the middle of something, at another moment each time
            std::thread::sleep(Duration::from_millis(20 + u64::from(round as u32 * 37 % 160)));
            // Dropped, it is killed: SIGKILL.
            drop(member);
            begun.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        acknowledged += writers.iter().map(|known| known.acknowledged.len()).sum::<usize>();
    }
    let member = member(folder.path(), "always");
    check(&mut member.client(), &mut writers, rounds as i32);
    assert!(acknowledged > 0);
    println!("{rounds} kills");
}

/// Compares what the member has with what the writers know; where a write was under way, either is right, and then known.
fn check(client: &mut Client, writers: &mut [Known], round: i32) {
    for (writer, known) in writers.iter_mut().enumerate() {
        for key in (0..KEYS).map(|key| writer as i32 * KEYS + key) {
            let found =
                client.call(&map::Get { name: "orders".into(), key: int(key), thread_id: 1 }).unwrap();
            let found = found.value.as_ref().map(number);
            let expected = known.acknowledged.get(&key).copied().flatten();
            match known.under_way {
                Some((under_way, new)) if under_way == key && found == new => {
                    known.acknowledged.insert(key, new);
                }
                _ => assert_eq!(found, expected, "key {key} before round {round}"),
            }
        }
        known.under_way = None;
    }
}
