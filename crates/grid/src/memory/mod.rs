//! One account for the memory that the data of a grid takes: every structure counts what it holds, and a write beyond the limit is refused.
//!
//! ```text
//! strand's share (held) -- told in steps --> account (used) <-- asked by every write: is there room?
//! ```
//!
//! A strand knows what its target holds and tells the account of a difference only when it is worth it: a kilobyte, or a 64th of what the
//! strand holds. So a small write costs no shared atomic change, and the account is right to about two percent. The first that a strand holds is told
//! at once, and so is what it gives up altogether.
//!
//! Counted are the bytes of keys, values and items with what the structures need for each, locks with their keys, and each strand itself.
//! Not counted: the allocator's own losses, and a structure that nobody has used. Writes are judged before they run and may run side by side,
//! so each thread of stage `partition` can exceed the limit by one write. A lock of a key that nobody has locked is judged like a write.
//! Reads, removals, the unlocking of keys and atomic numbers are never refused; what comes back from disk at a start is not either.
//!
//! Events that wait for listeners count too. They never wait for room: when those that wait take a part of the limit, further ones are
//! dropped, as without places on the stage, so that a member full of data still tells what happens.
//!
//! Below all accounts there may be an allocator that counts ([`process_memory`]): where the process as a whole has too much, writes are
//! refused as well. Rejected: that alone. It says nothing of whose memory it is.

mod measured;

pub use measured::{MachineMemory, default_grid_bytes};

use crate::error::{GridError, GridResult};
use filbert_pool::process_memory;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A difference that a strand keeps to itself in any case.
const STEP: usize = 1 << 10;

/// What a strand takes that holds nothing: its mailbox, its target and its waiting room, roughly. A map has one for each partition that
/// is used, so that thousands of maps with few entries are not for nothing.
pub(crate) const STRAND_BYTES: usize = 1_536;

/// The part of what a strand holds that it may be wrong by.
const PART: usize = 64;

/// Events that wait may take one part in so many of the limit.
const EVENT_PART: u64 = 16;

/// The memory that the structures of a grid take, and how much they may.
///
/// ```
/// use filbert_grid::{Grid, GridError, GridSettings, Registry};
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let settings = GridSettings { memory_bytes: Some(10_000), ..Default::default() };
/// let grid = Grid::with(&stages, settings, Registry::new());
/// let map = grid.map("m");
/// let (key, large) = (Data::new(-7, &[0, 0, 0, 1]), Data::new(-12, &[7; 20_000]));
/// assert!(matches!(map.set(key.clone(), large).wait(), Err(GridError::OutOfMemory { .. })));
/// map.set(key, Data::new(-12, &[7; 2_000])).wait()?;
/// assert!(grid.memory().used() > 2_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryAccount {
    limit: u64,
    /// Below zero for a moment, when what went is told before what came.
    used: AtomicI64,
    refused: AtomicU64,
    /// What events take of it that wait for their listeners.
    events: AtomicU64,
}

impl MemoryAccount {
    /// An account with so many bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicI64::new(0),
            refused: AtomicU64::new(0),
            events: AtomicU64::new(0),
        })
    }

    /// The bytes that all structures together may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The bytes that they take, as far as strands have told.
    pub fn used(&self) -> u64 {
        u64::try_from(self.used.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// How many writes were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// True when there is room for so many bytes more.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        let used = self.used();
        used < self.limit && bytes as u64 <= self.limit - used && !process_memory::is_over()
    }

    /// Refuses a write of so many bytes when there is no room for them.
    #[inline]
    pub(crate) fn admit(&self, operation: &'static str, bytes: usize) -> GridResult<()> {
        if self.has_room(bytes) { Ok(()) } else { Err(self.refuse(operation)) }
    }

    /// Counts a write that is refused.
    #[cold]
    pub(crate) fn refuse(&self, operation: &'static str) -> GridError {
        let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let (used, limit) = (self.used(), self.limit);
        if refused.is_power_of_two() {
            tracing::warn!(
                operation,
                used,
                limit,
                refused,
                "writes are refused: the memory for data is used up (grid.memory_bytes), or that of the process"
            );
        }
        if process_memory::is_over() {
            let (used, limit) = (process_memory::held() as u64, process_memory::limit() as u64);
            return GridError::ProcessOutOfMemory { operation, used, limit, in_part: false };
        }
        GridError::OutOfMemory { operation, used, limit, in_part: false }
    }

    fn add(&self, bytes: i64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if bytes < 0 {
            process_memory::note_freed();
        }
    }

    /// Counts bytes that are on their way, until what is returned is dropped.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> TakenMemory {
        self.add(signed(bytes));
        TakenMemory { account: Arc::clone(self), bytes }
    }

    /// The bytes that events take which wait for their listeners.
    pub fn waiting_events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Counts an event until what is returned is dropped; nothing when those that wait take their part of the limit already.
    pub(crate) fn take_event(self: &Arc<Self>, bytes: usize) -> Option<TakenEvent> {
        let most = self.limit / EVENT_PART;
        let more = bytes as u64;
        // One that waits alone is taken, however large it is.
        let taken =
            |held: u64| (held == 0 || held.saturating_add(more) <= most).then(|| held.saturating_add(more));
        self.events.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(TakenEvent { taken: self.take(bytes) })
    }
}

