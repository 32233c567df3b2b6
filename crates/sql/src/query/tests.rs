//! Admission by itself: lines as long as memory allows, and what a timer holds of a query.

use super::*;
use crate::memory::{QueryMemory, TotalMemory};
use crate::{Sql, SqlSettings};
use filbert_pool::{Shutdown, StageKind, Stages};
use futures::executor::block_on;
use std::time::Duration;

fn admission(stages: &Stages, running: usize, waiting: usize) -> Arc<Admission> {
    admission_resting_after(stages, running, waiting, Duration::from_millis(100))
}

fn admission_resting_after(
    stages: &Stages,
    running: usize,
    waiting: usize,
    rest: Duration,
) -> Arc<Admission> {
    let wait = Some(Duration::from_secs(1_000));
    Admission::new(
        Bounds { running, waiting, short: 0, short_work: Duration::ZERO, wait, rest },
        stages.clock(),
    )
}

/// A query of nothing, that asks for a permit.
fn asked(
    stages: &Stages,
    admission: &Arc<Admission>,
    session: u64,
    id: u64,
) -> Result<Arc<Turnstile>, SqlError> {
    let group = stages.fragment().group("query");
    let turnstile = Turnstile::new((QueryId(id), session), group, admission, None);
    let control = stages.query().strand(id, Control::Over);
    admission.admit(&turnstile, &control)?;
    Ok(turnstile)
}

/// Each permit that is given back starts the next in line; when the stages are gone, all of them in vain, one after the other.
#[test]
fn a_line_of_a_hundred_thousand_ends_without_recursion() {
    let stages = Stages::simulated(1);
    let admission = admission(&stages, 1, usize::MAX);
    let gates: Vec<_> = (0..100_001).map(|id| asked(&stages, &admission, id % 100, id).unwrap()).collect();
    assert_eq!(admission.counts(), (1, 100_000));
    stages.shutdown(Shutdown::Cancel).unwrap();
    gates[0].leave();
    assert_eq!(admission.counts(), (0, 0));
}

/// A query in line whose start is refused, as it is when stage `fragment` is full.
fn refused(stages: &Stages, admission: &Arc<Admission>, registry: &Registry, id: u64) -> Arc<Entry> {
    let turnstile =
        Turnstile::new((QueryId(id), id % 100), stages.fragment().group("query"), admission, None);
    let memory = Arc::new(QueryMemory::new(0, &TotalMemory::new(0)));
    let start = Box::new(|| Err(SqlError::Overloaded { running: 1, waiting: 1 }));
    let entry = registry.add(&turnstile, "SELECT 1", &stages.clock(), &memory, start).unwrap();
    let engaged = stages.engage(StageKind::Fragment).unwrap();
    let control = stages.query().strand(id, Control::Waiting(Arc::clone(&entry), engaged));
    admission.admit(&turnstile, &control).unwrap();
    entry
}

/// Each query that cannot start gives its permit to the next, which cannot start either; and each is told why.
#[test]
fn a_line_of_queries_that_cannot_start_ends_without_recursion() {
    let stages = Stages::simulated(1);
    let (admission, registry) = (admission(&stages, 1, usize::MAX), Registry::default());
    let first = asked(&stages, &admission, 0, 0).unwrap();
    let entries: Vec<_> = (1..=50_000).map(|id| refused(&stages, &admission, &registry, id)).collect();
    assert_eq!(admission.counts(), (1, 50_000));
    first.leave();
    assert_eq!(admission.counts(), (0, 0));
    assert!(entries.iter().all(|entry| matches!(entry.reason(), Some(SqlError::Overloaded { .. }))));
}

/// Nobody waits for longer than the settings say, and who has a permit is no part of that.
#[test]
fn who_has_waited_too_long_is_refused_when_it_is_time() {
    let stages = Stages::simulated(1);
    let clock = stages.simulation().unwrap();
    // The one with the permit does nothing here, and would hand it on.
    let never = Duration::from_secs(1_000_000);
    let (admission, registry) = (admission_resting_after(&stages, 1, 10, never), Registry::default());
    let first = asked(&stages, &admission, 0, 0).unwrap();
    let early = refused(&stages, &admission, &registry, 1);
    clock.advance(Duration::from_secs(500));
    let late = refused(&stages, &admission, &registry, 2);
    clock.advance(Duration::from_secs(499));
    assert_eq!(admission.counts(), (1, 2));
    clock.advance(Duration::from_secs(200));
    assert_eq!(admission.counts(), (1, 1));
    let reason = early.reason();
    assert!(
        matches!(reason, Some(SqlError::WaitedTooLong { limit_ms: 1_000_000, running: 1 })),
        "{reason:?}"
    );
    assert!(late.reason().is_none() && !first.is_over());
    clock.advance(Duration::from_secs(1_000));
    assert_eq!(admission.counts(), (1, 0));
    assert!(matches!(late.reason(), Some(SqlError::WaitedTooLong { .. })));
}

