//! timely: a worker per thread, each with a copy of the whole dataflow; exchanges in batches of 8 KB, unbounded.

use super::super::join::{self, Pair, Table};
use super::super::keyed::{Counts, keeps, weigh};
use super::super::tally::{Tally, mix};
use super::super::words;
use std::hash::Hash;
use timely::ExchangeData;
use timely::dataflow::channels::pact::{Exchange, ParallelizationContract, Pipeline};
use timely::dataflow::operators::core::Map;
use timely::dataflow::operators::vec::{Broadcast, Filter};
use timely::dataflow::operators::{Operator, ToStream};
use timely::dataflow::{Scope, StreamVec};

type Numbers<'scope> = StreamVec<'scope, (), u64>;

/// Runs a dataflow in as many workers; `build` gets the worker's index.
fn run(threads: usize, build: impl for<'scope> Fn(usize, Scope<'scope, ()>) + Send + Sync + 'static) {
    let workers = timely::execute(timely::Config::process(threads), move |worker| {
        let index = worker.index();
        worker.dataflow::<(), _, _>(|scope| build(index, scope));
    });
    for ended in workers.expect("timely starts").join() {
        ended.expect("the worker ends well");
    }
}

fn part_of(count: u64, index: usize, threads: usize) -> std::ops::Range<u64> {
    let cut = |part: usize| count * part as u64 / threads as u64;
    cut(index)..cut(index + 1)
}

pub(in super::super) fn exchange(threads: usize, count: u64) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let mut sum = tally.clone();
        let numbers: Numbers = part_of(count, index, threads).to_stream(scope);
        numbers.sink(Exchange::new(|number: &u64| *number), "sum", move |(input, _)| {
            input.for_each_time(|_, batches| {
                batches.flat_map(|batch| batch.drain(..)).for_each(|number| sum.add(mix(number)));
            });
        });
    });
    total.total()
}

/// Counts what comes, by key, and emits the counts when all is there.
fn count_by_key<'scope, T, K: Hash + Eq + ExchangeData>(
    items: StreamVec<'scope, (), T>,
    exchange: Exchange<T, impl FnMut(&T) -> u64 + 'static>,
    count: impl Fn(T) -> (K, u64) + 'static,
) -> StreamVec<'scope, (), (K, u64)>
where
    T: ExchangeData,
{
    items.unary_frontier(exchange, "count", move |capability, _| {
        let (mut capability, mut counts) = (Some(capability), Counts::<K>::default());
        move |(input, frontier), output| {
            input.for_each_time(|_, batches| {
                for (key, more) in batches.flat_map(|batch| batch.drain(..)).map(&count) {
                    *counts.entry(key).or_insert(0) += more;
                }
            });
            if frontier.is_empty()
                && let Some(capability) = capability.take()
            {
                output.session(&capability).give_iterator(std::mem::take(&mut counts).into_iter());
            }
        }
    })
}

/// The same, beside the producer: nothing is exchanged before.
fn count_here<'scope, T: 'static, K: Hash + Eq + 'static>(
    items: StreamVec<'scope, (), T>,
    key: impl Fn(T) -> K + 'static,
) -> StreamVec<'scope, (), (K, u64)> {
    items.unary_frontier(Pipeline, "count here", move |capability, _| {
        let (mut capability, mut counts) = (Some(capability), Counts::<K>::default());
        move |(input, frontier), output| {
            input.for_each_time(|_, batches| {
                for key in batches.flat_map(|batch| batch.drain(..)).map(&key) {
                    *counts.entry(key).or_insert(0) += 1;
                }
            });
            if frontier.is_empty()
                && let Some(capability) = capability.take()
            {
                output.session(&capability).give_iterator(std::mem::take(&mut counts).into_iter());
            }
        }
    })
}

fn weigh_all(counts: StreamVec<'_, (), (u64, u64)>, mut sum: Tally) {
    counts.sink(Pipeline, "sink", move |(input, _)| {
        input.for_each_time(|_, batches| {
            batches.flat_map(|batch| batch.drain(..)).for_each(|(key, count)| sum.add(weigh(key, count)));
        });
    });
}

/// Map and filter as operators of their own.
pub(in super::super) fn count(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let numbers: Numbers = part_of(count, index, threads).to_stream(scope);
        let mixed: Numbers = numbers.map(mix);
        let kept = mixed.filter(|item| keeps(*item));
        let counts =
            count_by_key(kept, Exchange::new(move |item: &u64| item & mask), move |item| (item & mask, 1));
        weigh_all(counts, tally.clone());
    });
    total.total()
}

/// Map and filter in the iterator of the source.
pub(in super::super) fn count_fused(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let numbers = part_of(count, index, threads).map(mix).filter(|item| keeps(*item));
        let numbers: Numbers = numbers.to_stream(scope);
        let counts =
            count_by_key(numbers, Exchange::new(move |item: &u64| item & mask), move |item| (item & mask, 1));
        weigh_all(counts, tally.clone());
    });
    total.total()
}

