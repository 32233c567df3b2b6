//! The log of one map: changes are appended in memory, in the order of their strands, and committed in groups.
//!
//! An append takes a lock for as long as it takes to copy the change, and never waits for the disk. The first one that finds nobody
//! committing starts a commit on stage `mixed/store`, which takes all that is there, writes it, flushes it, and tells those who wait; then it
//! looks again. So whoever comes during a flush shares the next one, and an idle log has no thread. The stage is one that nobody else uses:
//! tasks that wait for their puts may hold all threads of `mixed`.
//!
//! When the disk does not take a group, those who wait are told that their change is made and not stored; the group is kept and tried
//! again until it is taken. Meanwhile [`MapLog::refuses`] refuses further changes before they are made, so what is kept stays small:
//! only what the member itself does (expiry) is added to it. Reads go on.
//!
//! Rejected: a write per change on a thread of its own (a flush each), and a lock-free queue (a commit takes 100 microseconds at best,
//! the lock 50 nanoseconds).

mod files;
mod folding;

pub(crate) use folding::fold_lock;

use crate::change::Change;
use crate::error::StoreError;
use crate::folder;
use crate::folder_list::FolderList;
use crate::frame::{self, Kind, NO_PARTITION};
use crate::manifest::Manifest;
use crate::room::Room;
use crate::settings::{Fsync, PersistenceSettings};
use filbert_pool::{MixedPool, Stages};
use files::Files;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The stage of commits is `mixed/store`.
const POOL: &str = "store";

/// How long a disk that takes nothing is left alone.
const TRY_AGAIN: Duration = Duration::from_millis(250);

/// Bytes that may wait for a commit before answers wait for it too, whatever is set.
const MOST_PENDING: usize = 8 << 20;

/// The log of a map: a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct MapLog {
    log: Arc<Log>,
    /// Changes of a map that was destroyed do not count.
    incarnation: u64,
}

/// A change that is not on disk yet, as far as its answer has to wait for that.
#[derive(Debug)]
#[must_use = "whoever made the change is to be answered when it is stored"]
pub struct Pending {
    log: Arc<Log>,
    ticket: u64,
}

type Told = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

#[derive(Debug)]
pub(crate) struct Log {
    name: String,
    folder: PathBuf,
    settings: PersistenceSettings,
    stages: Stages,
    /// Commits and flushes run there.
    pool: MixedPool,
    room: Room,
    /// Names the folder, before anything in it counts.
    folders: Arc<FolderList>,
    /// Of all segments that this process writes.
    salt: u64,
    state: Mutex<State>,
    files: Mutex<Files>,
    /// Which files there have to be; read or made when it is first needed. Taken after the files, by those who take both.
    manifest: Mutex<Option<Manifest>>,
    /// Why there can be no change at all.
    unusable: Option<StoreError>,
    /// Says without the lock that the last commit failed, or that there can be no change.
    fails: AtomicBool,
    folds: AtomicBool,
    /// No fold changes the snapshot any more.
    folded: Condvar,
    /// False when there is damage that a fold would hide.
    may_fold: AtomicBool,
}

#[derive(Default)]
struct State {
    pending: Vec<u8>,
    /// Changes so far; the number of one is its ticket.
    appended: u64,
    stored: u64,
    waiting: Vec<(u64, Told)>,
    /// A commit is under way, or will be tried again.
    commits: bool,
    failure: Option<StoreError>,
    incarnation: u64,
    /// The last commit has begun: what comes now is not stored.
    closing: bool,
    closed: bool,
    /// A fold changes the snapshot.
    folding: bool,
}

impl State {
    /// Gives what is to be written to the files, and says up to which ticket; nothing when there is none.
    fn give(&mut self, files: &mut Files) -> Option<u64> {
        if files.unwritten.is_empty() {
            std::mem::swap(&mut files.unwritten, &mut self.pending);
        } else {
            files.unwritten.append(&mut self.pending);
        }
        if files.unwritten.is_empty() && !files.must_repeat() {
            self.commits = false;
            return None;
        }
        Some(self.appended)
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("appended", &self.appended)
            .field("stored", &self.stored)
            .finish_non_exhaustive()
    }
}

