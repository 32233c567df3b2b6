//! Cancelling from another connection.

use crate::client::{Client, Member, eventually};
use std::time::Duration;

const LONG: &str = "SELECT count(*) AS n FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

fn cancel(member: &Member, process: i32, key: &[u8]) {
    let mut other = Client::connect(member.address());
    let mut body = process.to_be_bytes().to_vec();
    body.extend_from_slice(key);
    other.packet(80_877_102, &body);
    assert!(other.receive().is_none(), "a cancel request has no answer");
}

#[test]
fn a_query_is_cancelled_by_its_key_and_by_no_other() {
    let member = Member::start();
    let mut client = member.client();
    let (process, key) = (client.process, client.key.clone());
    client.send('Q', format!("{LONG}\0").as_bytes());
    eventually("the query runs", || member.sql.snapshot().running == 1);
    let wrong: Vec<u8> = key.iter().map(|byte| byte ^ 1).collect();
    cancel(&member, process, &wrong);
    cancel(&member, process.wrapping_add(1), &key);
    cancel(&member, process, &key[..3]);
    assert_eq!(member.sql.snapshot().running, 1);
    cancel(&member, process, &key);
    let reply = client.until_ready();
    assert_eq!((reply.code(), reply.status), ("57014", 'I'));
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
    assert_eq!(member.door.counts().cancels, 4);
    // What is late cancels nothing.
    cancel(&member, process, &key);
    assert_eq!(client.query("SELECT 2 AS a").ok().texts(), [["2"]]);
}

#[test]
fn a_prepared_query_is_cancelled_too() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", LONG, &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 0);
    client.send('S', &[]);
    eventually("the query runs", || {
        member.door.counts().statements == 1 && member.sql.snapshot().running == 1
    });
    cancel(&member, client.process, &client.key.clone());
    assert_eq!(client.until_ready().code(), "57014");
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
}

/// Between the plan and the first row there was a moment in which a request found nothing to cancel, and the query ran on.
#[test]
fn a_query_is_cancelled_at_whatever_moment() {
    let member = Member::start();
    let mut client = member.client();
    for round in 0..40 {
        client.send('Q', format!("{LONG}\0").as_bytes());
        eventually("the query runs", || member.sql.snapshot().running == 1);
        // sleeps because the moment of the cancel is what is varied
        std::thread::sleep(Duration::from_micros(round * 250));
        cancel(&member, client.process, &client.key.clone());
        assert_eq!(client.until_ready().code(), "57014", "round {round}");
        eventually("the query has ended", || member.sql.snapshot().running == 0);
    }
}

/// What came between two messages of one exchange found nothing to cancel, and the query ran on.
#[test]
fn a_cancel_between_the_messages_of_an_exchange_is_heeded() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", LONG, &[]);
    client.send('H', &[]);
    assert_eq!(client.receive().map(|message| message.kind), Some('1'));
    cancel(&member, client.process, &client.key.clone());
    client.bind("", "", 0, &[], 0);
    client.execute("", 0);
    assert_eq!(client.sync().code(), "57014");
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
}

#[test]
fn a_client_that_goes_away_takes_its_query_along() {
    let member = Member::start();
    let mut client = member.client();
    client.send('Q', format!("{LONG}\0").as_bytes());
    eventually("the query runs", || member.sql.snapshot().running == 1);
    drop(client);
    eventually("the query has ended", || member.sql.snapshot().running == 0);
    eventually("the connection has ended", || member.door.stats().connections == 0);
}
