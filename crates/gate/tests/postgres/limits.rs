//! Limits of connections and messages.

use crate::client::{Client, Member, eventually};
use crate::login::user;
use filbert_gate::hazelcast::Rights;
use filbert_gate::postgres::PostgresSettings;
use filbert_net::{CloseReason, NetSettings, RefuseReason};
use std::panic::AssertUnwindSafe;

fn limited(change: impl FnOnce(&mut NetSettings)) -> PostgresSettings {
    let mut settings = PostgresSettings::default();
    change(&mut settings.connections);
    settings
}

#[test]
fn messages_are_bounded_before_and_after_the_login() {
    let member = Member::with(PostgresSettings { message_bytes: 20 << 10, ..PostgresSettings::default() });
    // A stranger who promises a long message is refused before it comes.
    let mut stranger = Client::connect(member.address());
    stranger.raw(&(1_i32 << 30).to_be_bytes());
    assert_eq!(stranger.until_ready().code(), "54000");
    let mut client = member.client();
    let text = format!("SELECT '{}' AS a", "x".repeat(15 << 10));
    assert_eq!(client.query(&text).ok().rows.len(), 1);
    client.raw(b"Q\x00\x01\x00\x00");
    let reply = client.until_ready();
    assert_eq!(reply.code(), "54000");
    assert!(reply.errors[0].1.contains("postgres.message_bytes"), "{reply:?}");
    assert!(client.receive().is_none());
}

#[test]
fn connections_are_counted_by_address() {
    let member = Member::with(limited(|net| net.connections_per_address = 2));
    let (_one, two) = (member.client(), member.client());
    let mut third = Client::connect(member.address());
    assert!(third.receive().is_none());
    // The client sees it before it is counted.
    eventually("it is counted", || member.door.stats().refused_by(RefuseReason::TooManyFromAddress) == 1);
    drop(two);
    eventually("there is room again", || member.door.stats().connections < 2);
    member.client().query("SELECT 1").ok();
}

#[test]
fn who_does_not_log_in_and_who_is_silent_is_closed() {
    // Long enough for who only begins to log in, on a busy machine.
    let quick = limited(|net| net.login_timeout_ms = 3_000);
    let users = vec![user("ann", "secret", Rights::everything())];
    let member = Member::with(PostgresSettings { users, ..quick });
    let mut silent = Client::connect(member.address());
    assert!(silent.receive().is_none());
    let mut half = Client::connect(member.address());
    half.start(&[("user", "ann")]);
    half.receive();
    assert!(half.receive().is_none());
    // The client sees it before it is counted.
    eventually("both are counted", || member.door.stats().closed_by(CloseReason::LoginTimeout) == 2);

    let member = Member::with(limited(|net| net.idle_timeout_ms = 300));
    // On a busy machine a client may be silent before it has logged in, or before it asks: then another one tries.
    let tries = |act: &mut dyn FnMut(Client) -> bool| {
        std::panic::catch_unwind(AssertUnwindSafe(|| act(member.client()))).unwrap_or(false)
    };
    eventually("one that has logged in is closed", || tries(&mut |mut idle| idle.receive().is_none()));
    eventually("it is counted", || member.door.stats().closed_by(CloseReason::Idle) > 0);
    // A query that runs is not silence.
    let long = "SELECT count(*) AS n FROM generate_series(1, 300000) a, generate_series(1, 20) b WHERE a.value % 7 = b.value";
    eventually("a long query is answered", || {
        tries(&mut |mut client| client.query(long).ok().tags == ["SELECT 1"])
    });
}

#[test]
fn statements_portals_and_their_bytes_are_bounded() {
    let settings =
        PostgresSettings { statements: 3, portals: 2, prepared_bytes: 4_000, ..PostgresSettings::default() };
    let member = Member::with(settings);
    let mut client = member.client();
    for name in ["a", "b", "c"] {
        client.parse(name, "SELECT 1 AS v", &[]);
        client.sync().ok();
    }
    client.parse("d", "SELECT 1 AS v", &[]);
    let refused = client.sync();
    assert_eq!(refused.code(), "54000");
    assert!(refused.errors[0].1.contains("postgres.statements"), "{refused:?}");
    client.query("DEALLOCATE a").ok();
    client.parse("d", &format!("SELECT '{}' AS v", "x".repeat(5_000)), &[]);
    assert_eq!(client.sync().code(), "53200");
    client.query("BEGIN").ok();
    for portal in ["p", "q"] {
        client.bind(portal, "b", 0, &[], 0);
        client.sync().ok();
    }
    client.bind("r", "b", 0, &[], 0);
    assert_eq!(client.sync().code(), "54000");
    client.query("ROLLBACK; DISCARD ALL").ok();
    client.parse("a", "SELECT 1 AS v", &[]);
    client.sync().ok();
}