impl MapLog {
    pub(crate) fn new(
        name: &str,
        folder: PathBuf,
        settings: PersistenceSettings,
        stages: &Stages,
        room: Room,
        folders: Arc<FolderList>,
    ) -> Self {
        let unusable = folder::check_name(name, &folder).err();
        let log = Log {
            fails: AtomicBool::new(unusable.is_some()),
            unusable,
            name: name.to_owned(),
            folder,
            settings,
            stages: stages.clone(),
            pool: stages.mixed_pool(POOL),
            room,
            folders,
            salt: stages.clock().random(),
            state: Mutex::default(),
            files: Mutex::default(),
            manifest: Mutex::default(),
            folds: AtomicBool::new(false),
            folded: Condvar::new(),
            may_fold: AtomicBool::new(true),
        };
        Self { log: Arc::new(log), incarnation: 0 }
    }

    /// The same log for the map of that name as it is now.
    pub(crate) fn renewed(&self) -> Self {
        Self { log: Arc::clone(&self.log), incarnation: self.log.lock().incarnation }
    }

    /// A start could not seal a segment: the next one says that so many bytes of it count.
    pub(crate) fn leave_behind(&self, number: u64, end: u64) {
        self.log.lock_files().leave_behind(number, end);
    }

    pub(crate) fn never_fold(&self) {
        self.log.may_fold.store(false, Ordering::Release);
    }

    /// Why no change can be made now; nothing when it can.
    #[inline]
    pub fn refuses(&self) -> Option<StoreError> {
        if !self.log.fails.load(Ordering::Acquire) {
            return None;
        }
        if let Some(unusable) = &self.log.unusable {
            return Some(unusable.clone());
        }
        let problem = self.log.lock().failure.as_ref()?.to_string();
        Some(StoreError::TakesNoChanges { map: self.log.name.clone(), problem })
    }

    /// Appends a change that was made. What comes back is what its answer has to wait for, if anything.
    pub fn append(&self, partition: u16, change: &Change<'_>) -> Option<Pending> {
        self.add(|state, salt| change.write(&mut state.pending, salt, partition))
    }

    /// The map is destroyed: nothing of it counts any more, and whoever still holds it changes nothing.
    pub fn reset(&self) {
        let reset = |state: &mut State, salt| {
            frame::write(&mut state.pending, salt, Kind::Reset, NO_PARTITION, &[]);
            state.incarnation += 1;
        };
        drop(self.add(reset));
        self.log.folders.forgive(&self.log.folder);
    }

    fn add(&self, write: impl FnOnce(&mut State, u64)) -> Option<Pending> {
        let log = &self.log;
        let mut state = log.lock();
        if state.incarnation != self.incarnation {
            return None;
        }
        write(&mut state, log.salt);
        state.appended += 1;
        let ticket = state.appended;
        // Until the first group is written the map has no file, and the system may be slow to make one: a kill would lose all until then.
        let is_first = state.stored == 0;
        let is_full = state.pending.len() > MOST_PENDING;
        let waits = is_first || log.settings.fsync == Fsync::Always || is_full || state.closing;
        let begins = !state.closing && !std::mem::replace(&mut state.commits, true);
        drop(state);
        if begins {
            log.start_commit();
        }
        waits.then(|| Pending { log: Arc::clone(log), ticket })
    }

    /// Writes and flushes what is left, and seals the log. Whoever makes a change from now on is told that it is not stored. Blocks.
    pub fn close(&self) -> Result<(), StoreError> {
        self.log.close()
    }
}

impl Pending {
    /// Calls `told` when the change is on disk, or could not be written: at once, or on the thread that commits. It must be short.
    pub fn then(self, told: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        let mut state = self.log.lock();
        let result = if state.stored >= self.ticket {
            Ok(())
        } else if state.closed {
            Err(StoreError::Closed { map: self.log.name.clone() })
        } else if let Some(failure) = &state.failure {
            Err(self.log.not_stored(failure))
        } else {
            state.waiting.push((self.ticket, Box::new(told)));
            return;
        };
        drop(state);
        told(result);
    }

