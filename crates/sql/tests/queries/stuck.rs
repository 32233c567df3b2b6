//! Workers inside one call that does not come back.

use crate::asking::{ask, idle, number, soon, started, until};
use crate::pools::add_stuck;
use filbert_sql::{SqlError, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::atomic::Ordering;

#[test]
fn calls_that_do_not_come_back_hold_up_nobody_and_their_readers_are_told_at_once() {
    let (stages, sql) = started(SqlSettings::default());
    let door = add_stuck(&sql, 1);
    let session = sql.session();
    let stuck: Vec<_> = (0..2).map(|_| session.query("SELECT a FROM stuck").unwrap()).collect();
    until("both workers are stuck", || {
        let inside = door.inside.load(Ordering::SeqCst);
        (inside == 2, inside)
    });
    let other = sql.session();
    let rows = soon("a query beside them", move || {
        let joined = "SELECT count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a.value = b.value";
        (number(&other, "SELECT 1"), number(&other, joined))
    });
    assert_eq!(rows, (1, 1_000));
    for mut query in stuck {
        assert!(query.canceller().cancel().unwrap().wait().unwrap(), "there was something to cancel");
        let end = soon("the reader of a cancelled query", move || block_on(query.next()));
        assert!(matches!(end, Some(Err(SqlError::Cancelled))), "{end:?}");
    }
    assert_eq!(door.inside.load(Ordering::SeqCst), 2, "the calls go on");
    door.open();
    idle(&stages, &sql);
}

#[test]
fn a_time_limit_is_told_before_the_call_ends() {
    let (stages, sql) = started(SqlSettings { time_limit_ms: Some(100), ..Default::default() });
    let door = add_stuck(&sql, 2);
    let session = sql.session();
    let end = soon("a time limit", move || ask(&session, "SELECT a FROM stuck"));
    assert!(matches!(end, Err(SqlError::TimedOut { limit_ms: 100 })), "{end:?}");
    door.open();
    idle(&stages, &sql);
}
