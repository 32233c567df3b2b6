//! Every length and number that a message holds, at and beyond its bounds, before and after login.

use crate::line::{Client, Member, authentication, eventually};
use bytes::BytesMut;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_wire::frame::Limits;
use filbert_wire::message::{MessageRow, Version, sample};
use filbert_wire::messages::MESSAGES;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::ERROR_ID;
use std::io::Write;

/// What a frame has at least: its own header.
const FRAME_HEADER: usize = 6;

/// Type, correlation and partition: what is before the first field.
const REQUEST_HEADER: usize = 16;

/// What a length is set to, where `limit` is the most that is taken.
fn odd_lengths(limit: usize) -> [i32; 9] {
    let limit = i32::try_from(limit).unwrap();
    [0, 1, -1, limit - 1, limit, limit + 1, i32::MAX, i32::MIN, 5]
}

/// What a number of 64 bits is set to; its lower half is what a number of 32 bits in its place is set to.
const ODD_NUMBERS: [i64; 7] = [0, 1, -1, i32::MAX as i64, i32::MIN as i64, i64::MAX, i64::MIN];

/// A message of a row, and where its frames begin.
fn message(row: &MessageRow, seed: u64) -> (BytesMut, Vec<usize>) {
    let mut random = seed;
    let mut out = BytesMut::new();
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 20
    };
    sample(&row.request, Version::NEWEST, 7, &mut next, &mut out);
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < out.len() {
        starts.push(at);
        at += i32::from_le_bytes(out[at..at + 4].try_into().unwrap()) as usize;
    }
    assert_eq!(at, out.len());
    (out, starts)
}

/// Sends every message with every length of its frames replaced, each on a connection of its own.
fn every_length(member: &Member, logged_in: bool) {
    let most = match logged_in {
        true => HazelcastSettings::default().message_bytes,
        false => Limits::BEFORE_LOGIN.frame_bytes,
    };
    let mut sent = 0;
    for row in MESSAGES {
        let (message, starts) = message(row, u64::from(row.id));
        for start in starts {
            for length in odd_lengths(most) {
                let mut client = Client::connect(member.address());
                if logged_in {
                    assert_eq!(client.log_in(&authentication()).status, 0);
                }
                let mut changed = message.clone();
                changed[start..start + 4].copy_from_slice(&length.to_le_bytes());
                client.stream.write_all(&changed).unwrap();
                sent += 1;
                // Others are waited for, or end inside what follows; nobody waits for them here.
                let is_possible = usize::try_from(length).is_ok_and(|length| length >= FRAME_HEADER);
                if is_possible && length as usize > most && logged_in && start > 0 {
                    // Whom to answer is known: its client hears why, and the rest of the message is thrown away as it comes.
                    let told =
                        client.receive().unwrap_or_else(|| panic!("{} with {length} at {start}", row.name));
                    assert_eq!((told.id(), told.correlation()), (ERROR_ID, 7), "{}", row.name);
                } else if !is_possible || length as usize > most {
                    assert!(client.is_closed(), "{} with {length} at {start}", row.name);
                }
            }
        }
    }
    assert!(sent > 9 * MESSAGES.len());
    assert!(member.client().call(&Ping {}).is_ok());
}

#[test]
fn a_length_that_cannot_be_closes_the_connection_before_login() {
    every_length(&Member::start(), false);
}

#[test]
fn a_length_that_cannot_be_closes_the_connection_after_login() {
    every_length(&Member::start(), true);
}

/// Numbers in messages are sizes, counts, times and places too: none is believed.
#[test]
fn odd_numbers_are_answered_or_wait() {
    let member = Member::start();
    for row in MESSAGES {
        let (message, starts) = message(row, u64::from(row.id));
        let end = starts.get(1).copied().unwrap_or(message.len());
        let mut client = member.client();
        for at in FRAME_HEADER + REQUEST_HEADER..end {
            for odd in ODD_NUMBERS {
                let mut changed = message.clone();
                let room = (end - at).min(8);
                changed[at..at + room].copy_from_slice(&odd.to_le_bytes()[..room]);
                client.stream.write_all(&changed).unwrap();
            }
        }
        // Answers may be many or none, if it waits: this one comes in any case.
        assert!(client.call(&Ping {}).is_ok(), "{}", row.name);
    }
    eventually("every client that went away is forgotten", || member.door.clients().is_empty());
}

/// The lengths inside values: of strings, arrays and lists, 32 bits each, big-endian.
#[test]
fn odd_lengths_inside_values_are_answered_or_wait() {
    let member = Member::start();
    for row in MESSAGES {
        let (message, starts) = message(row, u64::from(row.id));
        let mut client = member.client();
        for start in starts.iter().skip(1) {
            let length = i32::from_le_bytes(message[*start..start + 4].try_into().unwrap()) as usize;
            for at in (start + FRAME_HEADER..(start + length).saturating_sub(3)).step_by(4) {
                for odd in odd_lengths(Limits::AFTER_LOGIN.frame_bytes) {
                    let mut changed = message.clone();
                    changed[at..at + 4].copy_from_slice(&odd.to_be_bytes());
                    client.stream.write_all(&changed).unwrap();
                }
            }
        }
        assert!(client.call(&Ping {}).is_ok(), "{}", row.name);
    }
}
