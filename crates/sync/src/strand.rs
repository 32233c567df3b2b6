//! A mailbox whose holder is alone: submit, begin, claim, release. The page is `docs/design/001-strand.md`.
//!
//! One atomic word carries the mail (a stack of letters) and who may open it; see the page for its bits, the invariants and
//! what was rejected. A letter costs one allocation; a submit costs one compare-and-swap and one add for the bound.
//!
//! | Field | Written by | Read by |
//! |---|---|---|
//! | `word` | anyone, by read-modify-write | anyone |
//! | `pushed` | submitters, by read-modify-write | anyone |
//! | `popped` | the holder, by plain store | anyone |
//! | `inside` (value, backlog) | the holder | the holder |
//! | a letter's `next` | its submitter before the push | the holder |
//!
//! Rules:
//! 1. `HELD` is set only from a word without it (Acquire) and cleared only by [`Held`]'s drop (Release); so one thread at a
//!    time is the holder, and it sees what the last one wrote. A `Held` exists exactly while its thread is the holder.
//! 2. A letter belongs to its submitter until the push (Release), to the stack until a take (Acquire), then to the
//!    holder's backlog, then to one [`Mail`]. It is freed by whoever opens or discards that `Mail`, or by the strand's drop.
//! 3. A header is always the first field of a `Node<S, L>` made by `Node::leak`; its table is that of the same `L`, and its name
//!    and length come from one `&'static str`.

use crate::primitives::{AtomicUsize, Ordering, UnsafeCell};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::ptr::{self, NonNull};

mod blocks;
mod letter;

pub use letter::Mail;
use letter::{Backlog, Header, Node};

const HELD: usize = 1;
const QUEUED: usize = 2;
const PRIORITY: usize = 4;
// Addresses of letters are multiples of 8 and leave the two highest bits clear (47 or 48 bits are used on x86-64 and
// aarch64); checked at each push.
const CLOSED: usize = 1 << (usize::BITS - 2);
const URGENT: usize = 1 << (usize::BITS - 1);
const FLAGS: usize = HELD | QUEUED | PRIORITY | CLOSED | URGENT;

/// What can be mailed to a strand with the value `S`.
pub trait Letter<S>: Send + 'static {
    /// Does its work on the value; false when that failed. Should not unwind, though the strand survives it.
    fn open(self, value: &mut S) -> bool;
}

/// The two lanes of a mailbox, and of the ready queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In the order of the mail.
    Normal,
    /// Before all normal mail.
    Priority,
}

impl Lane {
    const fn entry(self) -> usize {
        match self {
            Lane::Normal => QUEUED,
            Lane::Priority => PRIORITY,
        }
    }
}

/// Why a strand did not take a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It holds as much as it may.
    Full,
    /// It takes no more mail.
    Closed,
}

/// What the caller of a release must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// Put one entry into a normal ready queue.
    pub normal: bool,
    /// Put one entry into a priority ready queue.
    pub priority: bool,
    /// The strand is closed and has just become empty, for ever; told exactly once unless it was empty when closed.
    pub drained: bool,
}

/// A value that one thread at a time may touch, and the mail for it.
pub struct Strand<S: 'static> {
    mailbox: CachePadded<Mailbox>,
    inside: UnsafeCell<Inside<S>>,
}

struct Mailbox {
    word: AtomicUsize,
    pushed: AtomicUsize,
    popped: AtomicUsize,
}

struct Inside<S: 'static> {
    value: S,
    normal: Backlog<S>,
    urgent: Backlog<S>,
    /// Empty but while a stack is turned around.
    newest_first: Vec<NonNull<Header<S>>>,
}

/// A longer stack gives the memory for turning it around back.
const SCRATCH_KEPT: usize = 4_096;

// SAFETY: the value and the letters move between threads (S: Send, Letter: Send) but by rule 1 are touched by one at a time.
unsafe impl<S: Send + 'static> Sync for Strand<S> {}
// SAFETY: as above; the raw pointers inside are owned (rule 2).
unsafe impl<S: Send + 'static> Send for Strand<S> {}

