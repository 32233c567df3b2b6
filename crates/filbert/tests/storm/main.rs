//! Two hundred connections that use all structures at once, each with a model of what it must be answered: no answer is wrong, nothing is lost or
//! there twice, and the member's memory stays near what it holds.
//!
//! `FILBERT_STORM` says how many operations each connection does; without it, as many as fit into seconds.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

#[path = "../../../gate/tests/door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;
#[path = "../hostile/process.rs"]
#[allow(dead_code, reason = "shared with the hostile tests, which use more of it")]
mod process;
mod shared;
mod worker;

use filbert_wire::messages::cp::{atomic_long, semaphore};
use filbert_wire::messages::{pn_counter, queue};
use line::{Client, authentication};
use process::Process;
use shared::{PERMITS, Shared, group, number_of};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use worker::{Report, Worker};

const CONNECTIONS: usize = 200;

/// Operations of each connection, without the variable.
const SHARE: u64 = 60;

/// What the member may hold beside its data.
const BESIDE_DATA: usize = 256 << 20;

/// What an entry or item takes at most, all included: they are numbers.
const ITEM_BYTES: usize = 256;

/// How often the long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(30);

#[test]
fn no_answer_is_wrong_while_everybody_uses_everything() {
    let operations = std::env::var("FILBERT_STORM").ok().map(|count| count.replace('_', "").parse().unwrap());
    let operations: u64 = operations.unwrap_or(SHARE);
    let member = Process::start("");
    let mut client = Client::connect(member.address());
    let itself = client.log_in(&authentication()).member_uuid.expect("the member's id");
    let init = semaphore::Init { group: group(), name: "permits".into(), permits: PERMITS };
    assert!(client.call(&init).unwrap().value);
    let shared = Shared::new(itself);
    let begin = Instant::now();
    let total = operations * CONNECTIONS as u64;
    let (reports, most) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let (client, shared) = (member.client(), &shared);
                scope.spawn(move || Worker::new(number, client, shared).run(operations))
            })
            .collect();
        let (mut most, mut said) = (0, Instant::now());
        while workers.iter().any(|worker| !worker.is_finished()) {
            most = most.max(member.resident());
            if said.elapsed() > PROGRESS {
                said = Instant::now();
                let done = shared.done.load(Ordering::Relaxed);
                println!("{done} of {total} operations in {:.0} s", begin.elapsed().as_secs_f64());
            }
            // sleeps because the workers tell nobody when they are done, and need the processors meanwhile
            std::thread::sleep(Duration::from_millis(20));
        }
        let reports: Vec<Report> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
        (reports, most.max(member.resident()))
    });
    let seconds = begin.elapsed().as_secs_f64();
    // The first one said nothing for so long that it may have been closed.
    let mut client = member.client();
    let left = queue_is_conserved(&mut client, &reports);
    sums_are_right(&mut client, &shared, &reports);
    ids_are_unique(&reports);
    let held = reports.iter().map(|report| report.held).sum::<usize>() + left + shared::RINGBUFFER;
    let done = shared.done.load(Ordering::Relaxed);
    println!(
        "{done} operations of {CONNECTIONS} connections in {seconds:.1} s, {:.0} per second; {held} items, at most {} KB resident",
        done as f64 / seconds,
        most >> 10
    );
    assert!(done >= total);
    assert!(most < BESIDE_DATA + held * ITEM_BYTES, "{most} bytes resident for {held} items");
    assert!(member.is_alive());
}

/// Whatever was offered was taken once or is still there. Gives how many are.
fn queue_is_conserved(client: &mut Client, reports: &[Report]) -> usize {
    let left = client.call(&queue::DrainTo { name: "work".into() }).unwrap().values;
    let mut taken: Vec<i32> = reports.iter().flat_map(|report| report.taken.iter().copied()).collect();
    taken.extend(left.iter().map(number_of));
    let mut offered: Vec<i32> = reports.iter().flat_map(|report| report.offered.iter().copied()).collect();
    taken.sort_unstable();
    offered.sort_unstable();
    assert!(taken == offered, "{} items were offered, {} came out", offered.len(), taken.len());
    left.len()
}

/// Counters that all added to stand at the sum, and permits are all back.
fn sums_are_right(client: &mut Client, shared: &Shared, reports: &[Report]) {
    let counted = client.call(&atomic_long::Get { group: group(), name: "sum".into() }).unwrap().value;
    assert_eq!(counted, reports.iter().map(|report| report.added).sum::<i64>(), "the atomic long");
    let get =
        pn_counter::Get { name: "sum".into(), replica_timestamps: Vec::new(), target_replica: shared.member };
    let counted = client.call(&get).unwrap().value;
    assert_eq!(counted, reports.iter().map(|report| report.counted).sum::<i64>(), "the counter");
    let available = semaphore::AvailablePermits { group: group(), name: "permits".into() };
    assert_eq!(client.call(&available).unwrap().value, PERMITS, "permits");
}

fn ids_are_unique(reports: &[Report]) {
    let mut seen = HashSet::new();
    for id in reports.iter().flat_map(|report| &report.ids) {
        assert!(seen.insert(*id), "the id {id} was given twice");
    }
}
