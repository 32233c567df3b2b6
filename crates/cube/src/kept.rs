//! What a cube keeps from query to query, and who may use it.
//!
//! | The table | A leaf may be used | The leaves of a query are |
//! |---|---|---|
//! | tells a version | while the version is the same | from the cache or from the table, each for itself |
//! | tells none | for [`Ages::expire_after`], without it never | all from the cache and of one reading, or all from the table |
//!
//! *One answer, one reading.* Without a version nobody knows whether rows changed between two passes, and a sum over rows of two times was never
//! true. So every pass has a [`Reading`], leaves carry it, and one lock lets the leaves of a pass come, and be looked for, all together. A
//! leaf gives way to one of a later reading only: a query that began before a refresh and ends after it changes nothing.
//!
//! The query that finds leaves old gets a [`Renewal`] of them, under the same lock, unless there is one: so one [refresh](crate::refresh)
//! reads them anew however many queries see them. It ends after the new ones are there: who looks sees the old leaves and the renewal, or the
//! new leaves. One that failed is followed by a [rest](crate::renewals). Threads: any; the lock is held for a few look-ups.

use crate::cache::{KeptLeaf, LeafCache, LeafKey, Reading};
use crate::cube::CubeSettings;
use crate::cuboid::{Cuboid, Dictionaries};
use crate::error::CubeError;
use crate::execute::{Results, Run};
use crate::memory::{MemoryAccount, Reservation};
use crate::plan::StepId;
use crate::renewals::Renewals;
use crate::turns::Turns;
use filbert_pool::Clock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What a cube keeps from query to query.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) cache: LeafCache,
    /// Those of the version of the table that was seen last. A table without one keeps them: they only grow.
    dictionaries: Mutex<Known>,
    /// What they may hold before new ones are begun, in bytes.
    dictionary_limit: usize,
    /// What all cubes keep.
    memory: MemoryAccount,
    ages: Option<Ages>,
    readings: Mutex<Readings>,
    /// Refreshes at a time: each has a pass over the table, and none is waited for.
    pub(crate) refreshes: Arc<Turns>,
}

/// The dictionaries of a version of the table.
#[derive(Debug, Default)]
struct Known {
    version: Option<u64>,
    dictionaries: Arc<Dictionaries>,
    /// What they held when they were last counted.
    held: Option<Reservation>,
}

/// So many refreshes read the table at a time.
const REFRESHES: usize = 2;

/// How old leaves of a table without a version may become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ages {
    /// No query uses them from this age on.
    pub(crate) expire_after: Duration,
    /// A query that uses them from this age on has them read anew.
    pub(crate) refresh_after: Option<Duration>,
}

#[derive(Debug, Default)]
struct Readings {
    /// How many there were.
    begun: u64,
    /// The leaves that are read anew, or rest because that failed; however they are spread.
    renewals: Renewals<LeafKey>,
}

/// By what leaves that are read now are found again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stamp {
    Version(u64),
    Reading(Reading),
}

/// What there is already for a query.
#[derive(Default)]
pub(crate) struct Recalled {
    pub(crate) leaves: Vec<(StepId, Cuboid)>,
    /// How old they are; none when the table would tell if they were.
    pub(crate) age: Option<Duration>,
    /// How those that are missing are kept; none when they are not.
    pub(crate) stamp: Option<Stamp>,
    /// They are to be read anew, and nobody does it yet.
    pub(crate) renewal: Option<Renewal>,
}

/// The right to read leaves anew, of which there is one for each. Dropped, another query may have it: at once if nobody tried or it was
/// done, else after a rest.
#[derive(Debug)]
pub(crate) struct Renewal {
    kept: Arc<Kept>,
    leaves: Vec<LeafKey>,
    clock: Clock,
    /// How long they rest if it fails.
    rest: Duration,
    /// When the old ones are of no use any more.
    expires: Duration,
    state: Attempt,
}

/// How far a refresh has come.
#[derive(Debug, Clone, Copy)]
enum Attempt {
    NotBegun,
    /// It has failed unless it is done.
    Begun,
    Done,
}

