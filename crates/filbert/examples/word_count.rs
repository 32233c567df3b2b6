//! Word count over files: `cargo run --release --example word_count -- 'docs/**/*.md' README.md`
//!
//! All processors read their part of the files, split lines in place, and count what they see; only counts travel to the processor that
//! has the word.

use filbert::connect::file;
use filbert::flow::aggregate::count;
use filbert::flow::processors::{Collected, collect};
use filbert::{Member, Pipeline};
use std::error::Error;

/// Counts the words of all files that match the patterns into `counts`.
pub(crate) fn word_count(
    patterns: &[String],
    counts: &Collected<(String, u64)>,
) -> Result<Pipeline, Box<dyn Error>> {
    let (first, others) = patterns.split_first().ok_or("give a file, a folder or a pattern")?;
    let blocks = others.iter().fold(file::blocks(first), |blocks, pattern| blocks.and(pattern));
    Ok(Pipeline::read(blocks)
        .transform(file::each_line(|line, words| {
            let text = String::from_utf8_lossy(line);
            let all = text.split(|letter: char| !letter.is_alphanumeric());
            words.extend(all.filter(|word| !word.is_empty()).map(str::to_lowercase));
        }))
        .named("words")
        .group_by_item()
        .aggregate(count())
        .named("count")
        .write(collect(counts))
        .named("word count"))
}

/// The words that occur most often.
pub(crate) fn top(counts: &Collected<(String, u64)>, most: usize) -> Vec<(String, u64)> {
    let mut counts = counts.take();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(most);
    counts
}

fn main() -> Result<(), Box<dyn Error>> {
    let patterns: Vec<String> = std::env::args().skip(1).collect();
    let counts = Collected::new();
    let job = word_count(&patterns, &counts)?;
    Member::start()?.submit(&job.to_dag()?)?.wait()?;
    for (word, count) in top(&counts, 20) {
        println!("{count:>8}  {word}");
    }
    Ok(())
}
