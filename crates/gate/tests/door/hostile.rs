//! Frames that nobody sane sends: the member lives, and a bystander is served.

use crate::line::{Client, Member, authentication, int};
use bytes::BytesMut;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_wire::message::{Request, Version, sample};
use filbert_wire::messages::MESSAGES;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::map;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// How long mutated frames are sent in one run of the tests.
const SHARE: Duration = Duration::from_secs(3);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Changes some bytes, or one length, or cuts the end off.
fn mutate(frame: &mut BytesMut, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(frame.len());
        match random.below(4) {
            0 => frame[at] = random.next() as u8,
            1 => frame[at] ^= 1 << random.below(8),
            2 => {
                let odd = [0, 1, -1, 5, 6, 7, 4096, 4097, 16 << 20, (16 << 20) + 1, i32::MAX, i32::MIN];
                let odd = odd[random.below(odd.len())].to_le_bytes();
                let length = odd.len().min(frame.len() - at);
                frame[at..at + length].copy_from_slice(&odd[..length]);
            }
            _ => frame.truncate(at.max(1)),
        }
    }
}

/// Sends mutated messages until the member closes or some were sent; whether it is still open.
fn bombard(client: &mut Client, random: &mut Random) -> bool {
    client.stream.set_nonblocking(false).unwrap();
    client.stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    for _ in 0..50 {
        let row = &MESSAGES[random.below(MESSAGES.len())];
        let mut frame = BytesMut::new();
        sample(&row.request, Version::NEWEST, 5, &mut || random.next(), &mut frame);
        mutate(&mut frame, random);
        if client.stream.write_all(&frame).is_err() {
            return false;
        }
        let mut sink = [0; 64 << 10];
        if matches!(client.stream.read(&mut sink), Ok(0)) {
            return false;
        }
    }
    true
}

#[test]
fn mutated_frames_harm_nobody() {
    let member = Member::start();
    let mut bystander = member.client();
    let mut random = Random(11);
    let begin = Instant::now();
    let mut rounds = 0;
    while begin.elapsed() < SHARE {
        let mut client = if rounds % 3 == 0 { Client::connect(member.address()) } else { member.client() };
        bombard(&mut client, &mut random);
        let set =
            map::Set { name: "by".into(), key: int(rounds), value: int(rounds), thread_id: 1, ttl_ms: -1 };
        bystander.call(&set).unwrap();
        let found = bystander.call(&map::Get { name: "by".into(), key: int(rounds), thread_id: 1 }).unwrap();
        assert_eq!(found.value, Some(int(rounds)));
        rounds += 1;
    }
    assert!(rounds > 3, "only {rounds} rounds");
}

/// Every length that a frame can claim, before and after login.
#[test]
fn odd_lengths_close_or_wait_and_nothing_else() {
    let member = Member::start();
    let most = HazelcastSettings::default().message_bytes as i32;
    let lengths = [0, 1, -1, 5, 4 << 10, (4 << 10) + 1, most, most + 1, i32::MAX, i32::MIN];
    for logged_in in [false, true] {
        for length in lengths {
            let mut client = Client::connect(member.address());
            if logged_in {
                assert_eq!(client.log_in(&authentication()).status, 0);
            }
            let mut out = BytesMut::new();
            Ping {}.encode(1, -1, &mut out);
            out[..4].copy_from_slice(&length.to_le_bytes());
            client.stream.write_all(&out).unwrap();
            let limit = if logged_in { most } else { 4 << 10 };
            if length < 6 || length > limit {
                assert!(client.is_closed(), "{length}");
            }
        }
    }
    assert!(member.client().call(&Ping {}).is_ok());
}

#[test]
fn a_malformed_message_is_answered_with_an_error() {
    let member = Member::start();
    let mut client = member.client();
    let mut out = BytesMut::new();
    map::Get { name: "m".into(), key: int(1), thread_id: 1 }.encode(77, -1, &mut out);
    // The key's frame becomes the last one of a message that ends too early.
    let mut short = BytesMut::new();
    Ping {}.encode(77, -1, &mut short);
    short[6..10].copy_from_slice(&map::Get::ID.to_le_bytes());
    client.stream.write_all(&short).unwrap();
    assert_eq!(client.answer_to(77).id(), 0);
    assert!(client.call(&Ping {}).is_ok());
    assert_eq!(member.door.counts().malformed, 1);
}