impl Ages {
    /// Of the settings of a cube; nothing when nothing is to be kept.
    pub(crate) fn new(
        expire_after: Option<Duration>,
        refresh_after: Option<Duration>,
    ) -> Result<Option<Self>, CubeError> {
        let problem = match (expire_after, refresh_after) {
            (None, None) => return Ok(None),
            (None, Some(refresh)) => format!(
                "refresh_after is {refresh:?}, but without expire_after there is nothing to refresh; set expire_after to more than that"
            ),
            (Some(expire), Some(refresh)) if refresh >= expire => format!(
                "refresh_after is {refresh:?}, which must be less than expire_after, {expire:?}: what has expired is not refreshed"
            ),
            (Some(expire_after), refresh_after) => return Ok(Some(Self { expire_after, refresh_after })),
        };
        Err(CubeError::InvalidSettings { problem })
    }
}

impl Kept {
    /// Nothing yet.
    pub(crate) fn new(settings: &CubeSettings) -> Self {
        Self {
            cache: LeafCache::new(settings.cache_bytes, settings.memory.kept()),
            dictionaries: Mutex::default(),
            dictionary_limit: settings.dictionary_limit,
            memory: settings.memory.kept().clone(),
            ages: settings.ages,
            readings: Mutex::default(),
            refreshes: Turns::new(REFRESHES),
        }
    }

    /// The dictionaries of this version of the table; new ones when it changed or they became too large.
    pub(crate) fn dictionaries(&self, version: Option<u64>) -> Arc<Dictionaries> {
        let mut known = self.dictionaries.lock().unwrap_or_else(|broken| broken.into_inner());
        let is_other = known.version != version || known.dictionaries.bytes() > self.dictionary_limit;
        if is_other || !known.is_counted(&self.memory) {
            *known = Known { version, ..Known::default() };
            self.cache.clear();
        }
        Arc::clone(&known.dictionaries)
    }

    /// Counts what a query that is over has left in the dictionaries, or forgets them when there is no room for that.
    fn count_dictionaries(&self) {
        let mut known = self.dictionaries.lock().unwrap_or_else(|broken| broken.into_inner());
        if known.dictionaries.bytes() > self.dictionary_limit || !known.is_counted(&self.memory) {
            *known = Known { version: known.version, ..Known::default() };
            self.cache.clear();
        }
    }

    /// What there is for a plan over this version of the table.
    pub(crate) fn recall(self: &Arc<Self>, run: &mut Run, version: Option<u64>) -> Recalled {
        if let Some(version) = version {
            let leaves = spread_as_found(
                run,
                |run| self.of_version(run, version),
                |leaves| u64::from(!leaves.is_empty()),
            );
            return Recalled { leaves, stamp: Some(Stamp::Version(version)), ..Recalled::default() };
        }
        let Some(ages) = self.ages else { return Recalled::default() };
        let now = run.clock.now();
        let mut readings = self.lock();
        let found = spread_as_found(
            run,
            |run| self.of_one_reading(run).filter(|(reading, _)| reading.age(now) < ages.expire_after),
            |found| found.as_ref().map_or(0, |(reading, _)| reading.number),
        );
        let Some((reading, leaves)) = found else {
            return Recalled { stamp: Some(readings.begin(now)), ..Recalled::default() };
        };
        let is_old = ages.refresh_after.is_some_and(|after| reading.age(now) >= after);
        let expires = reading.began.saturating_add(ages.expire_after);
        let renewal = is_old.then(|| self.renew(&mut readings, run, now, expires)).flatten();
        Recalled { leaves, age: Some(reading.age(now)), stamp: None, renewal }
    }

    /// The same for a plan that only reads anew: nothing that could be old.
    pub(crate) fn recall_nothing(&self, run: &Run, version: Option<u64>) -> Recalled {
        let stamp = match version {
            Some(version) => Some(Stamp::Version(version)),
            None => self.ages.map(|_| self.lock().begin(run.clock.now())),
        };
        Recalled { stamp, ..Recalled::default() }
    }

    /// Keeps leaves for other queries.
    pub(crate) fn keep(&self, run: &Run, results: &Results, stamp: Stamp, made: &[StepId]) {
        let (version, reading) = match stamp {
            Stamp::Version(version) => (Some(version), None),
            Stamp::Reading(reading) => (None, Some(reading)),
        };
        let mut known = HashMap::new();
        let leaves: Vec<(LeafKey, KeptLeaf)> = made
            .iter()
            .filter_map(|leaf| {
                let cuboid = results.get(*leaf).ok()?.ok()?.uncounted(&mut known);
                Some((LeafKey::of(run, version, *leaf)?, KeptLeaf { cuboid, reading }))
            })
            .collect();
        let mut together = reading.map(|_| self.lock());
        for (key, leaf) in leaves {
            if !self.has_later(&key, reading) {
                self.cache.put(key.clone(), leaf);
                if let Some(readings) = &mut together {
                    readings.renewals.is_new(&key.however_spread());
                }
            }
        }
        drop(together);
        self.count_dictionaries();
    }

