//! Latches, semaphores, locks and the sessions that own them.

use filbert_grid::{Acquirer, Grid, GridError, GridSettings, Registry, SessionId, SessionSettings};
use filbert_pool::{Stages, simulate};
use std::collections::HashMap;
use std::time::Duration;

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

fn by(grid: &Grid, session: Option<SessionId>) -> Acquirer {
    Acquirer { session, thread: 1, call: grid.new_id() }
}

#[test]
fn a_latch_lets_all_pass_when_it_is_down() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let latch = grid.count_down_latch("l");
    assert!(latch.wait_for(None).wait().unwrap(), "at first it is down");
    assert!(latch.try_set_count(3).wait().unwrap() && !latch.try_set_count(1).wait().unwrap());
    assert!(!latch.wait_for(AT_ONCE).wait().unwrap());
    assert!(!latch.wait_for(Some(Duration::from_secs(1))).wait().unwrap(), "the time-out");
    let (round, again) = (latch.round().wait().unwrap(), grid.new_id());
    let waiting: Vec<_> = (0..100).map(|_| latch.wait_for(None)).collect();
    for call in [again, again, grid.new_id()] {
        latch.count_down(round, call).wait().unwrap();
    }
    assert_eq!(latch.count().wait(), Ok(1), "a call that was made again counts once");
    latch.count_down(round - 1, grid.new_id()).wait().unwrap();
    assert_eq!(latch.count().wait(), Ok(1), "a call of another round does not count");
    latch.count_down(round, grid.new_id()).wait().unwrap();
    assert!(waiting.into_iter().all(|waits| waits.wait().unwrap()));
    assert!(matches!(latch.try_set_count(0).wait(), Err(GridError::BadArgument { .. })));
}

/// Whoever waited for a round must not wait for the next one, which may begin before it runs again.
#[test]
fn a_round_that_is_over_is_over() {
    simulate::seeds("a_round_that_is_over_is_over", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::new(&stages);
        let latch = grid.count_down_latch("l");
        assert!(latch.try_set_count(1).wait().unwrap());
        let waits = latch.wait_for(None);
        stages.simulation().unwrap().settle();
        let round = latch.round().wait().unwrap();
        let down = latch.count_down(round, grid.new_id());
        let next = latch.try_set_count(1);
        down.wait().unwrap();
        assert!(next.wait().unwrap() && waits.wait().unwrap());
    });
}

/// Permits are neither lost nor made: what all sessions hold and what is there is what there was.
#[test]
fn permits_are_neither_lost_nor_made() {
    simulate::seeds("permits_are_neither_lost_nor_made", 0..300, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let random = |bound| clock.random_below(bound);
        let grid = Grid::new(&stages);
        let semaphore = grid.semaphore("s");
        let all = 1 + random(5) as i32;
        assert!(semaphore.init(all).wait().unwrap() && !semaphore.init(9).wait().unwrap());
        let mut held: HashMap<SessionId, i32> = HashMap::new();
        let mut waiting = Vec::new();
        for _ in 0..60 {
            match random(7) {
                0 => {
                    held.insert(grid.sessions().create().unwrap().id, 0);
                }
                1 | 2 if !held.is_empty() => {
                    let session = *held.keys().nth(random(held.len())).unwrap();
                    let permits = 1 + random(3) as i32;
                    if semaphore.acquire(by(&grid, Some(session)), permits, AT_ONCE).wait().unwrap() {
                        *held.get_mut(&session).unwrap() += permits;
                    }
                }
                3 if !held.is_empty() => {
                    let session = *held.keys().nth(random(held.len())).unwrap();
                    // One that still waits may be served any moment: then it is not known what the session holds.
                    if waiting.iter().any(|(waits, _)| *waits == session) {
                        continue;
                    }
                    let permits = 1 + random(3) as i32;
                    let has = held[&session];
                    let released = semaphore.release(by(&grid, Some(session)), permits).wait();
                    assert_eq!(released.is_ok(), has >= permits, "{released:?}");
                    if released.is_ok() {
                        *held.get_mut(&session).unwrap() -= permits;
                    }
                }
                4 if !held.is_empty() => {
                    let session = *held.keys().nth(random(held.len())).unwrap();
                    waiting.push((
                        session,
                        semaphore.acquire(by(&grid, Some(session)), 1, Some(Duration::from_secs(1))),
                    ));
                }
                5 if !held.is_empty() => {
                    let session = *held.keys().nth(random(held.len())).unwrap();
                    assert!(grid.sessions().close(session) && !grid.sessions().close(session));
                    held.remove(&session);
                }
                _ => stages.simulation().unwrap().settle(),
            }
            for (session, acquired) in waiting.extract_if(.., |(_, acquired)| acquired.is_done()) {
                count(&mut held, session, acquired.wait());
            }
        }
        for (session, acquired) in waiting {
            count(&mut held, session, acquired.wait());
        }
        stages.simulation().unwrap().settle();
        let there = semaphore.available().wait().unwrap();
        assert_eq!(there + held.values().sum::<i32>(), all, "{held:?}");
        held.keys().for_each(|session| assert!(grid.sessions().close(*session)));
        stages.simulation().unwrap().settle();
        assert_eq!((semaphore.available().wait(), grid.sessions().len()), (Ok(all), 0));
    });
}

