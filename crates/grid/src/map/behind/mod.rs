//! The store behind a map: what waits to be written to it, and what is asked of it.
//!
//! ```text
//! change on a strand -> queue -- at once, or after the delay -> a batch on `mixed/map-store` -> store
//!                         \----- without a delay the answer is held back until its change is written
//! key without an entry -> errand on `mixed/map-store` -> store -> entry, back on the strand
//! ```
//!
//! An entry changes before the store does, so a reader may see a value that is not written yet. When the store refuses it, whoever wrote
//! it is told, and the key is evicted: the next reader is given what the store has. With a delay nobody waits for the store, and what it
//! refuses is tried again.
//!
//! Rejected: to write to the store first and change the entry then. Each write would come to the strand twice, with the key closed to
//! others between, and a busy key could be written no faster than one change at a time. Here changes that come while a batch is being
//! written make the next one, and several of a key are one.
//!
//! The queue of a map on disk survives a kill. The change in the map's log says that the store has yet to be told, and another entry of
//! the log says when it was; both are appended in the order of the queue. What is untold at a start is put into the queue again, so the
//! store may be told twice of a change, and never of an older one after a newer one.
//!
//! Batches and errands run on `mixed/map-store`; the queue is behind a lock that is held for a look-up, so strands and io loops may take it.

mod errand;
mod queue;

pub(crate) use errand::{Brought, Errand, Unkept};

use crate::code::{Registry, StoreCalls};
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::map::operations::ForgetRefused;
use crate::map::partition::MapPartition;
use crate::map::settings::MapStoreSettings;
use crate::operation::{Duty, UnderWay};
use crate::strands::{Alarms, FARTHEST, Strands, mail_until_taken};
use filbert_pool::{Clock, MixedPool, Promise, StageId, StageKind, Stages, TaskError};
use filbert_store::{Change, MapLog};
use filbert_wire::Data;
use queue::{Queue, Taken};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

/// The stage of batches and reads is `mixed/map-store`: tasks that wait for a put may hold all threads of `mixed`.
const POOL: &str = "map-store";
/// What batches are called in metrics and errors.
const WRITE: &str = "map.store";
/// What reads are called.
const READ: &str = "map.load";
/// How long a full mailbox is left alone before it is tried again.
const MAIL_AGAIN: Duration = Duration::from_millis(10);

/// The store behind a map.
#[derive(Debug)]
pub(crate) struct Behind {
    map: Arc<str>,
    settings: MapStoreSettings,
    registry: Registry,
    stages: Stages,
    pool: MixedPool,
    clock: Clock,
    /// Made by the first who needs it, on `mixed/map-store`: it is user code, and may connect to something.
    made: OnceLock<GridResult<StoreCalls>>,
    /// Where the map's entries are.
    home: OnceLock<Weak<Strands<MapPartition>>>,
    /// The log of a map on disk. It is appended to with the state locked, so that it has the order of the queue.
    log: Option<MapLog>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue<Duty>,
    /// The keys whose change is in the log already, and comes to the queue in a moment.
    announced: HashSet<Data>,
    /// A task on `mixed/map-store` takes batches out.
    writes: bool,
    alarms: Alarms,
    flushes: Vec<Flush>,
}

/// Someone who waits until all that came before some number is written or refused.
#[derive(Debug)]
struct Flush {
    number: u64,
    /// The first that was refused.
    told: GridResult<()>,
    promise: Promise<GridResult<()>>,
}

/// A change that a store did not take, and why.
type Refused = (Taken<Duty>, GridError);

/// The task that writes. Dropped before it has run, because the member ends, it gives up what waits.
struct Writer {
    behind: Arc<Behind>,
    ran: bool,
}

impl Writer {
    fn run(mut self) {
        self.ran = true;
        self.behind.write_batches();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.ran {
            let lost = std::mem::take(&mut *self.behind.state());
            // Not under the lock: whoever is told may write again.
            drop(lost);
        }
    }
}

fn lost() -> GridError {
    GridError::Task(TaskError::Cancelled { stage: StageId::of(StageKind::Mixed), task: WRITE })
}

