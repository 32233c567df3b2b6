//! The statements that a connection has open: how each is found again by its client, and how all of them end with it.
//!
//! ```text
//! execute --> begin: Reading ----- page, more to come ----> kept --- fetch: Reading ---> ...
//!                |                                            |
//!                +-- last page, error, panic: gone            +-- close, time-out, connection gone: its query is cancelled
//! ```
//!
//! So many have a *place* at a time, from their begin to their end; one more waits in line for the place of one that is over. What waits is
//! bounded by what a connection may have waiting of anything, by number and by bytes. A place that no other statement gives up for too long
//! is refused: else a program that opens more results than there are places, and reads none, would hang.
//!
//! One reads at a time: whoever reads has the cursor, and finds out by putting it back that the statement was ended meanwhile. Locked
//! for the time of a look-up only; never while a query is read.

use super::cursor::Cursor;
use super::problem::{Code, Problem};
use filbert_pool::Clock;
use filbert_sql::QueryCanceller;
use filbert_wire::messages::structures::SqlQueryId;
use futures::channel::oneshot;
use futures::future::{Either, select};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// How long a statement waits for a place.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What a client calls a statement.
type Name = [i64; 4];

fn name_of(id: &SqlQueryId) -> Name {
    [id.member_id_high, id.member_id_low, id.local_id_high, id.local_id_low]
}

/// The statements that one connection has open.
#[derive(Debug)]
pub(in crate::hazelcast) struct Statements {
    limit: usize,
    open: Mutex<HashMap<Name, Arc<Statement>>>,
    line: Mutex<Line>,
}

/// The places of statements, and who waits for one.
#[derive(Debug, Default)]
struct Line {
    taken: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// A place; given to the next in line when it is dropped.
#[derive(Debug)]
struct Place {
    statements: Weak<Statements>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(statements) = self.statements.upgrade() else { return };
        loop {
            let mut line = statements.line();
            let Some(next) = line.waiting.pop_front() else {
                line.taken -= 1;
                return;
            };
            drop(line);
            let place = Place { statements: std::mem::take(&mut self.statements) };
            match next.send(place) {
                Ok(()) => return,
                // It does not wait any more; without its statements, what comes back gives nothing away.
                Err(mut place) => self.statements = std::mem::take(&mut place.statements),
            }
        }
    }
}

/// A statement that was executed and is not over.
#[derive(Debug, Default)]
pub(super) struct Statement {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Not here while someone reads.
    cursor: Option<Box<Cursor>>,
    /// The query, once there is one.
    canceller: Option<QueryCanceller>,
    ended: Option<Ended>,
    place: Option<Place>,
    /// Wakes it where it waits for a place.
    waits: Option<oneshot::Sender<()>>,
}

/// Why a statement is over before its rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Closed,
    TimedOut { limit_ms: u64 },
    NoPlace { places: usize },
}

impl From<Ended> for Problem {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Closed => Problem::new(Code::CancelledByUser, "the statement was closed by its client"),
            Ended::NoPlace { places } => {
                let text = format!(
                    "this connection has {places} statements open, and none of them was closed or read to its end while this one waited; do \
                     that, or raise the setting sql_statements"
                );
                Problem::new(Code::Generic, text)
            }
            Ended::TimedOut { limit_ms } => {
                let text = format!(
                    "the statement took longer than the {limit_ms} ms that its client gave it; give it more, or make it smaller"
                );
                Problem::new(Code::Timeout, text)
            }
        }
    }
}

impl Statement {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Ends it: its query is cancelled, whether somebody reads it or not. The first reason stays.
    pub(super) fn end(&self, why: Ended) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(why);
        let (cursor, canceller) = (state.cursor.take(), state.canceller.take());
        let (place, waits) = (state.place.take(), state.waits.take());
        drop(state);
        drop((place, waits));
        // Dropped, a query is cancelled; one that is being read needs to be told.
        drop(cursor);
        // Refused at shutdown only, which ends queries too.
        let _ = canceller.map(|canceller| canceller.cancel().map(filbert_pool::Called::detach));
    }

    /// True while it waits for a place.
    fn is_waiting(&self) -> bool {
        self.state().waits.is_some()
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.state().ended
    }
}

