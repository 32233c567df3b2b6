//! The net below all accounts of memory: where the process as a whole has too much, the largest query ends, and writes and statements are
//! refused until it has less. A file of its own, because an allocator that counts is the whole process's.

#![allow(clippy::disallowed_methods, reason = "tests have deadlines of their own")]

use filbert::pool::process_memory::{self, CountingAllocator};
use filbert::{GridError, Member, Query, Shutdown, SqlError};
use std::alloc::System;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator<System> = CountingAllocator::new(System);

/// It makes a table of a side first, and then never ends.
const LARGE: &str = "SELECT count(*) FROM generate_series(1, 1000000) a(v) JOIN generate_series(1, 100000000000) b(v) ON a.v = b.v";

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "not within two minutes: {what}");
        std::thread::yield_now();
    }
}

fn collected(member: &Member, query: Query) -> Result<usize, SqlError> {
    let batches = member.stages().mixed().spawn("read", query.collect()).unwrap().wait().unwrap()?;
    Ok(batches.iter().map(|batch| batch.num_rows()).sum())
}

fn asked(member: &Member, text: &str) -> Result<usize, SqlError> {
    collected(member, member.sql().session().query(text)?)
}

#[test]
fn a_process_with_too_much_ends_its_largest_query_and_takes_nothing_new() {
    let member = Member::start().unwrap();
    let map = member.map::<i64, String>("m");
    map.set(&1, &"one".to_owned()).wait().unwrap();
    assert_eq!(asked(&member, "SELECT 1").unwrap(), 1);
    let before = process_memory::held();
    assert!(before > 0, "the allocator counts");
    let large = member.sql().session().query(LARGE).unwrap();
    until("the query holds something", || member.sql().snapshot().memory_bytes > 8 << 20);
    assert!(process_memory::held() > before + (4 << 20));

    process_memory::set_limit(before + (4 << 20));
    let ended = collected(&member, large).unwrap_err().to_string();
    assert!(ended.contains("memory.limit_bytes") && ended.contains("this query ends"), "{ended}");
    process_memory::set_limit(before / 2);
    let refused = asked(&member, "SELECT 1").unwrap_err().to_string();
    assert!(refused.contains("no statement begins"), "{refused}");
    let refused = map.set(&2, &"two".to_owned()).wait().unwrap_err();
    assert!(
        matches!(refused, GridError::ProcessOutOfMemory { in_part: false, .. }) && refused.is_retryable(),
        "{refused:?}"
    );
    assert_eq!(map.get(&1).wait().unwrap().as_deref(), Some("one"), "reads go on");
    assert_eq!(map.remove(&1).wait().unwrap().as_deref(), Some("one"), "and removals");

    process_memory::set_limit(usize::MAX);
    map.set(&2, &"two".to_owned()).wait().unwrap();
    assert_eq!(asked(&member, "SELECT this FROM m").unwrap(), 1);
    member.shutdown(Shutdown::Cancel).unwrap();
}