impl Behind {
    pub(crate) fn new(
        map: &Arc<str>,
        settings: &MapStoreSettings,
        registry: &Registry,
        stages: &Stages,
        log: Option<&MapLog>,
    ) -> Self {
        Self {
            log: log.cloned(),
            map: Arc::clone(map),
            settings: settings.clone(),
            registry: registry.clone(),
            stages: stages.clone(),
            pool: stages.mixed_pool(POOL),
            clock: stages.clock(),
            made: OnceLock::new(),
            home: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// The map's entries live there.
    pub(crate) fn set_home(&self, home: &Weak<Strands<MapPartition>>) {
        let _ = self.home.set(home.clone());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The store itself; on `mixed/map-store` only.
    fn store(&self) -> GridResult<&StoreCalls> {
        let made = self.made.get_or_init(|| self.registry.map_store(&self.settings.name, &self.map));
        made.as_ref().map_err(Clone::clone)
    }

    /// Refuses another change when too many wait.
    pub(crate) fn check_room(&self) -> GridResult<()> {
        if self.state().queue.len() < self.settings.queue {
            return Ok(());
        }
        Err(GridError::TooMany { what: "changes that wait for the map's store", limit: self.settings.queue })
    }

    /// A key has another value now, or none. What the answer of whoever changed it waits for, if it waits.
    pub(crate) fn write(self: &Arc<Self>, key: &Data, value: Option<Data>) -> Option<UnderWay> {
        let through = self.settings.write_delay_ms == 0;
        let (under_way, duty) = through.then(|| UnderWay::new(lost())).unzip();
        let due = self.clock.now().saturating_add(Duration::from_millis(self.settings.write_delay_ms));
        let mut state = self.state();
        state.announced.remove(key);
        state.queue.put(key, value, due, duty);
        self.go_on(state);
        under_way
    }

    /// Notes that the next change of `key` goes to the log now, and comes to the queue then: what is written meanwhile is an older one.
    pub(crate) fn announce(&self, key: &Data) {
        if self.log.is_some() {
            self.state().announced.insert(key.clone());
        }
    }

    /// Puts changes into the queue that the store had not been told of when the member ended, to be written at once.
    pub(crate) fn take_up(self: &Arc<Self>, untold: impl IntoIterator<Item = (Data, Option<Data>)>) {
        let now = self.clock.now();
        let mut state = self.state();
        for (key, value) in untold {
            if state.queue.find(&key).is_none() && !state.announced.contains(&key) {
                state.queue.put(&key, value, now, None);
            }
        }
        self.go_on(state);
    }

    /// Notes in the log that the store need not be told of `keys` again, but of those that have changed since.
    pub(crate) fn settle<'k>(&self, keys: impl IntoIterator<Item = &'k Data>) {
        self.settle_in(&self.state(), keys);
    }

    fn settle_in<'k>(&self, state: &State, keys: impl IntoIterator<Item = &'k Data>) {
        let Some(log) = &self.log else { return };
        for key in keys {
            if state.queue.find(key).is_none() && !state.announced.contains(key) {
                let told = Change::Told { key: key.as_bytes() };
                // Nobody waits for that: without it the store is told once more.
                drop(log.append(key.partition().number() as u16, &told));
            }
        }
    }

    /// What the store will have for `key`, when that is not there yet.
    pub(crate) fn unwritten(&self, key: &Data) -> Option<Option<Data>> {
        self.state().queue.find(key).cloned()
    }

    /// Writes all that waits now.
    pub(crate) fn flush(self: &Arc<Self>) -> Invocation<()> {
        let mut state = self.state();
        let number = state.queue.hurry();
        if state.queue.is_over(number) {
            return Invocation::ready(Ok(()));
        }
        let (promise, later) = self.stages.promise(StageKind::Mixed, "map.flush");
        state.flushes.push(Flush { number, told: Ok(()), promise });
        self.go_on(state);
        Invocation::later(later)
    }

    /// Sees to it that what is due is written, and that a timer is set for what is not.
    fn go_on(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let Some(due) = state.queue.next_due().filter(|_| !state.writes) else { return };
        let now = self.clock.now();
        if due > now {
            if state.alarms.must_set(due) {
                let behind = Arc::downgrade(self);
                self.clock.after((due - now).min(FARTHEST), move || Self::came(&behind, due));
            }
            return;
        }
        state.writes = true;
        drop(state);
        let writer = Writer { behind: Arc::clone(self), ran: false };
        // Refused when the member ends: then the writer says so.
        let _ = self.pool.submit(WRITE, move || writer.run()).map(|writes| writes.detach());
    }

    fn came(behind: &Weak<Self>, due: Duration) {
        let Some(behind) = behind.upgrade() else { return };
        let mut state = behind.state();
        state.alarms.came(due);
        behind.go_on(state);
    }

    /// Writes batch after batch, until nothing is due.
    fn write_batches(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            let batch = state.queue.take(self.clock.now(), self.settings.batch);
            if batch.is_empty() {
                state.writes = false;
                self.go_on(state);
                return;
            }
            drop(state);
            let (written, failed) = self.write_batch(batch);
            self.wrote(written, failed);
        }
    }

