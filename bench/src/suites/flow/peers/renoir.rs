//! renoir: a thread per block and replica, batches of 1,024 over bounded channels.

use super::super::join::{self, Pair};
use super::super::keyed::{keeps, weigh};
use super::super::tally::{Tally, mix};
use super::super::words;
use renoir::prelude::*;
use renoir::{Replication, StreamContext};

fn context(threads: usize) -> StreamContext {
    StreamContext::new(RuntimeConfig::local(threads as u64).expect("some threads"))
}

const BATCH: usize = 1024;

pub(in super::super) fn repartition(threads: usize, count: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .repartition_by(Replication::Unlimited, |number: &u64| *number)
        .for_each(move |number| sum.add(mix(number)));
    context.execute_blocking();
    tally.total()
}

pub(in super::super) fn group(threads: usize, count: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .group_by(|number| *number)
        .drop_key()
        .for_each(move |number| sum.add(mix(number)));
    context.execute_blocking();
    tally.total()
}

/// Map and filter as operators of their own.
pub(in super::super) fn count(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .map(mix)
        .filter(|item| keeps(*item))
        .group_by(move |item| item & mask)
        .fold(0_u64, |count, _| *count += 1)
        .for_each(move |(key, count)| sum.add(weigh(key, count)));
    context.execute_blocking();
    tally.total()
}

/// One closure for map and filter.
pub(in super::super) fn count_filter_map(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .filter_map(|number| Some(mix(number)).filter(|item| keeps(*item)))
        .group_by(move |item| item & mask)
        .fold(0_u64, |count, _| *count += 1)
        .for_each(move |(key, count)| sum.add(weigh(key, count)));
    context.execute_blocking();
    tally.total()
}

/// Map and filter in the iterator of the source.
pub(in super::super) fn count_source(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(move |index: u64, replicas: u64| {
            let part = count * index / replicas..count * (index + 1) / replicas;
            part.map(mix).filter(|item| keeps(*item))
        })
        .batch_mode(BatchMode::fixed(BATCH))
        .group_by(move |item| item & mask)
        .fold(0_u64, |count, _| *count += 1)
        .for_each(move |(key, count)| sum.add(weigh(key, count)));
    context.execute_blocking();
    tally.total()
}

/// Counted beside the source first.
pub(in super::super) fn count_twice(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .map(mix)
        .filter(|item| keeps(*item))
        .group_by_fold(move |item| item & mask, 0_u64, |count, _| *count += 1, |count, more| *count += more)
        .for_each(move |(key, count)| sum.add(weigh(key, count)));
    context.execute_blocking();
    tally.total()
}

/// The same with map and filter in the iterator of the source.
pub(in super::super) fn count_twice_source(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(move |index: u64, replicas: u64| {
            let part = count * index / replicas..count * (index + 1) / replicas;
            part.map(mix).filter(|item| keeps(*item))
        })
        .batch_mode(BatchMode::fixed(BATCH))
        .group_by_count(move |item| item & mask)
        .for_each(move |(key, count)| sum.add(weigh(key, count as u64)));
    context.execute_blocking();
    tally.total()
}

/// A table for every source, as one item of the stream.
pub(in super::super) fn count_folded(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(0..count)
        .batch_mode(BatchMode::fixed(BATCH))
        .map(mix)
        .filter(|item| keeps(*item))
        .fold_assoc(
            Folded::<u64>::default(),
            move |counts, item| *counts.entry(item & mask).or_insert(0) += 1,
            merge,
        )
        .flatten()
        .for_each(move |(key, count)| sum.add(weigh(key, count)));
    context.execute_blocking();
    tally.total()
}

/// A table that renoir can send: the standard library's, with the hash that everybody has.
type Folded<K> = std::collections::HashMap<K, u64, foldhash::fast::RandomState>;

fn merge<K: std::hash::Hash + Eq>(counts: &mut Folded<K>, others: Folded<K>) {
    for (key, count) in others {
        *counts.entry(key).or_insert(0) += count;
    }
}

fn lines(text: &'static str) -> impl Fn(u64, u64) -> std::str::Lines<'static> + Clone + Send {
    move |index, replicas| words::part_of(text, index as usize, replicas as usize).lines()
}

/// Every word is exchanged.
pub(in super::super) fn words(threads: usize, text: &'static str) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(lines(text))
        .batch_mode(BatchMode::fixed(BATCH))
        .flat_map(|line| words::words(line).map(str::to_owned))
        .group_by(|word: &String| word.clone())
        .fold(0_u64, |count, _| *count += 1)
        .for_each(move |(word, count)| sum.add(words::weigh(&word, count)));
    context.execute_blocking();
    tally.total()
}

/// Words are counted beside the source first.
pub(in super::super) fn words_counted(threads: usize, text: &'static str) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(lines(text))
        .batch_mode(BatchMode::fixed(BATCH))
        .flat_map(words::words)
        // The key is made here, so that there is one allocation per word and not two.
        .group_by_fold(|word| (*word).to_owned(), 0_u64, |count, _| *count += 1, |count, more| *count += more)
        .for_each(move |(word, count)| sum.add(words::weigh(&word, count)));
    context.execute_blocking();
    tally.total()
}

/// A table for every source, as one item of the stream.
pub(in super::super) fn words_folded(threads: usize, text: &'static str) -> u64 {
    folded(threads, text, |counts, line| {
        for word in words::words(line) {
            *counts.entry(word.to_owned()).or_insert(0) += 1;
        }
    })
}

/// The same, where only the first of equal words is allocated.
pub(in super::super) fn words_borrowed(threads: usize, text: &'static str) -> u64 {
    folded(threads, text, |counts, line| {
        for word in words::words(line) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_owned(), 1)),
            }
        }
    })
}

fn folded(
    threads: usize,
    text: &'static str,
    count: impl Fn(&mut Folded<String>, &'static str) + Clone + Send + 'static,
) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    context
        .stream_par_iter(lines(text))
        .batch_mode(BatchMode::fixed(BATCH))
        .fold_assoc(Folded::default(), count, merge)
        .flatten()
        .for_each(move |(word, count)| sum.add(words::weigh(&word, count)));
    context.execute_blocking();
    tally.total()
}

/// The small side to everybody.
pub(in super::super) fn join_broadcast(threads: usize, facts: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    let small = context.stream_par_iter(0..join::SMALL).batch_mode(BatchMode::fixed(BATCH)).map(join::small);
    context
        .stream_par_iter(0..facts)
        .batch_mode(BatchMode::fixed(BATCH))
        .map(join::fact)
        .join_with(small, |fact: &Pair| fact.0, |small: &Pair| small.0)
        .ship_broadcast_right()
        .local_hash()
        .inner()
        .for_each(move |(_, ((_, value), (_, payload)))| sum.add(join::weigh(value, payload)));
    context.execute_blocking();
    tally.total()
}

/// Both sides to the thread of the key.
pub(in super::super) fn join_hash(threads: usize, facts: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let context = context(threads);
    let small = context.stream_par_iter(0..join::SMALL).batch_mode(BatchMode::fixed(BATCH)).map(join::small);
    context
        .stream_par_iter(0..facts)
        .batch_mode(BatchMode::fixed(BATCH))
        .map(join::fact)
        .join(small, |fact: &Pair| fact.0, |small: &Pair| small.0)
        .for_each(move |(_, ((_, value), (_, payload)))| sum.add(join::weigh(value, payload)));
    context.execute_blocking();
    tally.total()
}
