//! What a process has allocated, counted by its allocator, and a limit that others ask about: the net below all accounts of memory.
//!
//! Accounts count what they know of. What nobody thought of, a library's cache or a plan that explodes, is seen here alone. Nothing is
//! refused here, for an allocation that fails ends the process; those who can refuse or end something ask [`is_over`].
//!
//! ```text
//! alloc, dealloc -> thread's own sum --every 64 KB--> process's sum <-- is_over(): two loads, no lock
//! ```
//!
//! | Field | Who writes it | Who reads it |
//! |---|---|---|
//! | `UNTOLD` | its thread, inside the allocator | the same |
//! | `HELD` | any thread, when its sum is worth it | any |
//! | `LIMIT`, `GIVER` | the program, at its start | any |
//! | `TOP`, `WINDOW`: the most since memory was given back, and since it was last looked | any thread that tells its sum; [`settle`] | the same |
//! | `BASE`: what was held when memory was given back | [`settle`] | [`note_freed`] |
//! | `ARMED`: somebody will look | [`note_freed`], [`settle`] | the same |
//!
//! # Giving memory back
//!
//! An allocator keeps what was freed, for the next who asks. After a storm nobody asks: the threads that own the free pages sleep, and pages
//! of which others freed the last block are not even known to be free. So whoever knows that much was freed says so ([`note_freed`]), and if
//! much was taken since the last time, the program looks a little later ([`settle`]): when the process has held much less than at its
//! top for a whole while, all is given back at once. Under a load that comes and goes nothing is, for it would be taken again; in an
//! idle process nobody looks. Rejected: giving back whatever is freed at once, which costs every batch of a query its pages.
//!
//! Rules, which every `SAFETY:` line cites:
//!
//! 1. Every call goes to the inner allocator with its arguments unchanged, and what that returns goes back unchanged. So the contract of
//!    `GlobalAlloc` holds for this one because it holds for the inner one.
//! 2. Counting neither allocates nor panics nor takes a lock: a sum in a thread-local without a destructor or lazy start, and an addition that
//!    wraps. A thread whose locals are gone counts at once.
//! 3. No memory is published through the counts: all is `Relaxed`. What is decided by them may be decided a moment late.
//! 4. `mi_collect` may be called by any thread at any time, outside the allocator, and frees nothing that is in use: it is a public function of
//!    the library without a precondition, with the signature below.
//!
//! A thread that ends takes up to 64 KB of its sum with it; a member's threads do not end. Memory that libraries written in C take themselves
//! is not counted. Rejected: the resident memory that the system tells. It stays high when all was freed, and nothing could bring
//! it down by ending something.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// A thread keeps sums below this to itself.
const STEP: usize = 64 << 10;

static HELD: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static TOP: AtomicUsize = AtomicUsize::new(0);
static WINDOW: AtomicUsize = AtomicUsize::new(0);
static BASE: AtomicUsize = AtomicUsize::new(0);
static ARMED: AtomicBool = AtomicBool::new(false);
static GIVER: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// What is worth giving back, in bytes.
const SURPLUS: usize = 32 << 20;

thread_local! {
    static UNTOLD: Cell<isize> = const { Cell::new(0) };
}