impl<S: Send + 'static> Strand<S> {
    /// An idle strand with an empty mailbox.
    pub fn new(value: S) -> Self {
        let inside =
            Inside { value, normal: Backlog::new(), urgent: Backlog::new(), newest_first: Vec::new() };
        let mailbox =
            Mailbox { word: AtomicUsize::new(0), pushed: AtomicUsize::new(0), popped: AtomicUsize::new(0) };
        Self { mailbox: CachePadded::new(mailbox), inside: UnsafeCell::new(inside) }
    }

    /// Mails a letter under a name, unless `capacity` letters wait already. `Ok(true)`: the caller must put one entry for this strand
    /// into a ready queue of that lane.
    pub fn submit(
        &self,
        name: &'static str,
        letter: impl Letter<S>,
        lane: Lane,
        capacity: usize,
    ) -> Result<bool, Refused> {
        let Mailbox { word, pushed, popped } = &*self.mailbox;
        let before = pushed.fetch_add(1, Ordering::Relaxed);
        // Letters popped since the add make this negative, which is less than any capacity.
        let waiting = before.wrapping_sub(popped.load(Ordering::Relaxed)) as isize;
        if waiting >= capacity.min(isize::MAX as usize) as isize {
            pushed.fetch_sub(1, Ordering::Relaxed);
            return Err(Refused::Full);
        }
        let mut old = word.load(Ordering::Relaxed);
        if old & CLOSED != 0 {
            pushed.fetch_sub(1, Ordering::Relaxed);
            return Err(Refused::Closed);
        }
        let node = Node::leak(name, letter, lane);
        let address = node.as_ptr().expose_provenance();
        assert_eq!(address & FLAGS, 0, "an allocation where the strand keeps its flags");
        let urgent = if lane == Lane::Priority { URGENT } else { 0 };
        loop {
            if old & CLOSED != 0 {
                pushed.fetch_sub(1, Ordering::Relaxed);
                drop(Mail(node));
                return Err(Refused::Closed);
            }
            let next = ptr::with_exposed_provenance_mut(old & !FLAGS);
            // SAFETY: not pushed yet, so it is ours (rule 2).
            unsafe { node.as_ref() }.next.with_mut(|slot| unsafe { *slot = next });
            let entry = if old & HELD == 0 { lane.entry() } else { 0 };
            let new = address | (old & FLAGS) | urgent | entry;
            match word.compare_exchange_weak(old, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(old & (HELD | lane.entry()) == 0),
                Err(now) => old = now,
            }
        }
    }

    /// Becomes the holder on the strength of a ready queue's entry. `None`: someone else holds the strand, and will see to
    /// its mail. Each entry must be used for one call.
    ///
    /// `then` is told what must be queued when the [`Held`] is dropped.
    pub fn begin<F: Fn(Released)>(&self, entry: Lane, then: F) -> Option<Held<'_, S, F>> {
        let word = &self.mailbox.word;
        let mut old = word.load(Ordering::Relaxed);
        loop {
            debug_assert_ne!(old & entry.entry(), 0, "an entry without its bit");
            let new = match old & HELD {
                0 => (old & (QUEUED | PRIORITY | CLOSED) & !entry.entry()) | HELD,
                _ => old & !entry.entry(),
            };
            // Partner: the Release swaps of `submit` and of the drop of `Held`.
            match word.compare_exchange_weak(old, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        if old & HELD != 0 {
            return None;
        }
        let mut held = Held { strand: self, then };
        held.sort(old);
        Some(held)
    }

    /// Becomes the holder when the strand is idle and nothing waits for it: a caller never overtakes mail.
    #[inline]
    pub fn claim<F: Fn(Released)>(&self, then: F) -> Option<Held<'_, S, F>> {
        let word = &self.mailbox.word;
        if word.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // Partner: the Release swap of the drop of `Held`.
        word.compare_exchange(0, HELD, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(Held { strand: self, then })
    }

    /// Takes no more mail and no more callers. True when letters wait or someone holds it, so that a
    /// [`Released::drained`] will be told.
    pub fn close(&self) -> bool {
        let old = self.mailbox.word.fetch_or(CLOSED, Ordering::AcqRel);
        old != 0 && old & CLOSED == 0
    }

    /// Letters that wait, opened ones not counted.
    pub fn depth(&self) -> usize {
        let popped = self.mailbox.popped.load(Ordering::Relaxed);
        let depth = self.mailbox.pushed.load(Ordering::Relaxed).wrapping_sub(popped) as isize;
        depth.max(0) as usize
    }

    /// True when nobody holds it and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.mailbox.word.load(Ordering::Acquire) & !CLOSED == 0
    }
}

/// The holder's guard: the only way to the value and to the mail. Releases the strand when dropped, also by a panic.
pub struct Held<'a, S: Send + 'static, F: Fn(Released)> {
    strand: &'a Strand<S>,
    then: F,
}

