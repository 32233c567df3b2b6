//! The end of a door.

use crate::client::{Client, Member, eventually};
use filbert_net::CloseReason;
use std::time::Duration;

#[test]
fn a_drain_lets_statements_end_and_tells_who_is_idle() {
    let member = Member::start();
    let mut idle = member.client();
    let mut busy = member.client();
    // More than the sockets hold, so that it runs for as long as nobody reads.
    let query = "SELECT repeat('x', 1000) AS a FROM generate_series(1, 20000)";
    busy.send('Q', format!("{query}\0").as_bytes());
    eventually("the query runs", || member.door.stats().bytes_out > 100_000);
    let draining = member.door.drain(Duration::from_secs(50)).unwrap();
    let told = idle.until_ready();
    assert_eq!(told.code(), "57P01");
    let reply = busy.until_ready();
    assert_eq!((reply.rows.len(), reply.status), (20_000, 'I'));
    assert_eq!(busy.until_ready().code(), "57P01");
    let report = draining.wait().unwrap();
    assert_eq!((report.connections, report.cut_short), (2, 0));
    assert_eq!(member.door.stats().closed_by(CloseReason::Drained), 2);
}

#[test]
fn a_drain_that_takes_too_long_ends_hard() {
    let member = Member::start();
    let mut busy = member.client();
    busy.send('Q', b"SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b\0");
    eventually("the query runs", || member.sql.snapshot().running == 1);
    let report = member.door.drain(Duration::from_millis(100)).unwrap().wait().unwrap();
    assert_eq!(report.cut_short, 1);
    eventually("the query has ended", || member.sql.snapshot().running == 0);
}

#[test]
fn goodbye_ends_the_connection() {
    let member = Member::start();
    let mut client: Client = member.client();
    client.send('X', &[]);
    assert!(client.receive().is_none());
    eventually("it is gone", || member.door.stats().connections == 0);
}
