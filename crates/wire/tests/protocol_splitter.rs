//! The splitter: however the bytes arrive, the same messages come out, within the limits.

mod support;

use bytes::{Bytes, BytesMut};
use filbert_wire::frame::{FRAME_HEADER, Limits, SplitError, Splitter};
use filbert_wire::message::{MessageReader, Version, sample};
use filbert_wire::messages::MESSAGES;
use proptest::prelude::*;
use support::{frames, parts, push, random};

const LIMITS: Limits = Limits { frame_bytes: 100_000, message_bytes: 200_000, open_fragments: 3 };

fn some_messages(seed: u64, count: usize) -> Vec<Bytes> {
    let mut random = random(seed);
    (0..count)
        .map(|correlation| {
            let row = &MESSAGES[(random() % MESSAGES.len() as u64) as usize];
            let all: Vec<_> = parts(row).collect();
            let mut out = BytesMut::new();
            sample(
                all[(random() % all.len() as u64) as usize],
                Version::NEWEST,
                correlation as i64,
                &mut random,
                &mut out,
            );
            out.freeze()
        })
        .collect()
}

/// The message in fragments of one to three frames.
fn fragmented(message: &[u8], id: i64, random: &mut impl FnMut() -> u64) -> Vec<BytesMut> {
    let all: Vec<&[u8]> = frames(message).collect();
    let mut rest = all.as_slice();
    let mut fragments = Vec::new();
    while !rest.is_empty() || fragments.len() < 2 {
        let (now, later) = rest.split_at((1 + random() % 3).min(rest.len() as u64) as usize);
        // A fragment that is the first is not the last, even when it holds all.
        let last = later.is_empty() && !fragments.is_empty();
        let flags = if fragments.is_empty() { 0x8000 } else { 0 } | if last { 0x4000 } else { 0 };
        let mut fragment = BytesMut::new();
        push(&mut fragment, flags | if now.is_empty() { 0x2000 } else { 0 }, &id.to_le_bytes());
        for (place, frame) in now.iter().enumerate() {
            let mut flags = u16::from_le_bytes([frame[4], frame[5]]) & !0x2000;
            if place + 1 == now.len() {
                flags |= 0x2000;
            }
            push(&mut fragment, flags, &frame[6..]);
        }
        fragments.push(fragment);
        rest = later;
    }
    fragments
}

/// Feeds the stream in pieces of the given sizes, again and again.
fn split(stream: &[u8], sizes: &[usize], limits: Limits) -> Result<Vec<Bytes>, SplitError> {
    let (mut splitter, mut buffer, mut messages) = (Splitter::new(limits), BytesMut::new(), Vec::new());
    let mut sizes = sizes.iter().cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let (now, later) = rest.split_at((*sizes.next().unwrap()).clamp(1, rest.len()));
        buffer.extend_from_slice(now);
        while let Some(message) = splitter.split(&mut buffer)? {
            messages.push(message);
        }
        assert!(splitter.wanted(&buffer) > buffer.len() && splitter.wanted(&buffer) <= limits.message_bytes);
        rest = later;
    }
    Ok(messages)
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_messages(seed: u64, sizes in prop::collection::vec(1_usize..300, 1..20)) {
        let messages = some_messages(seed, 12);
        let stream: Vec<u8> = messages.concat();
        prop_assert_eq!(split(&stream, &sizes, LIMITS).unwrap(), messages);
    }

    /// Two messages in fragments, in turns, and whole ones in between.
    #[test]
    fn fragments_are_put_together(seed: u64, sizes in prop::collection::vec(1_usize..300, 1..20)) {
        let mut random = random(seed);
        let messages = some_messages(seed, 3);
        let mut first = fragmented(&messages[0], 1, &mut random).into_iter();
        let mut second = fragmented(&messages[1], -2, &mut random).into_iter();
        let mut stream = BytesMut::new();
        let mut wholes = 0;
        loop {
            match (first.next(), second.next()) {
                (None, None) => break,
                (one, other) => {
                    stream.extend(one.into_iter().chain(other).flatten());
                    stream.extend_from_slice(&messages[2]);
                    wholes += 1;
                }
            }
        }
        let got = split(&stream, &sizes, LIMITS).unwrap();
        prop_assert_eq!(got.len(), 2 + wholes);
        for message in &messages {
            prop_assert!(got.contains(message));
            prop_assert!(MessageReader::new(message.clone()).is_ok());
        }
    }

    #[test]
    fn any_bytes_give_messages_or_an_error(stream in prop::collection::vec(any::<u8>(), 0..2000), seed: u64) {
        let whole = split(&stream, &[usize::MAX], LIMITS);
        prop_assert_eq!(split(&stream, &[(seed % 40) as usize + 1], LIMITS), whole);
    }
}

