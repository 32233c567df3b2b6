//! Large values: taken apart where the other connections of the io loop do not wait for it.

use crate::client::Member;
use filbert_gate::postgres::PostgresSettings;
use filbert_pool::{StageKind, Stages};
use filbert_sql::SqlSettings;

/// Bug: an array of some megabytes was read on the io loop.
#[test]
fn a_large_array_does_not_hold_up_other_connections() {
    let stages = Stages::builder().threads(StageKind::Io, 1).start().unwrap();
    let member = Member::of(stages, PostgresSettings::default(), SqlSettings::default());
    let (mut large, mut other) = (member.client(), member.client());
    large.parse("", "SELECT $1 AS v", &[1007]);
    large.send('H', &[]);
    assert_eq!(large.receive().unwrap().kind, '1');
    let items = 4_000_000;
    let mut array = Vec::with_capacity(2 * items + 2);
    array.push(b'{');
    (0..items).for_each(|_| array.extend_from_slice(b"1,"));
    *array.last_mut().unwrap() = b'}';
    large.bind("", "", 0, &[Some(&array)], 0);
    large.send('H', &[]);
    // One loop serves both. The answer to the array comes last: what the other asked meanwhile did not wait for it.
    let (done, bound) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let kind = large.receive().unwrap().kind;
        done.send(()).unwrap();
        (large, kind)
    });
    let mut answered = 0;
    while bound.try_recv().is_err() {
        other.query("SHOW server_version").ok();
        answered += 1;
    }
    let (mut large, kind) = waiting.join().unwrap();
    assert_eq!(kind, '2');
    assert!(answered > 20, "{answered} answers while the array was read");
    large.sync().ok();
}
