//! An idle member uses no CPU. Alone in its file: the reading is of the whole process.
#![allow(clippy::disallowed_methods, reason = "time itself is the subject")]

use filbert_pool::Stages;
use std::time::Duration;

/// CPU time of this process in clock ticks (1/100 s), from /proc.
fn ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[test]
fn an_idle_member_uses_no_cpu() {
    let stages = Stages::builder().executor("reports").start().unwrap();
    // Every stage has worked once, so every thread exists and has gone to sleep the way it does.
    let _: u64 = stages.cpu().range(0..1_000_000).map(|i| i as u64).sum();
    stages.generic().submit("once", || ()).unwrap().wait().unwrap();
    stages.executor("reports").unwrap().submit("once", || ()).unwrap().wait().unwrap();
    stages.mixed().submit("once", || ()).unwrap().wait().unwrap();
    stages.partition().strand(1, ()).submit("once", |()| ()).unwrap().wait().unwrap();
    let Some(before) = ticks() else {
        eprintln!("skipped: this system has no /proc");
        return;
    };
    let seconds = 10;
    // sleeps because the time itself is the subject.
    std::thread::sleep(Duration::from_secs(seconds));
    let used = ticks().unwrap() - before;
    println!("an idle member used {used} of {} ticks", seconds * 100);
    assert!(used < seconds, "an idle member used {used} ticks of 1/100 s in {seconds} s: over 1% of a core");
    drop(stages);
}
