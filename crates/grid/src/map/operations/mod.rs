//! What can be done with a partition of a map: one small value each.
//!
//! Those that change a key wait while someone else has locked it; reads do not. Those that look at many entries do so in slices, and let
//! others have their turn between them.

mod journal;
mod journal_items;
mod load;
mod lock;
mod many;
mod process;
mod read;
mod remove;
mod restore;
mod scan;
mod upkeep;
mod write;

pub use journal::{ReadJournal, SpanOfJournal};
pub use journal_items::{JournalItems, ReadJournalItems};
pub use load::LoadKeys;
pub(crate) use load::{Asked, BringLoaded, ForgetRefused};
pub(crate) use lock::EndLeases;
pub use lock::{ForceUnlock, IsLocked, Lock, ReleaseLocksOf, TryLock, Unlock};
pub use many::{GetAll, PutAll, PutEntry};
pub use process::{ExecuteOnEntries, ExecuteOnKey, ExecuteOnKeys};
pub use read::{ContainsKey, Get, GetEntryView, Size, Stats};
pub(crate) use remove::TellCleared;
pub use remove::{Clear, Delete, Evict, Remove, RemoveAll, RemoveIfSame, TryRemove};
pub(crate) use restore::{Restore, Restored};
pub(crate) use scan::copied_together;
pub use scan::{
    ContainsValue, Entries, EntryFilter, EntryRef, Everything, FetchEntries, Keys, Page, Pick, Scan, Values,
};
pub(crate) use upkeep::{Destroy, Sweep};
pub use write::{Put, PutIfAbsent, PutTransient, Replace, ReplaceIfSame, Set, SetTtl, TryPut};

use crate::error::GridError;
use crate::map::locks::Owner;
use crate::map::partition::{Blocked, MapPartition, MapSignal};
use crate::operation::{Operation, Step, Turn};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::time::Duration;

type MapTurn<'a> = Turn<'a, MapPartition>;

/// How long an operation waits for a lock.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// `None`: as long as the settings say; the largest number: for ever.
    timeout_ms: Option<u64>,
    /// Set with the first wait, by the clock of the member where it waits.
    #[serde(skip)]
    deadline: Option<Duration>,
    #[serde(skip)]
    has_waited: bool,
}

impl Patience {
    fn of(timeout_ms: u64) -> Self {
        Self { timeout_ms: Some(timeout_ms), ..Self::default() }
    }

    fn is_none(&self) -> bool {
        self.timeout_ms == Some(0)
    }

    fn wait<O>(&mut self, map: &MapPartition, turn: &MapTurn<'_>, event: MapSignal) -> Step<O>
    where
        O: Operation<Target = MapPartition>,
    {
        if !std::mem::replace(&mut self.has_waited, true) {
            let timeout = match self.timeout_ms {
                None => Some(map.context().lock_wait),
                Some(u64::MAX) => None,
                Some(ms) => Some(Duration::from_millis(ms)),
            };
            self.deadline = timeout.and_then(|timeout| turn.now().checked_add(timeout));
        }
        Step::Wait { event, deadline: self.deadline }
    }
}

/// The key that an operation changes, and for whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    /// The key.
    pub key: Data,
    /// Who changes it: a lock of the same owner does not hold it up.
    pub owner: Owner,
    patience: Patience,
    #[serde(skip)]
    asked: Asked,
}

impl Place {
    /// `key`, changed by `owner`, who waits for a lock as long as the settings say.
    pub fn new(key: Data, owner: Owner) -> Self {
        Self { key, owner, patience: Patience::default(), asked: Asked::default() }
    }

    /// The same, with a time of its own; 0 does not wait, `u64::MAX` waits for ever.
    #[must_use]
    pub fn within_ms(mut self, timeout_ms: u64) -> Self {
        self.patience = Patience::of(timeout_ms);
        self
    }

    /// `Some` when the operation cannot go on now: someone else has locked the key, or the map is gone.
    #[inline]
    fn blocked<O>(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        self.blocked_with(map, turn, [])
    }

    /// The same for an operation that brings values along. They and the key are copied when it begins to wait: cut out of a received
    /// message, they would keep the whole receive buffer alive for as long.
    #[inline]
    fn blocked_with<O, const VALUES: usize>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        values: [&mut Data; VALUES],
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        if let Some(refused) = map.refuses_changes() {
            return Some(Step::failed(refused));
        }
        match map.check_lock(turn, &self.key, self.owner) {
            Ok(()) => {
                turn.acts_for(self.owner.id);
                None
            }
            Err(Blocked) if self.patience.is_none() => {
                Some(Step::failed(GridError::TimedOut { operation: O::NAME }))
            }
            Err(Blocked) => {
                if !self.patience.has_waited {
                    for data in values.into_iter().chain([&mut self.key]) {
                        *data = data.detached();
                    }
                }
                Some(self.patience.wait(map, turn, MapSignal::Free(self.key.clone())))
            }
        }
    }
}

impl Place {
    /// `Some` while the key has no entry and the store behind the map is asked for it.
    #[inline]
    fn missing<O>(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        self.asked.wait(map, turn, [&self.key])
    }

    /// As [`Place::missing`], for a removal: what there is no room for can be removed all the same.
    #[inline]
    fn missing_to_remove<O>(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        self.asked.wait_to_remove(map, turn, &self.key)
    }
}

fn destroyed(map: &MapPartition) -> GridError {
    GridError::Destroyed { structure: format!("map {}", map.context().name) }
}

/// How much of a long operation is done in one go: so many entries, or 200 microseconds.
pub(crate) struct Slice {
    left: u32,
    seen: u32,
    ends: Duration,
    /// Interceptors run with each entry: any one may take long.
    user_code: bool,
}

/// The time is looked at every so many entries.
const LOOK_EVERY: u32 = 32;

impl Slice {
    pub(crate) fn begin(map: &MapPartition, turn: &MapTurn<'_>) -> Self {
        let (context, ends) = (map.context(), turn.now() + Duration::from_micros(200));
        Self { left: context.slice_entries, seen: 0, ends, user_code: context.interceptors.any() }
    }

    /// One more entry was looked at; true when it is the turn of others.
    pub(crate) fn is_over(&mut self, turn: &MapTurn<'_>) -> bool {
        self.seen += 1;
        self.left = self.left.saturating_sub(1);
        let look = self.user_code || self.seen.is_multiple_of(LOOK_EVERY);
        self.left == 0 || (look && turn.now() >= self.ends)
    }

    /// The same for entries that run user code: any one may have taken long.
    pub(crate) fn is_over_now(&mut self, turn: &MapTurn<'_>) -> bool {
        self.is_over(turn) || turn.now() >= self.ends
    }
}
