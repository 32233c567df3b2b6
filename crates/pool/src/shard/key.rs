//! Which partition a key belongs to: the same one on every run, every machine and every version.
//!
//! Two hashes are at work when partitioned data is kept in hash tables: the one that picks the partition and the one that
//! picks the slot. If both used the same bits, all keys of a partition would agree in them, and its table would use a
//! part of its slots only. hashbrown takes the low bits for the slot and the top seven for its tags, so no bits of a
//! hash are free for us: [`shard_of_hash`] scrambles the hash once more and maps the *scrambled* word onto the
//! partitions by multiply-and-shift, which uses its high bits, has no division and never gives a negative number (the
//! seed's `hashCode % n` did). The result is independent of every bit of the hash, also when the table uses the same
//! [`StableHasher`].
//!
//! The hash has a fixed seed: who can choose keys can choose their partition. That is wanted (the placement must be
//! repeatable) and costs balance at worst, never correctness.

use crate::env::split_mix;
use std::hash::{Hash, Hasher};

/// The partition of `key`, below `partitions`.
///
/// Integers of any width and strings give the same answer on every machine; an integer gives the same answer in every
/// width that holds it.
///
/// ```
/// use filbert_pool::shard_of;
/// assert_eq!(shard_of("hazel", 16), shard_of(&String::from("hazel"), 16));
/// assert_eq!(shard_of(&-7i32, 16), shard_of(&-7i64, 16));
/// ```
///
/// # Panics
/// When `partitions` is 0.
#[inline]
pub fn shard_of<K: Hash + ?Sized>(key: &K, partitions: usize) -> usize {
    shard_of_hash(stable_hash(key), partitions)
}

/// The partition of a key with this 64-bit hash, below `partitions`; independent of the bits a hash table uses.
///
/// # Panics
/// When `partitions` is 0.
#[inline]
pub fn shard_of_hash(hash: u64, partitions: usize) -> usize {
    assert!(partitions > 0, "sharding needs at least one partition; 0 were asked for");
    let scrambled = split_mix(hash);
    ((u128::from(scrambled) * partitions as u128) >> 64) as usize
}

/// The hash of `key` by [`StableHasher`].
#[inline]
pub fn stable_hash<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = StableHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

const SEED: u64 = 0x5368_6172_6446_6c62;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// A hasher with a fixed seed whose answer depends on the values alone, not on the run, the word size or the byte order.
#[derive(Debug, Clone)]
pub struct StableHasher {
    state: u64,
}

impl Default for StableHasher {
    #[inline]
    fn default() -> Self {
        Self { state: SEED }
    }
}

