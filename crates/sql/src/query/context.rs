//! What the parts of one running query share.

use super::lent::{LentCharge, LentCharges};
use super::planning_time::PlanningTime;
use super::turnstile::Turnstile;
use crate::error::SqlError;
use crate::exchange::Credits;
use crate::files::FileProgress;
use crate::fragment::Fragment;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use filbert_pool::{Reactor, TaskWaker, WorkStealing, process_memory};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A query's number, never used twice by a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId(pub u64);

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query-{}", self.0)
    }
}

/// Where a query's fragments run, and as whose. Travels through a plan as an extension of its session's configuration.
pub(crate) struct QueryContext {
    fragment: WorkStealing,
    /// Its group has all tasks of the query: it shares turns fairly with other queries, and one call cancels it.
    turnstile: Arc<Turnstile>,
    reactor: Reactor,
    credits: Credits,
    memory: Arc<dyn MemoryPool>,
    /// Asks at each turn whether the query may go on.
    turns: MemoryReservation,
    /// How long its planning may work, and has worked.
    planning: PlanningTime,
    /// Of what its plan holds.
    held: Mutex<Vec<MemoryReservation>>,
    /// Of what its functions made.
    lent: LentCharges,
    /// The progress with its files.
    files: FileProgress,
}

impl QueryContext {
    pub(crate) fn new(
        fragment: WorkStealing,
        turnstile: &Arc<Turnstile>,
        reactor: Reactor,
        credits: Credits,
        memory: Arc<dyn MemoryPool>,
        planning: PlanningTime,
    ) -> Self {
        let (turnstile, turns) = (Arc::clone(turnstile), MemoryConsumer::new("a turn").register(&memory));
        Self {
            fragment,
            turnstile,
            reactor,
            credits,
            memory,
            turns,
            planning,
            held: Mutex::default(),
            lent: LentCharges::default(),
            files: FileProgress::default(),
        }
    }

    /// How long its planning has worked.
    pub(crate) fn planning(&self) -> &PlanningTime {
        &self.planning
    }

    /// Returns the progress with its files.
    pub(crate) fn files(&self) -> &FileProgress {
        &self.files
    }

    /// An error when planning is in vain, or takes too long.
    pub(crate) fn check_planning(&self) -> Result<(), SqlError> {
        if self.is_cancelled() {
            return Err(SqlError::Cancelled);
        }
        self.check_memory()?;
        self.planning.check()
    }

    /// An error when the process has too much memory and this query is one of those that end for it.
    #[inline]
    pub(crate) fn check_memory(&self) -> Result<(), SqlError> {
        if process_memory::is_over() { Ok(self.turns.try_grow(0)?) } else { Ok(()) }
    }

    pub(crate) fn spawn(&self, fragment: Fragment) -> Result<(), SqlError> {
        self.fragment.spawn_tasklet_in(self.turnstile.group(), "fragment", fragment)?.detach();
        Ok(())
    }

    /// True when somebody has ended it.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.turnstile.group().is_cancelled()
    }

    /// True when that fragment may have its turn now; otherwise it is woken when it may.
    #[inline]
    pub(crate) fn may_run(&self, fragment: &TaskWaker) -> bool {
        self.turnstile.pass(fragment)
    }

    /// Notes that from now on it may change something.
    pub(crate) fn begins_to_change(&self) {
        self.turnstile.begins_to_change();
    }

    /// A fragment of it has worked for so long.
    pub(crate) fn worked(&self, time: Duration) {
        self.turnstile.worked(time);
    }

    /// What the thread starts of tokio meanwhile is driven elsewhere, see [`Reactor`].
    pub(crate) fn enter_reactor(&self) -> impl Sized + '_ {
        self.reactor.enter()
    }

    pub(crate) fn credits(&self) -> Credits {
        self.credits
    }

    /// Keeps a charge until nothing of the query is left.
    pub(crate) fn hold(&self, held: MemoryReservation) {
        self.held.lock().unwrap_or_else(|broken| broken.into_inner()).push(held);
    }

    /// Makes a charge one that a buffer can hold, and that ends with the query at the latest.
    pub(crate) fn lend(&self, held: MemoryReservation) -> Arc<LentCharge> {
        self.lent.lend(held)
    }

    /// The account of what the query holds.
    pub(crate) fn memory(&self) -> &Arc<dyn MemoryPool> {
        &self.memory
    }
}

impl fmt::Debug for QueryContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryContext").field("group", self.turnstile.group()).finish_non_exhaustive()
    }
}