/// What came of an acquire that waited. Acquired or not, what an ended session has goes back.
fn count(held: &mut HashMap<SessionId, i32>, session: SessionId, acquired: Result<bool, GridError>) {
    match acquired {
        Ok(true) => {
            held.entry(session).and_modify(|held| *held += 1);
        }
        Ok(false) => {}
        Err(GridError::SessionExpired { .. }) => assert!(!held.contains_key(&session)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn permits_without_a_session_belong_to_nobody() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let semaphore = grid.semaphore("s");
    let anyone = || by(&grid, None);
    let waits = semaphore.acquire(anyone(), 2, None);
    semaphore.release(anyone(), 1).wait().unwrap();
    assert!(!waits.is_done());
    semaphore.release(anyone(), 2).wait().unwrap();
    assert!(waits.wait().unwrap());
    semaphore.change(anyone(), -100).wait().unwrap();
    assert_eq!((semaphore.available().wait(), semaphore.drain(anyone()).wait()), (Ok(-99), Ok(-99)));
    assert_eq!(semaphore.available().wait(), Ok(0));
    for wrong in [0, -1] {
        assert!(matches!(semaphore.release(anyone(), wrong).wait(), Err(GridError::BadArgument { .. })));
    }
    semaphore.change(anyone(), i32::MAX).wait().unwrap();
    assert!(matches!(semaphore.release(anyone(), 1).wait(), Err(GridError::BadArgument { .. })), "too many");
}

/// A client whose answer was lost asks again.
#[test]
fn a_call_that_is_made_again_is_done_once() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let (semaphore, lock) = (grid.semaphore("s"), grid.fenced_lock("l"));
    semaphore.init(10).wait().unwrap();
    let session = grid.sessions().create().unwrap().id;
    let call = by(&grid, Some(session));
    for _ in 0..2 {
        assert!(semaphore.acquire(call, 3, AT_ONCE).wait().unwrap());
    }
    assert_eq!(semaphore.available().wait(), Ok(7));
    let call = by(&grid, Some(session));
    assert_eq!((semaphore.drain(call).wait(), semaphore.drain(call).wait()), (Ok(7), Ok(7)));
    let call = by(&grid, Some(session));
    for _ in 0..2 {
        semaphore.release(call, 4).wait().unwrap();
    }
    assert_eq!(semaphore.available().wait(), Ok(4));
    let (first, second, out) = (grid.new_id(), grid.new_id(), grid.new_id());
    for call in [first, first, second, second] {
        assert_eq!(lock.lock(session, 1, call, AT_ONCE).wait(), Ok(Some(1)));
    }
    assert_eq!(lock.ownership().wait().unwrap().unwrap().count, 2);
    assert_eq!(
        (lock.unlock(session, 1, out).wait(), lock.unlock(session, 1, out).wait()),
        (Ok(true), Ok(true))
    );
    assert_eq!(lock.unlock(session, 1, grid.new_id()).wait(), Ok(false));
    assert!(matches!(lock.unlock(session, 1, grid.new_id()).wait(), Err(GridError::NotLockOwner { .. })));
}

/// One holds it at a time, and each gets a larger fence than the one before.
#[test]
fn a_lock_has_one_owner_and_its_fence_grows() {
    simulate::seeds("a_lock_has_one_owner_and_its_fence_grows", 0..300, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::new(&stages);
        let lock = grid.fenced_lock("l");
        let sessions: Vec<_> = (0..3).map(|_| grid.sessions().create().unwrap().id).collect();
        let fences = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let running: Vec<_> = sessions
            .iter()
            .map(|session| {
                let (session, grid, lock, fences) = (*session, grid.clone(), lock.clone(), fences.clone());
                let client = async move {
                    for _ in 0..4 {
                        let fence = lock.lock(session, 1, grid.new_id(), None).await.unwrap().unwrap();
                        let before = lock.ownership().await.unwrap().unwrap();
                        assert_eq!((before.session, before.fence), (session, fence));
                        fences.lock().unwrap().push(fence);
                        assert!(!lock.unlock(session, 1, grid.new_id()).await.unwrap());
                    }
                };
                stages.mixed().spawn("client", client).unwrap()
            })
            .collect();
        running.into_iter().for_each(|client| client.wait().unwrap());
        assert_eq!(*fences.lock().unwrap(), (1..=12).collect::<Vec<i64>>());
    });
}

