//! Hostile messages: whatever the bytes, a decoder answers with a message or a typed error, and what it made is no larger than they are.

mod support;

use bytes::{Bytes, BytesMut};
use filbert_wire::message::{MessageReader, PartRow, Version, sample};
use filbert_wire::messages::MESSAGES;
use support::{frames, parts, random};

/// Decodes, describes and writes again whatever that is, as every message's codec reads it.
fn survive(part: &PartRow, bytes: &Bytes) -> bool {
    let Ok(reader) = MessageReader::new(bytes.clone()) else { return false };
    let mut again = BytesMut::new();
    let decoded = (part.transcode)(&reader, Version::NEWEST, &mut again);
    let described = (part.describe)(&reader);
    assert_eq!(decoded.is_ok(), described.is_ok());
    if let Err(error) = &decoded {
        assert!(error.offset <= bytes.len(), "{error}");
        assert!(!error.field.is_empty() && !error.to_string().is_empty());
    }
    // Written again it is as large as what was made of it: the input, the fields that were absent, and nulls of a page.
    assert!(again.len() <= bytes.len() + 1000, "{} bytes became {}", bytes.len(), again.len());
    decoded.is_ok()
}

#[test]
fn mutated_messages_are_read_or_refused() {
    let mut random = random(11);
    let (mut read, mut refused) = (0_u32, 0_u32);
    for row in MESSAGES {
        for part in parts(row) {
            for _ in 0..400 {
                let mut bytes = BytesMut::new();
                sample(part, Version::NEWEST, 1, &mut random, &mut bytes);
                for _ in 0..1 + random() % 4 {
                    mutate(&mut bytes, &mut random);
                }
                if survive(part, &bytes.freeze()) { read += 1 } else { refused += 1 }
            }
        }
    }
    assert!(
        read > 10_000 && refused > 10_000,
        "{read} read, {refused} refused: mutations are too weak or too strong"
    );
}

fn mutate(bytes: &mut BytesMut, random: &mut impl FnMut() -> u64) {
    if bytes.is_empty() {
        return;
    }
    let at = (random() % bytes.len() as u64) as usize;
    match random() % 6 {
        0 => bytes[at] ^= 1 << (random() % 8),
        1 => bytes[at] = random() as u8,
        2 => bytes.truncate(at),
        3 => {
            let tail = bytes.split_off(at);
            let cut = (random() % 8).min(tail.len() as u64) as usize;
            bytes.extend_from_slice(&tail[cut..]);
        }
        4 => {
            let tail = bytes.split_off(at);
            bytes.extend_from_slice(&random().to_le_bytes()[..(random() % 8) as usize]);
            bytes.extend_from_slice(&tail);
        }
        _ => {
            // The flags of a frame that still has its length: null, begin, end, final.
            let starts: Vec<usize> = starts(bytes);
            let at = starts[(random() % starts.len() as u64) as usize] + 5;
            if let Some(flags) = bytes.get_mut(at) {
                *flags ^= 1 << (random() % 8);
            }
        }
    }
}

/// Where frames begin, as far as the lengths make sense.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let (mut starts, mut at) = (vec![0], 0);
    while let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let length = i32::from_le_bytes(*length);
        if length < 6 {
            break;
        }
        at += length as usize;
        starts.push(at);
    }
    starts
}

/// Every length field of every message, and what attackers write there.
#[test]
fn no_length_makes_trouble() {
    let mut random = random(12);
    for row in MESSAGES {
        for part in parts(row) {
            let mut bytes = BytesMut::new();
            sample(part, Version::NEWEST, 1, &mut random, &mut bytes);
            let length = bytes.len() as i32;
            let mut at = 0;
            for frame in frames(&bytes.clone()) {
                let own = frame.len() as i32;
                let hostile = [0, 1, 5, 6, 7, -1, own - 1, own + 1, length - 1, length, length + 1];
                let limits = [4095, 4096, 4097, (16 << 20) - 1, 16 << 20, (16 << 20) + 1, i32::MAX, i32::MIN];
                for value in hostile.into_iter().chain(limits) {
                    let mut changed = bytes.clone();
                    changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
                    survive(part, &changed.freeze());
                }
                at += frame.len();
            }
        }
    }
}

/// Every number in every payload, where counts and inner lengths stand.
#[test]
fn no_number_makes_trouble() {
    let mut random = random(13);
    for row in MESSAGES {
        for part in parts(row) {
            let mut bytes = BytesMut::new();
            sample(part, Version::NEWEST, 1, &mut random, &mut bytes);
            for at in 0..bytes.len().saturating_sub(4) {
                for value in [-1, i32::MIN, i32::MAX, 1 << 24] {
                    let mut changed = bytes.clone();
                    changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
                    survive(part, &changed.freeze());
                }
            }
        }
    }
}

/// Every message cut off at every byte.
#[test]
fn no_end_makes_trouble() {
    let mut random = random(14);
    for row in MESSAGES {
        for part in parts(row) {
            let mut bytes = BytesMut::new();
            sample(part, Version::NEWEST, 1, &mut random, &mut bytes);
            let bytes = bytes.freeze();
            for end in 0..bytes.len() {
                survive(part, &bytes.slice(..end));
            }
        }
    }
}

/// Random bytes behind a valid header, for every message.
#[test]
fn noise_is_refused() {
    let mut random = random(15);
    for row in MESSAGES {
        for part in parts(row) {
            for _ in 0..50 {
                let mut bytes = BytesMut::new();
                support::push(&mut bytes, 0xC000, &{
                    let mut header = part.id.to_le_bytes().to_vec();
                    header.extend((0..random() % 60).map(|_| 0_u8));
                    header
                });
                for _ in 0..random() % 20 {
                    let flags = [0, 0, 0x0400, 0x1000, 0x0800][(random() % 5) as usize];
                    let payload: Vec<u8> = (0..random() % 40).map(|_| random() as u8).collect();
                    support::push(&mut bytes, flags, &payload);
                }
                survive(part, &bytes.freeze());
            }
        }
    }
}
