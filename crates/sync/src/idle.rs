//! Who works, who searches, who sleeps: wakes a worker when there is something for it, and only then.
//!
//! A worker is *active* (runs a task), *searching* (looks for one, awake) or asleep in its *bed*, either *idle* (takes any
//! work) or *waiting* (for the result of a fork; takes forks only). `docs/design/004-park-and-unpark.md` is the long
//! form of this page.
//!
//! | Field | Written by | Meaning |
//! |---|---|---|
//! | `counts` | anyone, read-modify-write | active and searching workers, in one word |
//! | `asleep` | the sleeper: before it lies down, after it got up | never too low; zero means that no bed need be looked at |
//! | `Bed::state` | the sleeper (to asleep), whoever claims it (to `AWAKE`) | the claim decides who wakes whom |
//! | `Bed::slept_on`, `thread`, `kept_off` | the sleeper; `kept_off` also whoever claims it | hints only: where to wake whom, see [`processor`] |
//! | `Bed::token` | under its lock | a wake-up, kept until taken |
//!
//! Rules:
//! 1. Work is published first, then [`Idle::notify`]. A sleeper announces first ([`Idle::announce`]), then looks for work
//!    once more, then sleeps. Each has a SeqCst fence between the two steps, so one of them sees the other.
//! 2. While someone searches nobody is woken: the searcher finds the work, or announces its sleep after the work was
//!    published, and then its last look finds it.
//! 3. A waker counts its wakee as searching before it claims a bed. So at most one wake-up is under way, however many
//!    pieces of work are published; the wakee, when it finds one and was the last searcher, wakes the next.
//! 4. A waker that found no bed takes its count back and looks again, because someone may have trusted the count
//!    (rule 2) while someone else lay down.
//! 5. Fork work wakes nobody while as many threads are active as the pool has workers. A thread that stops being active
//!    looks for published work after it said so.
//!
//! Rejected: a lock around a list of sleepers (every fork would take it); a wake-up per piece of work (a futex call
//! costs microseconds, a fork nanoseconds); a timer that looks after unannounced work (an idle pool must use no CPU).

use crate::primitives::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use crate::processor;
#[cfg(filbert_loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(filbert_loom))]
use std::sync::{Condvar, Mutex};

const AWAKE: u32 = 0;
const ACTIVE: usize = 1;
const SEARCHING: usize = 1 << 16;
const FIELD: usize = SEARCHING - 1;

/// How a worker sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Sleep {
    /// Has nothing to do and takes anything.
    Idle = 1,
    /// Waits for a fork's result and takes other forks meanwhile.
    Waiting = 2,
}

/// What was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// A fork: any sleeper may help, if fewer threads are active than the pool has workers.
    Fork,
    /// Work of its own: an idle worker must come.
    Root,
}

/// The states of all workers of one pool.
#[derive(Debug)]
pub struct Idle {
    counts: AtomicUsize,
    asleep: AtomicUsize,
    limit: usize,
    beds: Box<[Bed]>,
}

#[derive(Debug)]
struct Bed {
    state: AtomicU32,
    /// The processor that its sleeper lay down on, plus one; zero if unknown.
    slept_on: AtomicU32,
    /// Its sleeper's thread, as the system numbers it; zero for one whose processors are not ours to choose.
    thread: AtomicU32,
    kept_off: AtomicBool,
    token: Mutex<bool>,
    bell: Condvar,
}

impl Idle {
    /// Beds for `slots` threads, of which `limit` should be active at most; all of them outside at first.
    pub fn new(slots: usize, limit: usize) -> Self {
        let bed = || Bed {
            state: AtomicU32::new(AWAKE),
            slept_on: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            kept_off: AtomicBool::new(false),
            token: Mutex::new(false),
            bell: Condvar::new(),
        };
        Self {
            counts: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            limit,
            beds: (0..slots).map(|_| bed()).collect(),
        }
    }

    /// The current thread sleeps in `bed` for its whole life, so its processors are ours to choose.
    pub fn move_in(&self, bed: usize) {
        self.beds[bed].thread.store(processor::thread_number(), Ordering::Relaxed);
    }

    /// A thread becomes active that was not counted before.
    #[inline]
    pub fn enter_active(&self) {
        self.counts.fetch_add(ACTIVE, Ordering::Relaxed);
    }

