//! Murmur3, x86 variant, 32 bits: the hash that decides which partition a key belongs to.
//!
//! Hazelcast's clients compute the same hash to send a key to the member that owns it, so every bit counts.

/// The seed that Hazelcast uses everywhere.
const SEED: u32 = 0x0100_0193;

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// The hash of `bytes`.
pub(super) fn hash(bytes: &[u8]) -> i32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = SEED;
    for block in blocks {
        hash ^= scrambled(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        hash ^= scrambled(u32::from_le_bytes(last));
    }
    finished(hash ^ bytes.len() as u32) as i32
}

fn scrambled(block: u32) -> u32 {
    block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

fn finished(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the Python client's `murmur_hash3_x86_32` says.
    #[test]
    fn it_is_the_hash_that_the_clients_compute() {
        for (bytes, expected) in KNOWN {
            assert_eq!(hash(bytes), *expected, "{bytes:?}");
        }
    }

    const KNOWN: &[(&[u8], i32)] = &[
        (b"", -1585187909),
        (b"a", -1686100800),
        (b"ab", 312914265),
        (b"abc", -2068121803),
        (b"abcd", -973615161),
        (b"\0\0\0\x07filbert", 108757432),
        (b"\xff\xfe\xfd", 1940026305),
    ];
}
