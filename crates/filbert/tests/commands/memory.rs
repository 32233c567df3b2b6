//! The memory of a member is bounded: a child process with a small limit is offered far more than that, and lives on.

use crate::line::DEADLINE;
use crate::line::{blob, int};
use crate::process::Process;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::sql::{Close, Execute};
use filbert_wire::messages::structures::SqlQueryId;
use filbert_wire::messages::{list, map, queue};
use std::time::{Duration, Instant};

/// What one value has.
const VALUE: usize = 256 << 10;
/// Values that are offered to each structure: 160 MiB, four times what all may hold.
const OFFERED: i32 = 640;

/// The member was killed by the system, and every map with it.
#[test]
fn a_member_that_is_offered_too_much_refuses_and_goes_on() {
    // Three fifths of it are for data.
    let member = Process::start("[memory]\nlimit_bytes = 67108864");
    let mut client = member.client();
    let before = member.resident();
    let set = |number| map::Set {
        name: "m".into(),
        key: int(number),
        value: blob(VALUE),
        thread_id: 1,
        ttl_ms: -1,
    };
    let (mut taken, mut refused) = (0, 0);
    for number in 0..OFFERED {
        let offered = [
            client.call(&set(number)).map(drop),
            client.call(&list::Add { name: "l".into(), value: blob(VALUE) }).map(drop),
            client.call(&queue::Offer { name: "q".into(), value: blob(VALUE), timeout_ms: 0 }).map(drop),
        ];
        for answer in offered {
            match answer {
                Ok(()) => taken += 1,
                Err(error) => {
                    assert_eq!(error.errors[0].code, ErrorCode::Overload as i32);
                    let text = error.errors[0].message.as_deref().unwrap_or_default();
                    assert!(text.contains("grid.memory_bytes"), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(taken >= 100 && refused >= 1_500, "{taken} taken, {refused} refused");
    let grown = member.resident().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more, of {} offered", 3 * OFFERED as usize * VALUE);
    let get = map::Get { name: "m".into(), key: int(0), thread_id: 1 };
    assert_eq!(client.call(&get).unwrap().value, Some(blob(VALUE)));
    client.call(&map::Clear { name: "m".into() }).unwrap();
    assert_eq!(client.call(&get).unwrap().value, None);
    client.call(&set(1)).unwrap();
    assert!(member.is_alive());
}

/// Sorts and groups of a few hundred megabytes, made of small allocations.
const STORM: &str = "SELECT count(*) FROM (SELECT array_agg(repeat(cast(v AS varchar), 6)) AS texts FROM generate_series(1, 300000) t(v) \
                     GROUP BY v % 20000)";

fn statement(number: i64) -> Execute {
    let query_id = SqlQueryId { member_id_high: 1, member_id_low: 2, local_id_high: 3, local_id_low: number };
    Execute {
        sql: STORM.into(),
        parameters: Vec::new(),
        timeout_ms: -1,
        cursor_buffer_size: 4_096,
        schema: None,
        expected_result_type: 0,
        query_id,
        skip_update_statistics: false,
    }
}

/// The most that a process ever held, in bytes.
fn most(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<usize>().unwrap() << 10
}

/// The system's allocator kept nearly two gigabytes after a storm of statements.
#[test]
fn memory_goes_back_to_the_system_after_a_storm() {
    const LEFT: usize = 96 << 20;
    let member = Process::start("");
    let mut client = member.client();
    let set = |number: i32| map::Set {
        name: "m".into(),
        key: int(number),
        value: blob(6_000),
        thread_id: 1,
        ttl_ms: -1,
    };
    // What a member makes once and keeps, it has before the storm.
    for number in 0..2_000 {
        client.call(&set(number)).unwrap();
    }
    let answer = client.call(&statement(0)).unwrap();
    assert!(answer.error.is_none(), "{:?}", answer.error);
    client.call(&map::Clear { name: "m".into() }).unwrap();
    let before = member.resident();
    let storm = |own: i64| {
        let mut client = member.client();
        for number in 0..4 {
            let id = 100 * own + number;
            let answer = client.call(&statement(id)).unwrap();
            assert!(answer.error.is_none(), "{:?}", answer.error);
            client.call(&Close { query_id: statement(id).query_id }).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for own in 1..4 {
            scope.spawn(move || storm(own));
        }
        for number in 0..40_000 {
            client.call(&set(number)).unwrap();
        }
    });
    let grown = most(member.id()).saturating_sub(before);
    assert!(grown > LEFT + (96 << 20), "that was no storm: {grown} bytes more");
    client.call(&map::Clear { name: "m".into() }).unwrap();
    let begin = Instant::now();
    loop {
        // The member is in use, as members are.
        client.call(&set(1)).unwrap();
        let left = member.resident().saturating_sub(before);
        if left < LEFT {
            break;
        }
        assert!(begin.elapsed() < DEADLINE, "{left} of {grown} bytes are still held");
        // sleeps because the allocator tells nobody when it gives memory back
        std::thread::sleep(Duration::from_millis(20));
    }
}