impl<S: Send + 'static, F: Fn(Released)> Held<'_, S, F> {
    #[inline]
    fn inside(&mut self) -> &mut Inside<S> {
        // SAFETY: this thread is the holder (rule 1), and the borrow of `self` keeps it the only reference.
        self.strand.inside.with_mut(|inside| unsafe { &mut *inside })
    }

    /// The strand's value.
    #[inline]
    pub fn value(&mut self) -> &mut S {
        &mut self.inside().value
    }

    /// The next letter: priority letters first, and, when `lane` is [`Lane::Priority`], no others.
    #[inline]
    pub fn next(&mut self, lane: Lane) -> Option<Mail<S>> {
        let word = self.strand.mailbox.word.load(Ordering::Relaxed);
        if word & URGENT != 0 {
            self.take();
        }
        let inside = self.inside();
        let mut mail = inside.urgent.pop();
        if mail.is_none() && lane == Lane::Normal {
            mail = inside.normal.pop();
            if mail.is_none() && word & !FLAGS != 0 {
                self.take();
                let inside = self.inside();
                mail = inside.urgent.pop().or_else(|| inside.normal.pop());
            }
        }
        if mail.is_some() {
            let popped = &self.strand.mailbox.popped;
            popped.store(popped.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
        mail
    }

    /// Takes all that was mailed meanwhile into the backlog.
    fn take(&mut self) {
        let word = &self.strand.mailbox.word;
        let mut old = word.load(Ordering::Relaxed);
        loop {
            let new = old & FLAGS & !URGENT;
            // Partner: the Release swap of `submit`.
            match word.compare_exchange_weak(old, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        self.sort(old);
    }

    /// Puts a taken stack into the backlog, oldest first.
    fn sort(&mut self, taken: usize) {
        let mut top: *mut Header<S> = ptr::with_exposed_provenance_mut(taken & !FLAGS);
        let Inside { normal, urgent, newest_first, .. } = self.inside();
        while let Some(letter) = NonNull::new(top) {
            newest_first.push(letter);
            // SAFETY: taken, so it is the holder's (rule 2).
            top = unsafe { letter.as_ref() }.next.with(|next| unsafe { *next });
        }
        while let Some(letter) = newest_first.pop() {
            // SAFETY: as above. Only a stack with a priority letter is looked through; the others are read when opened.
            match taken & URGENT == 0 || unsafe { letter.as_ref() }.lane == Lane::Normal {
                true => normal.push(letter),
                false => urgent.push(letter),
            }
        }
        newest_first.shrink_to(SCRATCH_KEPT);
    }

    fn release(&mut self) -> Released {
        let inside = self.inside();
        let (normal, urgent) = (!inside.normal.is_empty(), !inside.urgent.is_empty());
        let word = &self.strand.mailbox.word;
        let mut old = word.load(Ordering::Relaxed);
        loop {
            let mut new = old & !HELD;
            if normal || old & !FLAGS != 0 {
                new |= QUEUED;
            }
            if urgent || old & URGENT != 0 {
                new |= PRIORITY;
            }
            // Partner: the Acquire swaps of `begin` and `claim`.
            match word.compare_exchange_weak(old, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    let set = new & !old;
                    return Released {
                        normal: set & QUEUED != 0,
                        priority: set & PRIORITY != 0,
                        drained: new == CLOSED,
                    };
                }
                Err(now) => old = now,
            }
        }
    }
}

impl<S: Send + 'static, F: Fn(Released)> Drop for Held<'_, S, F> {
    #[inline]
    fn drop(&mut self) {
        let released = self.release();
        (self.then)(released);
    }
}

impl<S: 'static> Drop for Strand<S> {
    fn drop(&mut self) {
        // No one else is left, so what is in the stack and in the backlog is ours (rule 2).
        let mut top = self.mailbox.word.load(Ordering::Acquire) & !FLAGS;
        while let Some(letter) = NonNull::new(ptr::with_exposed_provenance_mut::<Header<S>>(top)) {
            // SAFETY: as above.
            top = unsafe { letter.as_ref() }.next.with(|next| unsafe { *next }).expose_provenance();
            drop(Mail(letter));
        }
        self.inside.with_mut(|inside| {
            // SAFETY: `&mut self`.
            let inside = unsafe { &mut *inside };
            while inside.urgent.pop().or_else(|| inside.normal.pop()).is_some() {}
        });
    }
}

impl<S: 'static> fmt::Debug for Strand<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strand").field("word", &self.mailbox.word).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests;