    /// Of two, the one that is on disk later.
    pub fn or_later(self, other: Self) -> Self {
        if other.ticket > self.ticket { other } else { self }
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn not_stored(&self, failure: &StoreError) -> StoreError {
        StoreError::NotStored { map: self.name.clone(), problem: failure.to_string() }
    }

    fn start_commit(self: &Arc<Self>) {
        let log = Arc::clone(self);
        // Refused when the member ends: whoever closes the log writes what is left.
        match self.pool.submit("store.commit", move || log.commit()) {
            Ok(running) => running.detach(),
            Err(_) => self.lock().commits = false,
        }
    }

    /// Commits group after group, until nothing is left or the disk takes no more.
    fn commit(self: &Arc<Self>) {
        loop {
            let mut files = self.lock_files();
            let Some(last) = self.take(&mut files) else { return };
            let written = self.write(&mut files);
            let folds = written.is_ok() && self.rotate(&mut files);
            drop(files);
            if folds {
                self.start_fold();
            }
            if !self.settle(last, written) {
                return self.commit_after(TRY_AGAIN);
            }
        }
    }

    fn commit_after(self: &Arc<Self>, pause: Duration) {
        let log = Arc::downgrade(self);
        let again = move || {
            if let Some(log) = log.upgrade() {
                log.start_commit();
            }
        };
        self.stages.clock().after(pause, again);
    }

    /// Takes what is to be written, up to which ticket; nothing when there is none, and then the commit is over.
    fn take(&self, files: &mut Files) -> Option<u64> {
        let mut state = self.lock();
        if state.closing { None } else { state.give(files) }
    }

    /// Tells those who wait; true when all went well.
    fn settle(&self, last: u64, written: Result<(), StoreError>) -> bool {
        let mut state = self.lock();
        let (told, result) = match &written {
            Ok(()) => {
                state.stored = last;
                let all = std::mem::take(&mut state.waiting);
                let (told, wait): (Vec<_>, Vec<_>) = all.into_iter().partition(|(ticket, _)| *ticket <= last);
                state.waiting = wait;
                (told, Ok(()))
            }
            Err(failure) => (std::mem::take(&mut state.waiting), Err(self.not_stored(failure))),
        };
        drop(state);
        let is_well = written.is_ok();
        self.fails_with(written.err());
        told.into_iter().for_each(|(_, told)| told(result.clone()));
        is_well
    }

    /// From now on changes are refused because of `failure`, or none is any more.
    fn fails_with(&self, failure: Option<StoreError>) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.failure, failure.clone());
        self.fails.store(failure.is_some(), Ordering::Release);
        drop(state);
        match failure {
            Some(failure) if before.is_none() => {
                tracing::error!(map = self.name, %failure, "changes are not stored, and refused")
            }
            None if before.is_some() => tracing::warn!(map = self.name, "changes are stored again"),
            _ => {}
        }
    }

    /// Writes and flushes what is left, and seals. What comes back is the first that failed.
    fn close(self: &Arc<Self>) -> Result<(), StoreError> {
        // Waits for a commit that is under way, and is the last one.
        let mut files = self.lock_files();
        let mut state = self.lock();
        let is_first = !std::mem::replace(&mut state.closing, true);
        let last = if is_first { state.give(&mut files) } else { None };
        drop(state);
        let written = match last {
            Some(last) => {
                let written = self.write(&mut files);
                self.settle(last, written.clone());
                written.map_err(|failure| self.not_stored(&failure))
            }
            None => Ok(()),
        };
        let result = written.and_then(|()| self.seal(&mut files));
        let mut state = self.lock();
        state.closed = true;
        drop(files);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let closed = Err(StoreError::Closed { map: self.name.clone() });
        waiting.into_iter().for_each(|(_, told)| told(closed.clone()));
        self.wait_for_fold();
        result
    }
}
