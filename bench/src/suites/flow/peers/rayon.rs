//! No engine: fold in every thread, reduce in the end. What moves no item cannot be slowed down by moving items.

use super::super::join::{self, Table};
use super::super::keyed::{Counts, keeps, weigh};
use super::super::tally::mix;
use super::super::words;
use rayon::prelude::*;

pub(in super::super) fn sum(count: u64) -> u64 {
    (0..count).into_par_iter().map(mix).reduce(|| 0, u64::wrapping_add)
}

/// Two tables of counts as one.
fn merged<K: std::hash::Hash + Eq>(a: Counts<K>, b: Counts<K>) -> Counts<K> {
    let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (key, count) in small {
        *large.entry(key).or_insert(0) += count;
    }
    large
}

pub(in super::super) fn count(count: u64, mask: u64) -> u64 {
    // Large parts: a table for every part is filled and merged.
    let parts = rayon::current_num_threads() as u64 * 4;
    let counts = (0..parts)
        .into_par_iter()
        .fold(Counts::default, |mut counts: Counts<u64>, part| {
            let numbers = count * part / parts..count * (part + 1) / parts;
            for item in numbers.map(mix).filter(|item| keeps(*item)) {
                *counts.entry(item & mask).or_insert(0) += 1;
            }
            counts
        })
        .reduce(Counts::default, merged);
    counts.into_iter().map(|(key, count)| weigh(key, count)).fold(0, u64::wrapping_add)
}

pub(in super::super) fn words<W>(text: &'static str, own: impl Fn(&'static str) -> W + Sync) -> u64
where
    W: AsRef<str> + std::hash::Hash + Eq + Send,
{
    // Large parts: a table for every part is filled and merged.
    let parts = rayon::current_num_threads() * 4;
    let counts = (0..parts)
        .into_par_iter()
        .fold(Counts::default, |mut counts: Counts<W>, part| {
            for word in words::part_of(text, part, parts).lines().flat_map(words::words) {
                *counts.entry(own(word)).or_insert(0) += 1;
            }
            counts
        })
        .reduce(Counts::default, merged);
    counts.into_iter().map(|(word, count)| words::weigh(word.as_ref(), count)).fold(0, u64::wrapping_add)
}

pub(in super::super) fn join(facts: u64) -> u64 {
    let small: Table = (0..join::SMALL).map(join::small).collect();
    (0..facts)
        .into_par_iter()
        .map(join::fact)
        .filter_map(|(key, value)| small.get(&key).map(|payload| join::weigh(value, *payload)))
        .reduce(|| 0, u64::wrapping_add)
}