/// Whoever is cancelled before it stands in line does not stay there.
#[test]
fn who_is_over_before_it_asks_has_no_place_and_holds_up_nobody() {
    let stages = Stages::simulated(1);
    let admission = admission(&stages, 1, 10);
    let turnstile =
        |id| Turnstile::new((QueryId(id), id), stages.fragment().group("query"), &admission, None);
    let over = turnstile(1);
    over.leave();
    let control = stages.query().strand(1, Control::Over);
    assert!(matches!(admission.admit(&over, &control), Err(SqlError::Cancelled)));
    assert_eq!(admission.counts(), (0, 0));
    let first = asked(&stages, &admission, 0, 0).unwrap();
    admission.admit(&over, &control).unwrap();
    assert_eq!(admission.counts(), (1, 0));
    let second = asked(&stages, &admission, 2, 2).unwrap();
    first.leave();
    assert!(!second.is_closed());
}

#[test]
fn who_has_read_to_the_end_may_ask_again_at_once() {
    let stages = Stages::start().unwrap();
    let settings = SqlSettings { session_open_queries: 1, ..Default::default() };
    let sql = Sql::start(&stages, settings).unwrap();
    let session = sql.session();
    for _ in 0..200 {
        assert_eq!(block_on(session.query("SELECT 1").unwrap().collect()).unwrap().len(), 1);
    }
}

#[test]
fn who_is_over_leaves_its_line_and_sessions_take_turns() {
    let stages = Stages::simulated(1);
    let admission = admission(&stages, 1, 10);
    let gates: Vec<_> = [(1, 0), (1, 1), (1, 2), (1, 3), (2, 4)]
        .map(|(session, id)| asked(&stages, &admission, session, id).unwrap())
        .into();
    assert!(!gates[0].is_closed() && gates[1].is_closed());
    gates[1].leave();
    assert_eq!(admission.counts(), (1, 3));
    gates[0].leave();
    assert!(!gates[4].is_closed(), "the session that was not served");
    gates[4].leave();
    assert!(!gates[2].is_closed() && gates[3].is_closed());
    for turnstile in &gates {
        turnstile.leave();
        turnstile.leave();
    }
    assert_eq!(admission.counts(), (0, 0));
}

#[test]
fn who_rests_gives_its_permit_away_only_when_somebody_waits() {
    let stages = Stages::simulated(1);
    let clock = stages.simulation().unwrap();
    let admission = admission(&stages, 2, 10);
    let resting = asked(&stages, &admission, 1, 0).unwrap();
    clock.advance(Duration::from_secs(10));
    assert!(!resting.is_closed(), "nobody waits");
    let second = asked(&stages, &admission, 1, 1).unwrap();
    let third = asked(&stages, &admission, 2, 2).unwrap();
    assert!(resting.is_closed() && !second.is_closed() && !third.is_closed());
    let fourth = asked(&stages, &admission, 2, 3).unwrap();
    assert!(fourth.is_closed() && !second.is_closed() && !third.is_closed(), "they had no time to rest");
    clock.advance(Duration::from_millis(99));
    assert!(fourth.is_closed());
    clock.advance(Duration::from_millis(2));
    assert!(second.is_closed() && third.is_closed() && !fourth.is_closed());
    assert_eq!(admission.counts(), (1, 0));
    // Nobody waits any more, so nobody looks.
    clock.advance(Duration::from_secs(10));
    assert!(!fourth.is_closed());
}

#[test]
fn a_time_limit_does_not_keep_a_query_that_is_gone() {
    let stages = Stages::start().unwrap();
    let settings = SqlSettings { time_limit_ms: Some(3_600_000), ..Default::default() };
    let sql = Sql::start(&stages, settings).unwrap();
    let query = sql.session().query("SELECT 1").unwrap();
    let steering = Arc::downgrade(&query.steering);
    assert_eq!(block_on(query.collect()).unwrap().len(), 1);
    assert!(steering.upgrade().is_none(), "the timer holds it until the limit");
}