    fn has_later(&self, key: &LeafKey, reading: Option<Reading>) -> bool {
        let Some(reading) = reading else { return false };
        let of = self.cache.get(key).and_then(|leaf| leaf.reading);
        of.is_some_and(|of| of.number > reading.number)
    }

    /// Those leaves of a plan that are there.
    fn of_version(&self, run: &Run, version: u64) -> Vec<(StepId, Cuboid)> {
        let cached = |leaf: &StepId| {
            let key = LeafKey::of(run, Some(version), *leaf)?;
            Some((*leaf, self.cache.get(&key)?.cuboid))
        };
        run.plan.leaves.iter().filter_map(cached).collect()
    }

    /// All leaves of a plan, if they are there and of one reading.
    fn of_one_reading(&self, run: &Run) -> Option<(Reading, Vec<(StepId, Cuboid)>)> {
        let mut leaves = Vec::with_capacity(run.plan.leaves.len());
        let mut first: Option<Reading> = None;
        for leaf in &run.plan.leaves {
            let KeptLeaf { cuboid, reading } = self.cache.get(&LeafKey::of(run, None, *leaf)?)?;
            if reading?.number != first.get_or_insert(reading?).number {
                return None;
            }
            leaves.push((*leaf, cuboid));
        }
        Some((first?, leaves))
    }

    /// The right to read the leaves of a plan anew; nothing when another does that with one of them, or did so in vain a short time ago.
    fn renew(
        self: &Arc<Self>,
        readings: &mut Readings,
        run: &Run,
        now: Duration,
        expires: Duration,
    ) -> Option<Renewal> {
        let keys = run.plan.leaves.iter().filter_map(|leaf| LeafKey::of(run, None, *leaf));
        let leaves: Vec<LeafKey> = keys.map(LeafKey::however_spread).collect();
        let rest = readings.renewals.begin(&leaves, now)?;
        let (kept, clock) = (Arc::clone(self), run.clock.clone());
        Some(Renewal { kept, leaves, clock, rest, expires, state: Attempt::NotBegun })
    }

    fn lock(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Known {
    /// Counts what they hold now; false when there is no room for it.
    fn is_counted(&mut self, memory: &MemoryAccount) -> bool {
        let bytes = self.dictionaries.bytes();
        match &mut self.held {
            Some(held) => held.try_resize(bytes).is_ok(),
            None if bytes == 0 => true,
            held => memory.try_reserve(bytes).map(|reserved| *held = Some(reserved)).is_ok(),
        }
    }
}

impl Readings {
    /// The next one; the first has the number 1.
    fn begin(&mut self, now: Duration) -> Stamp {
        self.begun += 1;
        Stamp::Reading(Reading { number: self.begun, began: now })
    }
}

impl Reading {
    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.began)
    }
}

impl Renewal {
    /// From now on it has failed unless it is done: an error, a panic, or a stage that takes no more.
    pub(crate) fn begin(&mut self) {
        self.state = Attempt::Begun;
    }

    /// The new leaves are there.
    pub(crate) fn done(mut self) {
        self.state = Attempt::Done;
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        let mut readings = self.kept.lock();
        let (leaves, renewals) = (&self.leaves, &mut readings.renewals);
        match self.state {
            Attempt::NotBegun => renewals.give_back(leaves),
            Attempt::Begun => renewals.fail(leaves, self.clock.now(), self.rest, self.expires),
            Attempt::Done => renewals.end(leaves),
        }
    }
}

/// What is found for a plan as it stands; or with slices spread by all of their columns, where that ranks higher. An earlier query may have
/// found the shard key skewed: then this one spreads its slices as those that are there.
fn spread_as_found<T>(run: &mut Run, find: impl Fn(&Run) -> T, rank: impl Fn(&T) -> u64) -> T {
    let planned = find(run);
    if run.shard.is_empty() {
        return planned;
    }
    let shard = std::mem::take(&mut run.shard);
    let split = find(run);
    if rank(&split) > rank(&planned) {
        return split;
    }
    run.shard = shard;
    planned
}