impl Statements {
    /// As many as `limit` at a time.
    pub(in crate::hazelcast) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, open: Mutex::default(), line: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Name, Arc<Statement>>> {
        self.open.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A place for a statement, or where to wait for one.
    fn place(self: &Arc<Self>) -> Result<Place, oneshot::Receiver<Place>> {
        let mut line = self.line();
        // Others who wait were here before.
        if line.taken < self.limit {
            line.taken += 1;
            return Ok(Place { statements: Arc::downgrade(self) });
        }
        // Statements that were ended in line leave their ends behind: looked for whenever the line has doubled.
        if line.waiting.len().is_power_of_two() {
            line.waiting.retain(|gives| !gives.is_canceled());
        }
        let (gives, place) = oneshot::channel();
        line.waiting.push_back(gives);
        Err(place)
    }

    /// A new statement under that id, which its client made up.
    pub(super) fn begin(self: &Arc<Self>, id: &SqlQueryId) -> Result<Reading, Problem> {
        let mut open = self.open();
        match open.entry(name_of(id)) {
            Entry::Occupied(_) => {
                let text = "a statement with this id is open already; each needs an id of its own";
                Err(Problem::new(Code::Generic, text))
            }
            Entry::Vacant(vacant) => {
                let statement = Arc::clone(vacant.insert(Arc::default()));
                Ok(Reading { statements: Arc::clone(self), name: name_of(id), statement, kept: false })
            }
        }
    }

    /// Goes on reading a statement.
    pub(super) fn resume(self: &Arc<Self>, id: &SqlQueryId) -> Result<(Reading, Box<Cursor>), Problem> {
        let name = name_of(id);
        let Some(statement) = self.open().get(&name).cloned() else {
            let text = "there is no open statement with this id on this connection: it was closed, or read to its end";
            return Err(Problem::new(Code::Generic, text));
        };
        let (cursor, ended) = {
            let mut state = statement.state();
            (state.cursor.take(), state.ended)
        };
        match (cursor, ended) {
            (_, Some(ended)) => {
                self.open().remove(&name);
                Err(ended.into())
            }
            (None, None) => Err(Problem::new(
                Code::Generic,
                "a page of this statement is being read already; wait for it",
            )),
            (Some(cursor), None) => {
                let statements = Arc::clone(self);
                Ok((Reading { statements, name, statement, kept: false }, cursor))
            }
        }
    }

    /// Ends a statement; whether there is one is all the same.
    pub(super) fn close(&self, id: &SqlQueryId) {
        let statement = self.open().remove(&name_of(id));
        statement.inspect(|statement| statement.end(Ended::Closed));
    }

    /// Ends all.
    pub(in crate::hazelcast) fn clear(&self) {
        let all = std::mem::take(&mut *self.open());
        all.into_values().for_each(|statement| statement.end(Ended::Closed));
    }
}

/// The right to read a statement. Dropped without [`Reading::keep`], the statement is over.
#[derive(Debug)]
pub(super) struct Reading {
    statements: Arc<Statements>,
    name: Name,
    statement: Arc<Statement>,
    kept: bool,
}

impl Reading {
    pub(super) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// Waits until the statement has a place; nobody waits longer than [`LONGEST_WAIT`].
    pub(super) async fn begins(&self, clock: &Clock) -> Result<(), Problem> {
        let place = match self.statements.place() {
            Ok(place) => place,
            Err(place) => {
                let woken = {
                    let mut state = self.statement.state();
                    let (wakes, woken) = oneshot::channel();
                    if state.ended.is_none() {
                        state.waits = Some(wakes);
                    }
                    woken
                };
                let (statement, places) = (Arc::downgrade(&self.statement), self.statements.limit);
                let _patience = clock.timer(LONGEST_WAIT, move || {
                    let waiting = statement.upgrade().filter(|statement| statement.is_waiting());
                    waiting.inspect(|statement| statement.end(Ended::NoPlace { places }));
                });
                // Ended, its end of the channel is dropped.
                match select(place, woken).await {
                    Either::Left((Ok(place), _)) => place,
                    Either::Left((Err(_), _)) => return Err(Ended::Closed.into()),
                    Either::Right(_) => {
                        return Err(self.statement.ended().unwrap_or(Ended::Closed).into());
                    }
                }
            }
        };
        let mut state = self.statement.state();
        state.waits = None;
        match state.ended {
            Some(ended) => {
                drop(state);
                drop(place);
                Err(ended.into())
            }
            None => {
                state.place = Some(place);
                Ok(())
            }
        }
    }

