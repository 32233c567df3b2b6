//! Which queries there are: what `SHOW QUERIES` shows.
//!
//! Every query has an entry, held by whoever reads or cancels it; the registry holds it weakly, so nothing has to be removed by hand and
//! what a panic or a dropped reader leaves behind is not listed for ever.

use super::turnstile::Turnstile;
use crate::error::SqlError;
use crate::memory::QueryMemory;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryPool;
use filbert_pool::{Clock, Group, StageId, StageKind, SubmitError};
use futures::task::AtomicWaker;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::Context;
use std::time::Duration;

/// How much of a statement is shown.
const SHOWN_CHARS: usize = 100;

/// What is known of one query.
pub(crate) struct Entry {
    /// How its text begins.
    text: String,
    since: Duration,
    turnstile: Arc<Turnstile>,
    memory: Arc<QueryMemory>,
    state: AtomicU8,
    start: Mutex<Option<Start>>,
    /// Whoever waits for its plan or its rows: a call cannot be interrupted, but need not be waited for once it is in vain.
    reader: AtomicWaker,
    /// Why it ends, when not because its user cancelled it.
    reason: OnceLock<SqlError>,
}

/// What begins a query. Dropped instead, its reader is told that it was cancelled.
pub(crate) type Start = Box<dyn FnOnce() -> Result<(), SqlError> + Send>;

/// How far a query is, as its control sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    Waiting,
    Begun,
    Over,
}

impl Entry {
    /// Its fragments that are not gone.
    pub(crate) fn fragments(&self) -> usize {
        self.group().tasks()
    }

    /// What begins it, once.
    pub(crate) fn take_start(&self) -> Option<Start> {
        self.start.lock().unwrap_or_else(|broken| broken.into_inner()).take()
    }

    pub(crate) fn group(&self) -> &Group {
        self.turnstile.group()
    }

    pub(crate) fn set(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Why it ends; the first reason counts.
    pub(crate) fn set_reason(&self, reason: SqlError) {
        let _ = self.reason.set(reason);
    }

    /// Why it ends, when not because its user cancelled it.
    pub(crate) fn reason(&self) -> Option<&SqlError> {
        self.reason.get()
    }

    /// It is over: what it had of the engine is others', and its reader is told.
    pub(crate) fn end(&self) {
        self.set(State::Over);
        self.turnstile.leave();
        self.reader.wake();
    }

    /// True when it is over; otherwise the reader is woken when it is.
    pub(crate) fn is_over(&self, reader: &Context<'_>) -> bool {
        self.reader.register(reader.waker());
        self.state.load(Ordering::Acquire) == State::Over as u8
    }

    /// Waiting, running, resting or ending; nothing when it is over and nothing is left of it.
    fn state(&self) -> Option<&'static str> {
        match self.state.load(Ordering::Relaxed) {
            state if state == State::Waiting as u8 => Some("waiting"),
            state if state == State::Begun as u8 => {
                Some(if self.turnstile.is_closed() { "resting" } else { "running" })
            }
            _ => (self.fragments() > 0).then_some("ending"),
        }
    }
}

/// The queries of one engine.
#[derive(Default)]
pub(crate) struct Registry {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_id: BTreeMap<u64, Weak<Entry>>,
    /// So many may be there before those that are gone are taken out.
    prune_at: usize,
    is_closed: bool,
}

impl Registry {
    /// A query that waits from now on.
    pub(crate) fn add(
        &self,
        turnstile: &Arc<Turnstile>,
        text: &str,
        clock: &Clock,
        memory: &Arc<QueryMemory>,
        start: Start,
    ) -> Result<Arc<Entry>, SqlError> {
        let begin = text.trim_start();
        let text = match begin.char_indices().nth(SHOWN_CHARS) {
            Some((at, _)) => format!("{}...", &begin[..at]),
            None => begin.to_owned(),
        };
        let entry = Arc::new(Entry {
            text,
            since: clock.now(),
            turnstile: Arc::clone(turnstile),
            memory: Arc::clone(memory),
            state: AtomicU8::new(State::Waiting as u8),
            start: Mutex::new(Some(start)),
            reader: AtomicWaker::new(),
            reason: OnceLock::new(),
        });
        let mut entries = self.entries.lock().unwrap_or_else(|broken| broken.into_inner());
        if entries.is_closed {
            return Err(SubmitError::ShutDown { stage: StageId::of(StageKind::Fragment) }.into());
        }
        if entries.by_id.len() >= entries.prune_at {
            entries.by_id.retain(|_, entry| entry.strong_count() > 0);
            entries.prune_at = (entries.by_id.len() * 2).max(64);
        }
        entries.by_id.insert(turnstile.id().0, Arc::downgrade(&entry));
        Ok(entry)
    }

    /// The stages end: what has not begun never will, and whoever waits for it is told now. Nobody else would: its turn to begin was to
    /// come from a query before it, over a stage that runs nothing more.
    pub(crate) fn close(&self) {
        let live: Vec<Arc<Entry>> = {
            let mut entries = self.entries.lock().unwrap_or_else(|broken| broken.into_inner());
            entries.is_closed = true;
            entries.by_id.values().filter_map(Weak::upgrade).collect()
        };
        for entry in live {
            drop(entry.take_start());
        }
    }

    /// The columns of `SHOW QUERIES`.
    pub(crate) fn columns() -> SchemaRef {
        let number = |name: &str| Field::new(name, DataType::Int64, false);
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        Arc::new(Schema::new(vec![
            number("id"),
            number("session"),
            text("state"),
            number("ms"),
            number("fragments"),
            number("memory_bytes"),
            text("statement"),
        ]))
    }

    /// What waits, runs or ends now, the oldest first.
    pub(crate) fn shown(&self, clock: &Clock) -> Result<RecordBatch, SqlError> {
        let live: Vec<Arc<Entry>> = {
            let entries = self.entries.lock().unwrap_or_else(|broken| broken.into_inner());
            entries.by_id.values().filter_map(Weak::upgrade).collect()
        };
        let live: Vec<_> = live.iter().filter_map(|entry| Some((entry, entry.state()?))).collect();
        let now = clock.now();
        let numbers = |of: &dyn Fn(&Entry) -> i64| -> ArrayRef {
            Arc::new(live.iter().map(|(entry, _)| Some(of(entry))).collect::<Int64Array>())
        };
        let columns: Vec<ArrayRef> = vec![
            numbers(&|entry| entry.turnstile.id().0 as i64),
            numbers(&|entry| entry.turnstile.session() as i64),
            Arc::new(live.iter().map(|(_, state)| Some(*state)).collect::<StringArray>()),
            numbers(&|entry| now.saturating_sub(entry.since).as_millis() as i64),
            numbers(&|entry| entry.fragments() as i64),
            numbers(&|entry| entry.memory.reserved() as i64),
            Arc::new(live.iter().map(|(entry, _)| Some(entry.text.as_str())).collect::<StringArray>()),
        ];
        Ok(RecordBatch::try_new(Self::columns(), columns).map_err(DataFusionError::from)?)
    }
}
