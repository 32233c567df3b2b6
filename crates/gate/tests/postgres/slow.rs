//! A client that reads slowly slows its query, and holds no memory for it.

use crate::client::{Member, eventually};
use filbert_gate::postgres::PostgresSettings;
use filbert_net::{CloseReason, NetSettings};

/// Gigabytes, if anybody took them.
const WIDE: &str = "SELECT repeat('x', 1000) AS a, repeat('y', 1000) AS b FROM generate_series(1, 10000000)";

#[test]
fn what_nobody_takes_is_not_made() {
    let member = Member::start();
    let mut slow = member.client();
    slow.send('Q', format!("{WIDE}\0").as_bytes());
    // The sockets fill, then nothing moves any more.
    let mut sent = 0;
    let mut still = 0;
    eventually("the query stands still", || {
        let now = member.door.stats().bytes_out;
        still = if now == sent { still + 1 } else { 0 };
        sent = now;
        still > 100 && now > 100_000
    });
    let held = member.sql.snapshot().memory_bytes;
    assert!(held < 256 << 20, "the query holds {held} bytes");
    assert!(sent < 256 << 20, "{sent} bytes went out to a client that reads nothing");
    // Others are served meanwhile.
    assert_eq!(member.client().query("SELECT 1 AS a").ok().texts(), [["1"]]);
    // It goes on where it stood.
    for _ in 0..1_000 {
        assert!(slow.receive().is_some());
    }
    drop(slow);
    eventually("the query has ended", || member.sql.snapshot().running == 0);
}

#[test]
fn a_client_that_takes_nothing_is_closed_in_the_end() {
    let connections = NetSettings { stall_timeout_ms: 300, ..PostgresSettings::default().connections };
    let member = Member::with(PostgresSettings { connections, ..PostgresSettings::default() });
    let mut stalled = member.client();
    stalled.send('Q', format!("{WIDE}\0").as_bytes());
    eventually("it was closed", || member.door.stats().closed_by(CloseReason::Stalled) == 1);
    eventually("its query has ended", || member.sql.snapshot().running == 0);
}