    /// The statement has a query from now on. Where it was ended already, the query is not worth anything any more.
    pub(super) fn runs(&self, query: QueryCanceller) -> Result<(), Problem> {
        let mut state = self.statement.state();
        match state.ended {
            Some(ended) => Err(ended.into()),
            None => {
                state.canceller = Some(query);
                Ok(())
            }
        }
    }

    /// There are more rows: they wait for the next fetch. An error when the statement was ended meanwhile.
    pub(super) fn keep(mut self, cursor: Box<Cursor>) -> Result<(), Problem> {
        let mut state = self.statement.state();
        if let Some(ended) = state.ended {
            return Err(ended.into());
        }
        state.cursor = Some(cursor);
        drop(state);
        self.kept = true;
        Ok(())
    }

    /// The statement is over, before its client is told so: the next one may have its id. Why it ended, if somebody ended it.
    pub(super) fn over(self) -> Option<Ended> {
        self.statement().ended()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !self.kept {
            let mut open = self.statements.open();
            // Not one that has the same name and came later.
            if open.get(&self.name).is_some_and(|found| Arc::ptr_eq(found, &self.statement)) {
                open.remove(&self.name);
            }
            drop(open);
            let place = self.statement.state().place.take();
            drop(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::Stages;
    use futures::executor::block_on;
    use futures::{FutureExt, poll};

    fn id(number: i64) -> SqlQueryId {
        SqlQueryId { member_id_high: 0, member_id_low: 0, local_id_high: 0, local_id_low: number }
    }

    /// Bug: a client that kept all places and went on to execute and close made the line longer for ever.
    #[test]
    fn statements_that_were_closed_in_line_are_forgotten() {
        let stages = Stages::simulated(1);
        let (clock, statements) = (stages.clock(), Statements::new(1));
        let first = statements.begin(&id(0)).unwrap();
        block_on(first.begins(&clock)).unwrap();
        for number in 1..1_000 {
            let reading = statements.begin(&id(number)).unwrap();
            block_on(async {
                let mut waits = reading.begins(&clock).boxed_local();
                assert!(poll!(&mut waits).is_pending());
                statements.close(&id(number));
                assert!(waits.await.is_err());
            });
        }
        assert!(statements.line().waiting.len() < 10, "{}", statements.line().waiting.len());
        drop((first, statements));
    }

    #[test]
    fn who_waits_too_long_is_told_so() {
        let stages = Stages::simulated(1);
        let (clock, statements) = (stages.clock(), Statements::new(1));
        let first = statements.begin(&id(0)).unwrap();
        block_on(first.begins(&clock)).unwrap();
        let second = statements.begin(&id(1)).unwrap();
        block_on(async {
            let mut waits = second.begins(&clock).boxed_local();
            assert!(poll!(&mut waits).is_pending());
            stages.simulation().unwrap().advance(LONGEST_WAIT);
            assert!(waits.await.is_err());
        });
        assert_eq!(second.statement().ended(), Some(Ended::NoPlace { places: 1 }));
    }
}