impl StableHasher {
    /// Takes one word in: a full 64 x 64 bit product, folded, so that every bit of the word reaches every bit of the state.
    #[inline]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.state.rotate_left(29) ^ word) * u128::from(FACTOR);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for StableHasher {
    #[inline]
    fn finish(&self) -> u64 {
        split_mix(self.state)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        // The length is part of the last word, so that a string and the same string with zeroes differ.
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) | (rest.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.word(value as u64);
        self.word((value >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    #[inline]
    fn write_i8(&mut self, value: i8) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i16(&mut self, value: i16) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i64(&mut self, value: i64) {
        self.word(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.word(value as i64 as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of (seen - expected)^2 / expected; about the number of cells when the cells are uniform.
    fn chi_square(cells: &[u64]) -> f64 {
        let expected = cells.iter().sum::<u64>() as f64 / cells.len() as f64;
        cells.iter().map(|&seen| (seen as f64 - expected).powi(2) / expected).sum()
    }

    fn assert_uniform(name: &str, cells: &[u64]) {
        let freedom = (cells.len() - 1) as f64;
        // Mean `freedom`, deviation sqrt(2 freedom): eight deviations never happen by chance, and a bias is far beyond.
        let limit = freedom + 8.0 * (2.0 * freedom).sqrt();
        let value = chi_square(cells);
        assert!(value < limit, "{name}: chi-square {value:.0}, limit {limit:.0}: {cells:?}");
    }

    fn key_families() -> Vec<(&'static str, Vec<u64>)> {
        let count = 40_000u64;
        vec![
            ("sequential", (0..count).map(|number| stable_hash(&number)).collect()),
            ("multiples of 4096", (0..count).map(|number| stable_hash(&(number * 4096))).collect()),
            ("high bits only", (0..count).map(|number| stable_hash(&(number << 40))).collect()),
            ("negative", (0..count as i64).map(|number| stable_hash(&-number)).collect()),
            ("strings", (0..count).map(|number| stable_hash(&format!("customer-{number}"))).collect()),
            ("pairs", (0..count).map(|number| stable_hash(&(number % 200, number / 200))).collect()),
            ("the number itself", (0..count).collect()),
        ]
    }

    #[test]
    fn the_answers_never_change() {
        // These values are the contract: data placed by one version is found by the next. They were worked out by an
        // implementation in another language.
        let answers = [
            stable_hash(&0u64),
            stable_hash(&1u8),
            stable_hash(&-1i16),
            stable_hash(""),
            stable_hash("a"),
            stable_hash("a longer string of text"),
            stable_hash(&(1u32, "pair")),
        ];
        assert_eq!(answers.map(|hash| format!("{hash:016x}")), GOLDEN);
        assert_eq!(["a", "b", "c", "d"].map(|key| shard_of(key, 16)), GOLDEN_SHARDS);
    }

    const GOLDEN: [&str; 7] = [
        "c88cdd7158581940",
        "1858b9d250781501",
        "aabf2c41a3f21156",
        "06f69b83346ff1b2",
        "6d065202b5da9bb1",
        "f619cd47b8cfff4d",
        "3f68eaecb2f896bc",
    ];
    const GOLDEN_SHARDS: [usize; 4] = [10, 10, 13, 13];

    #[test]
    fn an_integer_has_one_partition_in_every_width() {
        for value in [0i8, 1, -1, 77, -128] {
            let expected = stable_hash(&value);
            let wider = [
                stable_hash(&i16::from(value)),
                stable_hash(&i32::from(value)),
                stable_hash(&i64::from(value)),
                stable_hash(&isize::from(value)),
            ];
            assert_eq!(wider, [expected; 4]);
        }
        assert_eq!(stable_hash(&7u8), stable_hash(&7i64));
        assert_eq!(stable_hash(&7usize), stable_hash(&7u64));
    }

    #[test]
    fn strings_that_differ_in_length_only_differ() {
        let zeroes = "\0".repeat(20);
        let mut hashes: Vec<u64> = (0..20).map(|length| stable_hash(&zeroes[..length])).collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 20);
    }

    #[test]
    fn every_partition_gets_its_share() {
        for (name, hashes) in key_families() {
            for partitions in [1, 2, 3, 7, 16, 17, 271] {
                let mut cells = vec![0; partitions];
                for &hash in &hashes {
                    cells[shard_of_hash(hash, partitions)] += 1;
                }
                if partitions > 1 {
                    assert_uniform(&format!("{name} over {partitions}"), &cells);
                }
            }
        }
    }

    #[test]
    fn the_bits_of_a_hash_table_are_free_within_a_partition() {
        for (name, hashes) in key_families().into_iter().filter(|(name, _)| *name != "the number itself") {
            for partitions in [16, 128] {
                let (mut tags, mut slots) = (vec![0; 128], vec![0; 128]);
                for &hash in hashes.iter().filter(|&&hash| shard_of_hash(hash, partitions) == 3) {
                    tags[(hash >> 57) as usize] += 1;
                    slots[(hash & 127) as usize] += 1;
                }
                assert_uniform(&format!("tags of {name}, partition 3 of {partitions}"), &tags);
                assert_uniform(&format!("slots of {name}, partition 3 of {partitions}"), &slots);
            }
        }
    }

    #[test]
    fn absurd_numbers_of_partitions() {
        assert_eq!(shard_of("any", 1), 0);
        assert!(shard_of("any", usize::MAX) < usize::MAX);
        assert!(std::panic::catch_unwind(|| shard_of("any", 0)).is_err());
    }
}