    /// An active thread is not any more; it looks for published work afterwards (rule 5).
    #[inline]
    pub fn leave_active(&self) {
        self.counts.fetch_sub(ACTIVE, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// A thread begins to search. False, and not counted, when `most` search already.
    pub fn enter_search(&self, most: usize) -> bool {
        if self.counts.fetch_add(SEARCHING, Ordering::SeqCst) / SEARCHING < most {
            return true;
        }
        self.leave_search();
        false
    }

    /// A searcher stops without having found anything.
    fn leave_search(&self) {
        self.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
    }

    /// A searcher found work and is active now. True when it was the last searcher: if there is more work, it wakes
    /// someone (rule 3).
    pub fn found(&self) -> bool {
        let before = self.counts.fetch_add(ACTIVE.wrapping_sub(SEARCHING), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        before / SEARCHING == 1
    }

    /// How many threads are active.
    pub fn active(&self) -> usize {
        self.counts.load(Ordering::SeqCst) & FIELD
    }

    /// True when fewer threads are active than the pool has workers: a hint, one plain load.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.counts.load(Ordering::Relaxed) & FIELD < self.limit
    }

    /// `me` is about to sleep, and stops searching if it did. It must look for work once more before [`Idle::sleep`].
    pub fn announce(&self, me: usize, how: Sleep, searching: bool) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let bed = &self.beds[me];
        bed.slept_on.store(processor::current().map_or(0, |number| number + 1), Ordering::Relaxed);
        bed.state.store(how as u32, Ordering::SeqCst);
        if searching {
            self.leave_search();
        }
        // Partner: the fence in `notify` (rule 1).
        fence(Ordering::SeqCst);
    }

    /// `me` found work in its last look, or was rung for: it gets up. Afterwards it counts as searching if it was idle.
    /// True when a waker had claimed it: then someone's work may still be unannounced unless `me` takes it.
    pub fn get_up(&self, me: usize, how: Sleep) -> bool {
        let bed = &self.beds[me];
        let mine = bed.state.compare_exchange(how as u32, AWAKE, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        if mine && how == Sleep::Idle {
            self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
        }
        // A waker that claimed an idle bed has counted its sleeper as searching already.
        !mine
    }

    /// After a sleep: true when the waker kept this thread off a processor, which it should undo
    /// ([`processor::Affinity::restore`]).
    pub fn was_kept_off(&self, me: usize) -> bool {
        self.beds[me].kept_off.swap(false, Ordering::Relaxed)
    }

    /// Sleeps until a wake-up comes, or returns at once if one was kept.
    pub fn sleep(&self, me: usize) {
        let bed = &self.beds[me];
        let mut token = bed.token.lock().unwrap();
        while !*token {
            token = bed.bell.wait(token).unwrap();
        }
        *token = false;
    }

    /// Wakes the thread in this bed; without a claim, so it wakes for a reason of its own.
    pub fn ring(&self, bed: usize) {
        let bed = &self.beds[bed];
        *bed.token.lock().unwrap() = true;
        bed.bell.notify_one();
    }

    /// Wakes everyone.
    pub fn ring_all(&self) {
        fence(Ordering::SeqCst);
        (0..self.beds.len()).for_each(|bed| self.ring(bed));
    }

    /// Work was published: wakes one sleeper if that is useful. True when someone was woken.
    #[inline]
    pub fn notify(&self, news: News) -> bool {
        // Partner: the fence in `announce` (rule 1).
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.wake_one(news)
    }

    #[cold]
    fn wake_one(&self, news: News) -> bool {
        loop {
            let counts = self.counts.load(Ordering::SeqCst);
            if counts / SEARCHING != 0 || (news == News::Fork && counts & FIELD >= self.limit) {
                return false;
            }
            let counted = counts + SEARCHING;
            if self.counts.compare_exchange(counts, counted, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                continue;
            }
            let here = match news {
                News::Fork => processor::current().map_or(0, |number| number + 1),
                News::Root => 0,
            };
            if let Some(bed) = self.claim(Sleep::Idle, here) {
                self.ring(bed);
                return true;
            }
            self.leave_search();
            if news == News::Fork
                && let Some(bed) = self.claim(Sleep::Waiting, here)
            {
                self.ring(bed);
                return true;
            }
            // Rule 4: the fence pairs with the one of a sleeper that lay down while our count was up.
            fence(Ordering::SeqCst);
            let wanted = |bed: &Bed| match bed.state.load(Ordering::SeqCst) {
                AWAKE => false,
                how => how == Sleep::Idle as u32 || news == News::Fork,
            };
            if !self.beds.iter().any(wanted) {
                return false;
            }
        }
    }

    /// Claims a bed, rather one whose sleeper was on another processor than `here`: the kernel wakes it there.
    fn claim(&self, how: Sleep, here: u32) -> Option<usize> {
        let claim = |bed: &Bed| {
            bed.state.load(Ordering::SeqCst) == how as u32
                && bed.state.compare_exchange(how as u32, AWAKE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let elsewhere = |bed: &Bed| here != 0 && bed.slept_on.load(Ordering::Relaxed) != here && claim(bed);
        let bed = self.beds.iter().position(elsewhere).or_else(|| self.beds.iter().position(claim))?;
        let chosen = &self.beds[bed];
        if here != 0 {
            // Even a sleeper that lay down elsewhere may be put here, next to a waker that goes on working.
            let thread = chosen.thread.load(Ordering::Relaxed);
            if thread != 0 {
                chosen.kept_off.store(true, Ordering::Relaxed);
                processor::keep_off(thread, here - 1);
            }
        }
        Some(bed)
    }
}