/// Counted beside the source first, map and filter in its iterator.
pub(in super::super) fn count_twice(threads: usize, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let numbers = part_of(count, index, threads).map(mix).filter(|item| keeps(*item));
        let numbers: Numbers = numbers.to_stream(scope);
        let here = count_here(numbers, move |item| item & mask);
        let counts = count_by_key(here, Exchange::new(|(key, _): &(u64, u64)| *key), |counted| counted);
        weigh_all(counts, tally.clone());
    });
    total.total()
}

type Words<'scope, W> = StreamVec<'scope, (), W>;

/// Where a word is counted: one hash for all.
fn hash(word: &str) -> u64 {
    words::weigh(word, 1)
}

fn weigh_words(counts: StreamVec<'_, (), (String, u64)>, mut sum: Tally) {
    counts.sink(Pipeline, "sink", move |(input, _)| {
        input.for_each_time(|_, batches| {
            let counted = batches.flat_map(|batch| batch.drain(..));
            counted.for_each(|(word, count)| sum.add(words::weigh(&word, count)));
        });
    });
}

/// Every word is exchanged.
pub(in super::super) fn words(threads: usize, text: &'static str) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let owned = words::part_of(text, index, threads).lines().flat_map(words::words).map(str::to_owned);
        let owned: Words<'_, String> = owned.to_stream(scope);
        let counts = count_by_key(owned, Exchange::new(|word: &String| hash(word)), |word| (word, 1));
        weigh_words(counts, tally.clone());
    });
    total.total()
}

/// Words are counted beside the source first.
pub(in super::super) fn words_counted(threads: usize, text: &'static str) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let owned = words::part_of(text, index, threads).lines().flat_map(words::words).map(str::to_owned);
        let owned: Words<'_, String> = owned.to_stream(scope);
        let counted = count_here(owned, |word| word);
        let counts =
            count_by_key(counted, Exchange::new(|(word, _): &(String, u64)| hash(word)), |counted| counted);
        weigh_words(counts, tally.clone());
    });
    total.total()
}

/// Counted beside the source as parts of the text; what is exchanged must be owned.
pub(in super::super) fn words_borrowed(threads: usize, text: &'static str) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let borrowed = words::part_of(text, index, threads).lines().flat_map(words::words);
        let borrowed: Words<'_, &'static str> = borrowed.to_stream(scope);
        let counted: StreamVec<'_, (), (String, u64)> =
            count_here(borrowed, |word| word).map(|(word, count): (&str, u64)| (word.to_owned(), count));
        let counts =
            count_by_key(counted, Exchange::new(|(word, _): &(String, u64)| hash(word)), |counted| counted);
        weigh_words(counts, tally.clone());
    });
    total.total()
}

/// Both sides as streams; the small one to everybody, or both to the worker of the key.
pub(in super::super) fn join(threads: usize, facts: u64, exchanged: bool) -> u64 {
    let tally = Tally::new();
    let total = tally.clone();
    run(threads, move |index, scope| {
        let large: StreamVec<'_, (), Pair> = part_of(facts, index, threads).map(join::fact).to_stream(scope);
        let small: StreamVec<'_, (), Pair> =
            part_of(join::SMALL, index, threads).map(join::small).to_stream(scope);
        let by_key = || Exchange::new(|(key, _): &Pair| *key);
        if exchanged {
            joined(large, small, by_key(), by_key(), tally.clone());
        } else {
            joined(large, small.broadcast(), Pipeline, Pipeline, tally.clone());
        }
    });
    total.total()
}

fn joined<'scope>(
    large: StreamVec<'scope, (), Pair>,
    small: StreamVec<'scope, (), Pair>,
    large_pact: impl ParallelizationContract<(), Vec<Pair>>,
    small_pact: impl ParallelizationContract<(), Vec<Pair>>,
    mut sum: Tally,
) {
    let pairs: StreamVec<'scope, (), Pair> =
        large.binary_frontier(small, large_pact, small_pact, "join", |capability, _| {
            let (mut table, mut early, mut capability) = (Table::default(), Vec::new(), Some(capability));
            move |(large, large_frontier), (small, small_frontier), output| {
                small.for_each_time(|_, batches| table.extend(batches.flat_map(|batch| batch.drain(..))));
                if !small_frontier.is_empty() {
                    large.for_each_time(|_, batches| early.extend(batches.map(std::mem::take)));
                    return;
                }
                let Some(now) = &capability else { return };
                let mut session = output.session(now);
                let find = |(key, value)| table.get(&key).map(|payload| (value, *payload));
                session.give_iterator(early.drain(..).flatten().filter_map(find));
                large.for_each_time(|_, batches| {
                    session.give_iterator(batches.flat_map(|batch| batch.drain(..)).filter_map(find));
                });
                drop(session);
                if large_frontier.is_empty() {
                    capability = None;
                }
            }
        });
    pairs.sink(Pipeline, "sink", move |(input, _)| {
        input.for_each_time(|_, batches| {
            let pairs = batches.flat_map(|batch| batch.drain(..));
            pairs.for_each(|(value, payload)| sum.add(join::weigh(value, payload)));
        });
    });
}