/// Bytes of an event that count until this is dropped.
#[derive(Debug)]
pub(crate) struct TakenEvent {
    taken: TakenMemory,
}

impl Drop for TakenEvent {
    fn drop(&mut self) {
        let TakenMemory { account, bytes } = &self.taken;
        account.events.fetch_sub(*bytes as u64, Ordering::Relaxed);
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(crate) struct TakenMemory {
    account: Arc<MemoryAccount>,
    bytes: usize,
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        self.account.add(-signed(self.bytes));
    }
}

/// What one strand holds, beside [`STRAND_BYTES`] for itself. Used by whoever runs the strand; dropped, it gives all back.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    account: Arc<MemoryAccount>,
    /// What the account was told.
    told: usize,
}

impl MemoryShare {
    /// The share of a strand that holds nothing yet.
    pub(crate) fn new(account: &Arc<MemoryAccount>) -> Self {
        account.add(signed(STRAND_BYTES));
        Self { account: Arc::clone(account), told: 0 }
    }

    pub(crate) fn account(&self) -> &MemoryAccount {
        &self.account
    }

    /// The strand holds so much now.
    #[inline]
    pub(crate) fn set(&mut self, held: usize) {
        let apart = held.abs_diff(self.told);
        if apart > STEP + self.told / PART || (apart > 0 && (held == 0 || self.told == 0)) {
            self.tell(held);
        }
    }

    fn tell(&mut self, held: usize) {
        self.account.add(signed(held) - signed(self.told));
        self.told = held;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.tell(0);
        self.account.add(-signed(STRAND_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_tells_what_is_worth_it_and_takes_all_back() {
        let account = MemoryAccount::new(100_000);
        let mut share = MemoryShare::new(&account);
        let own = STRAND_BYTES as u64;
        assert_eq!(account.used(), own, "a strand that holds nothing takes something");
        share.set(10);
        assert_eq!(account.used(), own + 10, "the first is told however little it is");
        share.set(10 + STEP);
        assert_eq!(account.used(), own + 10, "a small difference stays with the strand");
        share.set(64_000);
        assert_eq!(account.used(), own + 64_000);
        share.set(64_000 + STEP + 64_000 / PART);
        assert_eq!(account.used(), own + 64_000, "a 64th of what it holds is small too");
        share.set(50);
        assert_eq!(account.used(), own + 50);
        share.set(0);
        assert_eq!(account.used(), own, "nothing is told however little it was");
        share.set(90_000);
        drop(share);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn events_have_a_part_that_data_cannot_take_and_count_as_data() {
        let account = MemoryAccount::new(16_000);
        let _data = account.take(16_000);
        let first = account.take_event(600).unwrap();
        assert!(account.take_event(401).is_none(), "a 16th of the limit");
        let second = account.take_event(400).unwrap();
        assert_eq!((account.waiting_events(), account.used()), (1_000, 17_000));
        drop((first, second));
        assert_eq!((account.waiting_events(), account.used()), (0, 16_000));
        drop(account.take_event(50_000).unwrap());
    }

    #[test]
    fn a_write_is_refused_that_would_pass_the_limit() {
        let account = MemoryAccount::new(1_000);
        assert!(account.has_room(1_000) && !account.has_room(1_001));
        let taken = account.take(1_000);
        assert!(!account.has_room(0), "a full account takes nothing at all");
        let refused = account.admit("list.add", 1).unwrap_err();
        assert_eq!(
            refused,
            GridError::OutOfMemory { operation: "list.add", used: 1_000, limit: 1_000, in_part: false }
        );
        let text = refused.to_string();
        assert!(text.contains("1000 bytes") && text.contains("grid.memory_bytes"), "{text}");
        drop(taken);
        assert_eq!((account.admit("list.add", 1_000), account.refused()), (Ok(()), 1));
    }
}
