//! Who works, who searches, who sleeps: wakes a worker when there is something for it, and only then.
//!
//! A worker is *active* (runs a task), *searching* (looks for one, awake) or asleep in its *bed*, either *idle* (takes any
//! work) or *waiting* (for the result of a fork; takes forks only). `docs/design/004-park-and-unpark.md` is the long
//! form of this page.
//!
//! | Field | Written by | Meaning |
//! |---|---|---|
//! | `counts` | anyone, read-modify-write | active, searching and helping threads, in one word |
//! | `asleep` | the sleeper: before it lies down, after it got up | never too low; zero means that no bed need be looked at |
//! | `Bed::state` | the sleeper (to asleep), whoever claims it (to `AWAKE`) | the claim decides who wakes whom |
//! | `Bed::slept_on`, `thread`, `kept_off` | the sleeper; `kept_off` also whoever claims it | hints only: where to wake whom, see [`processor`] |
//! | `Bed::token` | under its lock | a wake-up, kept until taken |
//!
//! Rules:
//! 1. Work is published first, then [`Idle::notify`]. A sleeper announces first ([`Idle::announce`]), then looks for work
//!    once more, then sleeps. Each has a SeqCst fence between the two steps, so one of them sees the other.
//! 2. While someone searches nobody is woken: the searcher finds the work, or announces its sleep after the work was
//!    published, and then its last look finds it. For forks an awake waiter (*helping*) counts as well; when it stops, with a fork
//!    or with its own result, it announces the forks that it leaves. A count that nobody stands for must never be seen: going
//!    from active to searching, or not, is one step.
//! 3. A waker counts its wakee as searching (helping) before it claims a bed. So at most one wake-up is under way, however many
//!    pieces of work are published; the wakee, when it finds one and was the last searcher, wakes the next.
//! 4. A waker that takes its count back, or turns it into a helper's, looks again, because someone may have trusted the count
//!    (rule 2) while someone else lay down; what was trusted may have been a root, so it goes on as if it had published one.
//! 5. Fork work wakes nobody while as many threads are active as the pool has workers. A thread that stops being active
//!    looks for published work after it said so.
//!
//! Rejected: a lock around a list of sleepers (every fork would take it); a wake-up per piece of work (a futex call
//! costs microseconds, a fork nanoseconds); a timer that looks after unannounced work (an idle pool must use no CPU).

use crate::primitives::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use crate::processor;
#[cfg(filbert_loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(filbert_loom))]
use std::sync::{Condvar, Mutex};

const AWAKE: u32 = 0;
const ACTIVE: u64 = 1;
const SEARCHING: u64 = 1 << 16;
const HELPING: u64 = 1 << 32;
const FIELD: u64 = SEARCHING - 1;

const fn active(counts: u64) -> u64 {
    counts & FIELD
}

const fn searching(counts: u64) -> u64 {
    (counts / SEARCHING) & FIELD
}

const fn helping(counts: u64) -> u64 {
    counts / HELPING
}

/// How a worker sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Sleep {
    /// Has nothing to do and takes anything.
    Idle = 1,
    /// Waits for a fork's result and takes other forks meanwhile.
    Waiting = 2,
}

impl Sleep {
    /// What a thread that sleeps this way counts as when it is awake.
    const fn counts_as(self) -> u64 {
        match self {
            Sleep::Idle => SEARCHING,
            Sleep::Waiting => HELPING,
        }
    }
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
    counts: AtomicU64,
    asleep: AtomicUsize,
    limit: u64,
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
            counts: AtomicU64::new(0),
            asleep: AtomicUsize::new(0),
            limit: limit as u64,
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

