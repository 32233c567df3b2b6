//! The statements that a connection has open: how each is found again by its client, and how all of them end with it.
//!
//! ```text
//! execute --> begin: Reading ----- page, more to come ----> kept --- fetch: Reading ---> ...
//!                |                                            |
//!                +-- last page, error, panic: gone            +-- close, time-out, connection gone: its query is cancelled
//! ```
//!
//! One reads at a time: whoever reads has the cursor, and finds out by putting it back that the statement was ended meanwhile. Locked
//! for the time of a look-up only; never while a query is read.

use super::cursor::Cursor;
use super::problem::{Code, Problem};
use filbert_sql::{Query, QueryCanceller};
use filbert_wire::messages::structures::SqlQueryId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};

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
}

/// Why a statement is over before its rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Closed,
    TimedOut { limit_ms: u64 },
}

impl From<Ended> for Problem {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Closed => Problem::new(Code::CancelledByUser, "the statement was closed by its client"),
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
        drop(state);
        // Dropped, a query is cancelled; one that is being read needs to be told.
        drop(cursor);
        // Refused at shutdown only, which ends queries too.
        let _ = canceller.map(|canceller| canceller.cancel().map(filbert_pool::Called::detach));
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.state().ended
    }
}

impl Statements {
    /// As many as `limit` at a time.
    pub(in crate::hazelcast) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Name, Arc<Statement>>> {
        self.open.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A new statement under that id, which its client made up.
    pub(super) fn begin(self: &Arc<Self>, id: &SqlQueryId) -> Result<Reading, Problem> {
        let mut open = self.open();
        if open.len() >= self.limit {
            let text = format!(
                "this connection has {} statements open already; close some or read them to the end, or raise the setting \
                 sql_statements",
                open.len()
            );
            return Err(Problem::new(Code::Generic, text));
        }
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

    /// The statement has a query from now on. Where it was ended already, the query is not worth anything any more.
    pub(super) fn runs(&self, query: &Query) -> Result<(), Problem> {
        let mut state = self.statement.state();
        match state.ended {
            Some(ended) => Err(ended.into()),
            None => {
                state.canceller = Some(query.canceller());
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
        }
    }
}
