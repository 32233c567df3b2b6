//! What an entry of a map costs: memory beside its key and value, and time to read and write it from one thread.
//!
//! `cargo run --release -p filbert-grid --example map_cost`
//!
//! Memory is what the process really takes (resident pages), averaged over map sizes from 1 M to 2 M entries of a String key and 32 bytes:
//! the tables of the partitions double at about the same size, so one size alone would say little.

use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_wire::Data;

fn key(number: u32) -> Data {
    let text = format!("key-{number:08}");
    Data::new(-11, &[&(text.len() as i32).to_be_bytes(), text.as_bytes()].concat())
}

fn value(number: u32) -> Data {
    Data::new(-12, &[&32_i32.to_be_bytes()[..], &[number as u8; 32]].concat())
}

/// Bytes of resident pages.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("a Linux system");
    let pages = statm.split_whitespace().nth(1).expect("the second number");
    pages.parse::<f64>().expect("a number") * 4096.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stages = Stages::start()?;
    let map = Grid::new(&stages).map("cost");
    map.size().wait()?;
    let data = (key(0).as_bytes().len() + value(0).as_bytes().len()) as f64;
    let before = resident();
    let (mut at, mut sum, mut sizes) = (0, 0.0, 0);
    for size in (1_000_000..=2_000_000).step_by(50_000) {
        for number in at..size {
            map.set(key(number), value(number)).wait()?;
        }
        at = size;
        let beside = (resident() - before) / f64::from(size) - data;
        println!("{size} entries: {beside:.1} bytes beside key and value");
        (sum, sizes) = (sum + beside, sizes + 1);
    }
    println!("on average {:.1} bytes beside {data} bytes of key and value", sum / f64::from(sizes));
    let stats = map.stats().wait()?;
    println!("the map itself counts {:.1}", stats.bytes as f64 / stats.entries as f64 - data);

    let clock = stages.clock();
    let measured: Vec<(Data, Data)> = (0..500_000_u32)
        .map(|number| number.wrapping_mul(2_654_435_761) % at)
        .map(|number| (key(number), value(number)))
        .collect();
    let time = |name: &str, call: &dyn Fn(&Data, &Data)| {
        let best = (0..5).map(|_| {
            let begin = clock.now();
            measured.iter().for_each(|(key, value)| call(key, value));
            (clock.now() - begin).as_nanos() as f64 / measured.len() as f64
        });
        println!("{name}: {:.0} ns", best.fold(f64::MAX, f64::min));
    };
    time("key to partition", &|key, _| drop(std::hint::black_box(key.partition())));
    time("get", &|key, _| assert!(map.get(key.clone()).wait().is_ok_and(|value| value.is_some())));
    time("read without a copy", &|key, _| assert_eq!(map.try_read(key, |value| value.is_some()), Some(true)));
    time("set", &|key, value| map.set(key.clone(), value.clone()).wait().expect("nobody else is here"));
    time("put", &|key, value| drop(map.put(key.clone(), value.clone()).wait()));
    Ok(())
}