    /// A thread that was not counted begins to search.
    pub fn enter_search(&self) {
        self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// An active thread begins to search, in one step: in between, a publisher would wake another one. False, and not counted
    /// any more, when `most` search already; then it looks for work once and sleeps.
    pub fn search(&self, most: usize) -> bool {
        // One step, also for "no": a count that is taken back at once would be trusted meanwhile, by a publisher (rule 2) and
        // by the last real searcher (rule 3).
        let room = |counts| searching(counts) < most as u64;
        let step = |counts| Some(if room(counts) { counts - ACTIVE + SEARCHING } else { counts - ACTIVE });
        let (Ok(before) | Err(before)) = self.counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
        room(before)
    }

    /// A searcher found work and is active now. True when it was the last searcher: if there is more work, it wakes
    /// someone (rule 3).
    pub fn found(&self) -> bool {
        let before = self.counts.fetch_add(ACTIVE.wrapping_sub(SEARCHING), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        searching(before) == 1
    }

    /// An active thread waits for a fork's result, and takes forks meanwhile.
    pub fn help(&self) {
        self.counts.fetch_add(HELPING.wrapping_sub(ACTIVE), Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// A helper is active again. Forks that nobody was woken for because of it (rule 2) are its to announce.
    pub fn stop_helping(&self) {
        self.counts.fetch_add(ACTIVE.wrapping_sub(HELPING), Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// How many threads are active.
    pub fn active(&self) -> usize {
        active(self.counts.load(Ordering::SeqCst)) as usize
    }

    /// True when fewer threads are active than the pool has workers: a hint, one plain load.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        active(self.counts.load(Ordering::Relaxed)) < self.limit
    }

    /// `me` is about to sleep; `counted` says that it counts as searching (to sleep idle) or helping (to sleep waiting), which
    /// it then does no more. It must look for work once more before [`Idle::sleep`].
    pub fn announce(&self, me: usize, how: Sleep, counted: bool) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let bed = &self.beds[me];
        if let Some(number) = processor::current() {
            bed.slept_on.store(number + 1, Ordering::Relaxed);
        }
        bed.state.store(how as u32, Ordering::SeqCst);
        if counted {
            self.counts.fetch_sub(how.counts_as(), Ordering::SeqCst);
        }
        // Partner: the fence in `notify` (rule 1).
        fence(Ordering::SeqCst);
    }

    /// `me` found work in its last look, or was rung for: it gets up, and counts as searching, or helping, from now on.
    pub fn get_up(&self, me: usize, how: Sleep) {
        let bed = &self.beds[me];
        // A waker that claimed the bed has counted its sleeper already.
        if bed.state.compare_exchange(how as u32, AWAKE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.counts.fetch_add(how.counts_as(), Ordering::SeqCst);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
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
    fn wake_one(&self, mut news: News) -> bool {
        let mut woken = false;
        loop {
            let counts = self.counts.load(Ordering::SeqCst);
            let enough = news == News::Fork && (helping(counts) != 0 || active(counts) >= self.limit);
            if searching(counts) != 0 || enough {
                return woken;
            }
            let counted = counts + SEARCHING;
            if self.counts.compare_exchange(counts, counted, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                continue;
            }
            if self.wake(Sleep::Idle, news) {
                return true;
            }
            if news == News::Fork {
                self.counts.fetch_add(HELPING.wrapping_sub(SEARCHING), Ordering::SeqCst);
                woken = self.wake(Sleep::Waiting, news);
                if !woken {
                    self.counts.fetch_sub(HELPING, Ordering::SeqCst);
                }
            } else {
                self.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
            }
            // Rule 4: the fence pairs with the one of a sleeper that lay down while our count was up.
            fence(Ordering::SeqCst);
            let sleeps =
                |how: Sleep| self.beds.iter().any(|bed| bed.state.load(Ordering::SeqCst) == how as u32);
            if sleeps(Sleep::Idle) {
                // Whoever trusted our count may have published a root: from here on we stand for that one too.
                news = News::Root;
            } else if woken || news == News::Root || !sleeps(Sleep::Waiting) {
                return woken;
            }
        }
    }

    fn wake(&self, how: Sleep, news: News) -> bool {
        let here = match news {
            // Who publishes a fork goes on working where it is.
            News::Fork => processor::current().map_or(0, |number| number + 1),
            News::Root => 0,
        };
        let bed = self.claim(how, here);
        if let Some(bed) = bed {
            self.ring(bed);
        }
        bed.is_some()
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
