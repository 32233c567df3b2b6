//! What reading a file costs: blocks, lines, and words counted in place. `cargo run --release --example read_cost -- 100` (MB)
//!
//! Expected bottleneck: the copy out of the page cache for blocks, the allocator for lines, the tables of words for the count.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the real clock")]

use filbert_connect::file;
use filbert_flow::Pipeline;
use filbert_flow::aggregate::count;
use filbert_flow::processors::{Collected, collect, for_each};
use filbert_pool::Stages;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Words of a vocabulary, small numbers more often than large ones, eight to a line.
fn write_text(path: &Path, bytes: usize) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let (mut state, mut written, mut column) = (1_u64, 0, 0);
    while written < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 33) as f64 / (1_u64 << 31) as f64;
        let word = format!("w{}", (50_000_f64.powf(uniform)) as u64);
        column = (column + 1) % 8;
        let end = if column == 0 { '\n' } else { ' ' };
        write!(out, "{word}{end}")?;
        written += word.len() + 1;
    }
    out.flush()
}

fn measure(name: &str, stages: &Stages, megabytes: usize, pipeline: impl Fn() -> Pipeline) {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let dag = pipeline().to_dag().unwrap();
        let start = Instant::now();
        dag.submit(stages).unwrap().wait().unwrap();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:<28} {:>8.1} ms  {:>8.0} MB/s", best * 1e3, megabytes as f64 / best);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("text");
    write_text(&path, megabytes * 1_000_000)?;
    let stages = Stages::start()?;
    measure("blocks", &stages, megabytes, || {
        Pipeline::read(file::blocks(&path)).map(|block| block.as_bytes().len()).write(for_each(|_: usize| {}))
    });
    measure("blocks, lines in place", &stages, megabytes, || {
        Pipeline::read(file::blocks(&path)).map(|block| block.lines().count()).write(for_each(|_: usize| {}))
    });
    measure("lines, dropped in the source", &stages, megabytes, || {
        Pipeline::read(file::lines(&path)).filter(|line| line.is_empty()).write(for_each(|_: String| {}))
    });
    let split = |line: &[u8], words: &mut Vec<Vec<u8>>| {
        words.extend(line.split(|byte| *byte == b' ').map(<[u8]>::to_vec));
    };
    measure("words in place, not counted", &stages, megabytes, || {
        Pipeline::read(file::blocks(&path))
            .transform(file::each_line(split))
            .filter(|word| word.is_empty())
            .write(for_each(|_: Vec<u8>| {}))
    });
    measure("word count, words in place", &stages, megabytes, || {
        Pipeline::read(file::blocks(&path))
            .transform(file::each_line(split))
            .group_by_item()
            .aggregate(count())
            .write(collect(&Collected::new()))
    });
    measure("word count, by lines", &stages, megabytes, || {
        Pipeline::read(file::lines(&path))
            .flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .group_by_item()
            .aggregate(count())
            .write(collect(&Collected::new()))
    });
    Ok(())
}