    /// The changes that are written, and those that are not, each with what the store said.
    fn write_batch(&self, batch: Vec<Taken<Duty>>) -> (Vec<Taken<Duty>>, Vec<Refused>) {
        if batch.len() > 1 && self.write_together(&batch).is_ok() {
            return (batch, Vec::new());
        }
        // One by one, so that a change which is refused refuses no other.
        let (mut written, mut failed) = (Vec::new(), Vec::new());
        for change in batch {
            let alone = self.store().and_then(|store| match &change.value {
                Some(value) => store.call(|store| store.store(&change.key, value)),
                None => store.call(|store| store.delete(&change.key)),
            });
            match alone {
                Ok(()) => written.push(change),
                Err(error) => failed.push((change, error)),
            }
        }
        (written, failed)
    }

    fn write_together(&self, batch: &[Taken<Duty>]) -> GridResult<()> {
        let (mut values, mut gone) = (Vec::new(), Vec::new());
        for change in batch {
            match &change.value {
                Some(value) => values.push((change.key.clone(), value.clone())),
                None => gone.push(change.key.clone()),
            }
        }
        let store = self.store()?;
        if !values.is_empty() {
            store.call(|store| store.store_all(&values))?;
        }
        if !gone.is_empty() {
            store.call(|store| store.delete_all(&gone))?;
        }
        Ok(())
    }

    /// A batch is over: whoever waits for it is told.
    fn wrote(self: &Arc<Self>, written: Vec<Taken<Duty>>, failed: Vec<Refused>) {
        let through = self.settings.write_delay_ms == 0;
        let mut state = self.state();
        state.queue.wrote();
        let error = failed.first().map(|(_, error)| error.clone());
        let mut refused = Vec::new();
        for (change, error) in failed {
            for flush in state.flushes.iter_mut().filter(|flush| change.number < flush.number) {
                flush.told = std::mem::replace(&mut flush.told, Ok(())).and(Err(error.clone()));
            }
            if through {
                refused.push((change, error));
            } else {
                let pause = Duration::from_millis(self.settings.retry_ms);
                state.queue.again(change, self.clock.now().saturating_add(pause));
            }
        }
        self.settle_in(&state, written.iter().map(|change| &change.key));
        let flushes = std::mem::take(&mut state.flushes);
        let (over, wait): (Vec<_>, Vec<_>) =
            flushes.into_iter().partition(|flush| state.queue.is_over(flush.number));
        state.flushes = wait;
        drop(state);
        if let Some(error) = &error {
            tracing::warn!(map = &*self.map, %error, "a map's store refused changes");
        }
        // Evicted first: whoever is told that it was refused does not find it any more.
        refused.iter().for_each(|(change, _)| self.forget(&change.key));
        let all = written.into_iter().map(|change| (change, None));
        let all = all.chain(refused.into_iter().map(|(change, error)| (change, Some(error))));
        for (change, error) in all {
            change.told.into_iter().for_each(|duty| duty.end(error.clone()));
        }
        for Flush { told, promise, .. } in over {
            promise.keep(told);
        }
    }

    fn forget(&self, key: &Data) {
        if let Some(home) = self.home.get() {
            let forget = ForgetRefused { key: key.clone() };
            mail_until_taken(home, key.partition(), &self.clock, forget, MAIL_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_store::{PersistenceSettings, Store};

    /// The store has taken an older change of the key by then: a start would not tell it of the newer one.
    #[test]
    fn a_change_on_its_way_to_the_queue_stays_untold() {
        let (folder, stages) = (tempfile::tempdir().unwrap(), Stages::simulated(1));
        let settings = PersistenceSettings::default();
        let untold = |store: &Store| {
            let mut untold = Vec::new();
            for shelf in store.recover("m", &settings).unwrap().unwrap().into_shelves() {
                let damage = shelf.read(|entry| untold.extend(entry.into_untold().ok())).unwrap();
                assert_eq!(damage, []);
            }
            untold.len()
        };
        let key = Data::new(-7, &1_u32.to_be_bytes());
        for is_written in [false, true] {
            let store = Store::open(&stages, folder.path()).unwrap();
            let log = store.log("m", &settings);
            let delayed = MapStoreSettings { write_delay_ms: 60_000, ..Default::default() };
            let behind = Arc::new(Behind::new(&"m".into(), &delayed, &Registry::new(), &stages, Some(&log)));
            behind.announce(&key);
            let change = Change::PutUntold { key: key.as_bytes(), value: b"12345678", life: None };
            drop(log.append(key.partition().number() as u16, &change));
            if is_written {
                assert!(behind.write(&key, None).is_none());
            }
            behind.settle([&key]);
            store.close().unwrap();
            drop((behind, log, store));
            assert_eq!(untold(&Store::open(&stages, folder.path()).unwrap()), 1, "{is_written}");
        }
    }
}