/// The session remembered the semaphore of that name which was destroyed, and did not tell the new one.
#[test]
fn what_a_session_holds_of_a_new_structure_of_an_old_name_goes_back() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let session = grid.sessions().create().unwrap().id;
    for _ in 0..2 {
        let semaphore = grid.semaphore("s");
        semaphore.init(1).wait().unwrap();
        assert!(semaphore.acquire(by(&grid, Some(session)), 1, AT_ONCE).wait().unwrap());
        grid.structures().destroy(filbert_grid::Service::Semaphore, "s");
    }
    let semaphore = grid.semaphore("s");
    semaphore.init(1).wait().unwrap();
    assert!(semaphore.acquire(by(&grid, Some(session)), 1, AT_ONCE).wait().unwrap());
    grid.sessions().close(session);
    stages.simulation().unwrap().settle();
    assert_eq!(semaphore.available().wait(), Ok(1));
}

#[test]
fn a_session_without_a_sign_of_life_ends() {
    let stages = Stages::simulated(1);
    let sessions = SessionSettings { ttl_ms: 1_000, heartbeat_ms: 100, most: 2 };
    let grid = Grid::with(&stages, GridSettings { sessions, ..Default::default() }, Registry::new());
    let lock = grid.fenced_lock("l");
    let (quiet, lively) = (grid.sessions().create().unwrap(), grid.sessions().create().unwrap().id);
    assert_eq!((quiet.ttl, quiet.heartbeat), (Duration::from_secs(1), Duration::from_millis(100)));
    assert!(matches!(grid.sessions().create(), Err(GridError::TooMany { limit: 2, .. })));
    assert!(lock.lock(quiet.id, 1, grid.new_id(), None).wait().unwrap().is_some());
    let waits = lock.lock(lively, 1, grid.new_id(), None);
    for _ in 0..10 {
        assert!(!waits.is_done());
        stages.simulation().unwrap().advance(Duration::from_millis(99));
        grid.sessions().heartbeat(lively).unwrap();
    }
    stages.simulation().unwrap().advance(Duration::from_millis(20));
    assert_eq!(waits.wait(), Ok(Some(2)));
    let expired = Err(GridError::SessionExpired { session: quiet.id.0 });
    assert_eq!(grid.sessions().heartbeat(quiet.id), expired);
    assert_eq!(lock.lock(quiet.id, 1, grid.new_id(), AT_ONCE).wait().map(|_| ()), expired);
    assert_eq!(grid.sessions().len(), 1);
    stages.simulation().unwrap().advance(Duration::from_secs(2));
    assert_eq!((lock.ownership().wait(), grid.sessions().is_empty()), (Ok(None), true));
}