#[test]
fn a_length_is_judged_before_its_bytes_arrive() {
    let limit = LIMITS.frame_bytes;
    let judged = |length: i32| {
        let mut header = BytesMut::from(&length.to_le_bytes()[..]);
        header.extend_from_slice(&0xC000_u16.to_le_bytes());
        Splitter::new(LIMITS).split(&mut header)
    };
    for length in [0, 1, 5, -1, i32::MIN] {
        assert_eq!(judged(length), Err(SplitError::FrameTooShort { length }));
    }
    for length in [limit + 1, 1 << 30, i32::MAX as usize] {
        assert_eq!(judged(length as i32), Err(SplitError::FrameTooLong { length, limit }));
    }
    for length in [FRAME_HEADER, limit - 1, limit] {
        assert_eq!(judged(length as i32), Ok(None));
    }
}

#[test]
fn many_frames_within_the_limit_can_be_a_message_over_it() {
    let mut stream = BytesMut::new();
    push(&mut stream, 0xC000, &[0; 50_000]);
    for _ in 0..3 {
        push(&mut stream, 0, &[0; 50_000]);
    }
    let limit = LIMITS.message_bytes;
    let error = split(&stream, &[1000], LIMITS).unwrap_err();
    assert_eq!(error, SplitError::MessageTooLong { length: 4 * 50_006, limit });
}

#[test]
fn fragments_have_bounds() {
    let fragment = |flags: u16, id: &[u8], size: usize| {
        let mut out = BytesMut::new();
        push(&mut out, flags, id);
        push(&mut out, 0x2000, &vec![0; size]);
        out
    };
    let id = |id: i64| id.to_le_bytes();
    let split = |parts: &[BytesMut], limits| split(&parts.concat(), &[77], limits);
    let [one, two, three, four] = [1, 2, 3, 4].map(|number| fragment(0x8000, &id(number), 10));
    assert_eq!(split(&[one.clone(), two.clone(), three.clone()], LIMITS), Ok(vec![]));
    let error = split(&[one.clone(), two, three, four], LIMITS);
    assert_eq!(error, Err(SplitError::TooManyFragments { limit: 3 }));
    assert_eq!(split(&[one.clone(), one.clone()], LIMITS), Err(SplitError::FragmentTwice { id: 1 }));
    assert_eq!(split(&[fragment(0, &id(9), 10)], LIMITS), Err(SplitError::UnknownFragment { id: 9 }));
    assert_eq!(
        split(&[fragment(0x8000, b"short", 10)], LIMITS),
        Err(SplitError::FragmentWithoutId { length: 5 })
    );
    assert_eq!(
        split(&[one], Limits::BEFORE_LOGIN),
        Err(SplitError::TooManyFragments { limit: 0 }),
        "none before login"
    );
    // Unfinished fragments count together, whole messages between them do not.
    let large: Vec<_> = (1..=3).map(|number| fragment(0x8000, &id(number), 90_000)).collect();
    assert!(matches!(split(&large, LIMITS), Err(SplitError::MessageTooLong { .. })));
    let mut whole = BytesMut::new();
    push(&mut whole, 0xE000, &[7; 90_000]);
    assert_eq!(split(&[large[0].clone(), large[1].clone(), whole.clone()], LIMITS), Ok(vec![whole.freeze()]));
}
