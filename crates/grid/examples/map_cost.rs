//! What an entry of a map costs: memory beside its key and value, and time to read and write it from one thread.
//!
//! `cargo run --release -p filbert-grid --example map_cost`
//!
//! Memory is what the process really takes (resident pages), averaged over map sizes from 1 M to 2 M entries of a String key and 32 bytes:
//! the tables of the partitions double at about the same size, so one size alone would say little. Time is that of the thread on a
//! processor, over keys in random order.

use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_wire::Data;

/// Calls per measurement.
const CALLS: u32 = 500_000;

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

/// Nanoseconds that this thread has run: what others do on the machine at the same time does not count.
fn on_processor() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux system");
    schedule.split_whitespace().next().expect("the first number").parse().expect("a number")
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

    for (what, among) in [("2,000 keys in use", 2_000), ("all keys in use", at)] {
        let measured: Vec<(Data, Data)> = (0..among.min(CALLS))
            .map(|number| number.wrapping_mul(2_654_435_761) % among)
            .map(|number| (key(number), value(number)))
            .collect();
        println!("{what}:");
        let time = |name: &str, call: &dyn Fn(&Data, &Data)| {
            let best = (0..3).map(|_| {
                let begin = on_processor();
                measured.iter().cycle().take(CALLS as usize).for_each(|(key, value)| call(key, value));
                (on_processor() - begin) / f64::from(CALLS)
            });
            println!("  {name}: {:.0} ns", best.fold(f64::MAX, f64::min));
        };
        time("key to partition", &|key, _| {
            std::hint::black_box(key.partition());
        });
        time("get", &|key, _| assert!(map.get(key.clone()).wait().is_ok_and(|value| value.is_some())));
        time("read without a copy", &|key, _| {
            assert_eq!(map.try_read(key, |value| value.is_some()), Some(true));
        });
        time("set", &|key, value| map.set(key.clone(), value.clone()).wait().expect("nobody else is here"));
        time("put", &|key, value| drop(map.put(key.clone(), value.clone()).wait()));
    }
    Ok(())
}
