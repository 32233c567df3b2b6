//! Bytes that are no messages: the connection ends, the door stays.

use crate::client::{Client, Member, eventually};
use filbert_net::CloseReason;

/// Pseudo-random bytes that are the same every time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

#[track_caller]
fn stands(member: &Member) {
    assert_eq!(member.client().query("SELECT 1 AS a").ok().texts(), [["1"]]);
    assert_eq!(member.door.stats().closed_by(CloseReason::Panicked), 0);
}

#[test]
fn noise_before_the_login_ends_the_connection() {
    let member = Member::start();
    for seed in 1..200 {
        let mut client = Client::connect(member.address());
        let _ = std::io::Write::write_all(&mut client.wire, &noise(seed, (seed as usize * 7) % 300 + 1));
    }
    let mut web = Client::connect(member.address());
    web.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    web.until_ready();
    eventually("all are gone", || member.door.stats().connections == 0);
    stands(&member);
}

#[test]
fn every_kind_of_message_with_noise_in_it_ends_the_connection_or_fails() {
    let member = Member::with_cities();
    for kind in 0_u8..=255 {
        for seed in 0..3 {
            let mut client = member.client();
            let body = noise(u64::from(kind) * 3 + seed, (seed as usize) * 11);
            client.send(kind as char, &body);
            // Whatever it was taken for: after this there is nothing more to say.
            client.send('X', &[]);
            while client.receive().is_some() {}
        }
    }
    stands(&member);
    assert!(member.door.counts().malformed > 0);
}

#[test]
fn lengths_that_lie_end_the_connection() {
    let member = Member::start();
    for length in [i32::MIN, -1, 0, 1, 3, i32::MAX] {
        let mut client = member.client();
        let mut bytes = vec![b'Q'];
        bytes.extend_from_slice(&length.to_be_bytes());
        client.raw(&bytes);
        let reply = client.until_ready();
        assert!(matches!(reply.code(), "08P01" | "54000"), "{length}: {reply:?}");
        let mut stranger = Client::connect(member.address());
        stranger.raw(&length.to_be_bytes());
        let reply = stranger.until_ready();
        assert!(matches!(reply.code(), "08P01" | "54000"), "{length}: {reply:?}");
    }
    stands(&member);
}

#[test]
fn texts_and_numbers_at_their_limits_do_no_harm() {
    let member = Member::start();
    let mut client = member.client();
    // Text that is not UTF-8 ends the connection: what follows it cannot be trusted either.
    client.send('Q', b"SELECT '\xff\xfe'\0");
    assert_eq!(client.until_ready().code(), "22021");
    let mut client = member.client();
    let deep = format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(client.query(&deep).code(), "54001");
    let flat = format!("SELECT version() WHERE {}", vec!["true"; 50_000].join(" OR "));
    assert_eq!(client.query(&flat).code(), "54001");
    // A parameter with the highest number that there is, and one beyond.
    client.parse("", "SELECT $65535 AS v", &[]);
    client.sync();
    client.parse("", "SELECT $99999999999999999999 AS v", &[]);
    assert_eq!(client.sync().errors.len(), 1);
    client.query("SELECT 1").ok();
    stands(&member);
}
