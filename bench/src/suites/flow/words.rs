//! Word count over zipfian text in memory: lines -> words -> count per word -> sink.
//!
//! Expected bottleneck: owned words are an allocation each, so the allocator; borrowed ones the hash tables. Peers count in both ways: with
//! every word exchanged, and counted beside the source first.

#[cfg(feature = "peers")]
use super::peers;
use super::tally::Tally;
#[cfg(feature = "peers")]
use super::threads;
use super::{completed, judge, text};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::aggregate::count;
use filbert_flow::{MetaSupplier, Pipeline, Share, processors};
use filbert_pool::Stages;
use std::hash::BuildHasher;
use std::sync::OnceLock;

/// The text, made once: jobs own what they work on or refer to what is never gone.
static TEXT: OnceLock<String> = OnceLock::new();

/// One of `count` parts of a text, cut between lines.
pub(super) fn part_of(text: &str, index: usize, count: usize) -> &str {
    let cut = |part: usize| {
        let near = text.len() * part / count;
        text.as_bytes()[near..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |line| near + line + 1)
    };
    let from = if index == 0 { 0 } else { cut(index) };
    &text[from..cut(index + 1)]
}

/// The words of a line.
#[inline]
pub(super) fn words(line: &'static str) -> impl Iterator<Item = &'static str> + Send {
    line.split(' ')
}

/// What a result adds to the answer.
#[inline]
pub(super) fn weigh(word: &str, count: u64) -> u64 {
    foldhash::fast::FixedState::with_seed(1).hash_one(word).wrapping_mul(count)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let bytes = effort.pick(20_000, 20_000_000, 100_000_000);
    let text: &'static str = TEXT.get_or_init(|| text::zipfian(bytes));
    let stages = Stages::start().expect("the settings fit");
    let rounds = effort.pick(1, 3, 7);
    let all = text.split_ascii_whitespace().count() as u64;

    let contestants = vec![
        Contestant::new("ours", || ours_owned(&stages, text)),
        #[cfg(feature = "peers")]
        Contestant::new("timely exchanged", || peers::timely::words(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("timely counted first", || peers::timely::words_counted(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir group_by", || peers::renoir::words(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir group_by_count", || peers::renoir::words_counted(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir fold_assoc", || peers::renoir::words_folded(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("rayon fold", || peers::rayon::words(text, str::to_owned)),
        Contestant::new("plain loop", || plain(text, str::to_owned)),
    ];
    let times = alternate(rounds, 1, contestants);
    let case = format!("words of {} MB, owned", bytes / 1_000_000);
    judge(report, &case, all, &times, &["timely", "renoir"], 1.3);

    let contestants = vec![
        Contestant::new("ours", || ours_borrowed(&stages, text)),
        #[cfg(feature = "peers")]
        Contestant::new("timely counted first", || peers::timely::words_borrowed(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir fold_assoc", || peers::renoir::words_borrowed(threads(), text)),
        #[cfg(feature = "peers")]
        Contestant::new("rayon fold", || peers::rayon::words(text, |word| word)),
        Contestant::new("plain loop", || plain(text, |word| word)),
    ];
    let times = alternate(rounds, 1, contestants);
    let case = format!("words of {} MB, borrowed", bytes / 1_000_000);
    judge(report, &case, all, &times, &["timely", "renoir"], 1.3);
}

fn lines(text: &'static str) -> impl MetaSupplier<Processor = processors::Iterate<std::str::Lines<'static>>> {
    processors::iterate(move |share: Share| part_of(text, share.index, share.count).lines())
}

fn ours_owned(stages: &Stages, text: &'static str) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let pipeline = Pipeline::read(lines(text))
        .flat_map(|line| words(line).map(str::to_owned))
        .group_by_item()
        .aggregate(count())
        .write(processors::for_each(move |(word, count): (String, u64)| sum.add(weigh(&word, count))));
    completed(stages, pipeline);
    tally.total()
}

fn ours_borrowed(stages: &Stages, text: &'static str) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let pipeline = Pipeline::read(lines(text))
        .flat_map(words)
        .group_by_item()
        .aggregate(count())
        .write(processors::for_each(move |(word, count): (&str, u64)| sum.add(weigh(word, count))));
    completed(stages, pipeline);
    tally.total()
}

fn plain<W: AsRef<str> + std::hash::Hash + Eq>(text: &'static str, own: impl Fn(&'static str) -> W) -> u64 {
    let mut counts = super::keyed::Counts::<W>::default();
    for word in text.lines().flat_map(words) {
        *counts.entry(own(word)).or_insert(0) += 1;
    }
    counts.into_iter().map(|(word, count)| weigh(word.as_ref(), count)).fold(0, u64::wrapping_add)
}
