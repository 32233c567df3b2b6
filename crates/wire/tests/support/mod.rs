//! What the tests of the protocol share.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod node;

use bytes::BytesMut;
use filbert_wire::message::{MessageRow, PartRow, Version};

/// All versions, oldest first.
pub(crate) const VERSIONS: [Version; 10] = [
    Version::V2_0,
    Version::V2_0_1,
    Version::V2_1,
    Version::V2_2,
    Version::V2_3,
    Version::V2_4,
    Version::V2_5,
    Version::V2_6,
    Version::V2_7,
    Version::V2_8,
];

/// Numbers that look random, always the same for a seed.
pub(crate) fn random(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Request, response and events of a message.
pub(crate) fn parts(row: &'static MessageRow) -> impl Iterator<Item = &'static PartRow> {
    [&row.request, &row.response].into_iter().chain(row.events)
}

/// The frames of a valid message.
pub(crate) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = i32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
        let (frame, rest) = bytes.split_at(length);
        bytes = rest;
        Some(frame)
    })
}

/// Appends a frame.
pub(crate) fn push(out: &mut BytesMut, flags: u16, payload: &[u8]) {
    out.extend_from_slice(&(6 + payload.len() as i32).to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(payload);
}