/// The bytes that are allocated; 0 in a process without a [`CountingAllocator`].
pub fn held() -> usize {
    usize::try_from(HELD.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The bytes that the process should not pass; `usize::MAX` when nobody said.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Says how many bytes the process should not pass.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// True while more is allocated than should be.
#[inline]
pub fn is_over() -> bool {
    held() > limit()
}

/// Sets what is called when memory may be worth giving back: it must have [`settle`] called a little later, on another thread. The first call
/// counts.
pub fn on_surplus(look_later: impl Fn() + Send + Sync + 'static) {
    let _ = GIVER.set(Box::new(look_later));
}

/// Says that much may have been freed, or soon will be: the end of a query, entries that were removed.
#[inline]
pub fn note_freed() {
    if TOP.load(Ordering::Relaxed) > BASE.load(Ordering::Relaxed).saturating_add(SURPLUS) {
        look_later();
    }
}

#[cold]
fn look_later() {
    if let Some(giver) = GIVER.get()
        && !ARMED.swap(true, Ordering::Relaxed)
    {
        giver();
    }
}

/// Calls `give_back` when the process has held much less than at its top since the last look. Returns true when it should be called again
/// after the same time.
pub fn settle(give_back: impl FnOnce()) -> bool {
    let held = held();
    let lately = WINDOW.swap(held, Ordering::Relaxed).max(held);
    let top = TOP.load(Ordering::Relaxed);
    let has_surplus = |held: usize| top > held.saturating_add(SURPLUS);
    if has_surplus(lately) {
        TOP.store(lately, Ordering::Relaxed);
        BASE.store(held, Ordering::Relaxed);
        give_back();
    } else if has_surplus(held) {
        return true;
    }
    ARMED.store(false, Ordering::Relaxed);
    false
}

/// Gives all that mimalloc keeps for later back to the system, a few milliseconds for each gigabyte.
#[cfg(feature = "mimalloc")]
pub fn give_back() {
    use mimalloc as _;
    // SAFETY: the declaration is that of mimalloc.h; rule 4.
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: rule 4.
    unsafe { mi_collect(true) }
}

/// An allocator that counts what another one gives.
///
/// ```
/// use filbert_sync::process_memory::{self, CountingAllocator};
/// use std::alloc::System;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator<System> = CountingAllocator::new(System);
///
/// fn main() {
///     let before = process_memory::held();
///     let bytes = vec![1_u8; 1 << 20];
///     assert!(process_memory::held() >= before + bytes.len() / 2);
/// }
/// ```
#[derive(Debug)]
pub struct CountingAllocator<A> {
    inner: A,
}

impl<A> CountingAllocator<A> {
    /// Counts what `inner` gives.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

/// Counts bytes that came, or went where it is less than zero.
#[inline]
fn count(bytes: isize) {
    let told = UNTOLD.try_with(|untold| {
        let sum = untold.get().wrapping_add(bytes);
        let is_little = sum.unsigned_abs() < STEP;
        untold.set(if is_little { sum } else { 0 });
        if is_little { 0 } else { sum }
    });
    let told = told.unwrap_or(bytes);
    if told != 0 {
        let held = HELD.fetch_add(told, Ordering::Relaxed).wrapping_add(told);
        if told > 0 {
            let held = usize::try_from(held).unwrap_or(0);
            TOP.fetch_max(held, Ordering::Relaxed);
            WINDOW.fetch_max(held, Ordering::Relaxed);
        }
    }
}

// SAFETY: rules 1 and 2.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: rule 1.
        let place = unsafe { self.inner.alloc(layout) };
        if !place.is_null() {
            count(layout.size() as isize);
        }
        place
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: rule 1.
        let place = unsafe { self.inner.alloc_zeroed(layout) };
        if !place.is_null() {
            count(layout.size() as isize);
        }
        place
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count((layout.size() as isize).wrapping_neg());
        // SAFETY: rule 1.
        unsafe { self.inner.dealloc(place, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: rule 1.
        let moved = unsafe { self.inner.realloc(place, layout, size) };
        if !moved.is_null() {
            count((size as isize).wrapping_sub(layout.size() as isize));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    /// The counts are the whole process's, so that one test has them all.
    #[test]
    fn what_is_allocated_counts_until_it_is_given_back() {
        let allocator = CountingAllocator::new(System);
        let layout = Layout::from_size_align(10 << 20, 16).unwrap();
        let twice = Layout::from_size_align(20 << 20, 16).unwrap();
        let large = Layout::from_size_align(100 << 20, 16).unwrap();
        let before = held();
        assert!(!is_over(), "nobody said a limit");
        // SAFETY: each place is used with the layout that it has.
        unsafe {
            let place = allocator.alloc(layout);
            assert!(!place.is_null() && held() >= before + layout.size() - STEP);
            let place = allocator.realloc(place, layout, twice.size());
            assert!(!place.is_null() && held() >= before + twice.size() - STEP);
            set_limit(before + layout.size());
            assert!(is_over() && limit() == before + layout.size());
            allocator.dealloc(place, twice);
            assert!(!is_over());
            let zeroed = allocator.alloc_zeroed(layout);
            assert_eq!(*zeroed, 0);
            allocator.dealloc(zeroed, layout);
            // The top is far above what is held now, but not for a whole while yet.
            let looked = std::sync::Arc::new(AtomicUsize::new(0));
            let looks = std::sync::Arc::clone(&looked);
            on_surplus(move || {
                looks.fetch_add(1, Ordering::Relaxed);
            });
            note_freed();
            note_freed();
            assert_eq!(looked.load(Ordering::Relaxed), 0, "20 MB are not worth it");
            let place = allocator.alloc(large);
            allocator.dealloc(place, large);
            note_freed();
            note_freed();
            assert_eq!(looked.load(Ordering::Relaxed), 1, "one looks for all");
            assert!(settle(|| panic!("too early")));
            let mut given = false;
            assert!(!settle(|| given = true) && given);
            note_freed();
            assert_eq!(looked.load(Ordering::Relaxed), 1, "nothing is left to give back");
            // Little stays with its thread.
            let little = Layout::from_size_align(16, 16).unwrap();
            let told = held();
            let place = allocator.alloc(little);
            assert_eq!(held(), told);
            allocator.dealloc(place, little);
        }
        set_limit(usize::MAX);
        assert!(held() <= before + STEP);
    }
}
