//! Who works, who searches, who sleeps: wakes a worker when there is something for it, and only then.
//!
//! A worker is *active* (runs a task), *searching* (looks for one, awake) or asleep in its *bed*, either *idle* (takes any
//! work) or *waiting* (for the result of a fork; takes forks only). `docs/design/004-park-and-unpark.md` is the long
//! form of this page.
//!
//! | Field | Written by | Meaning |
//! |---|---|---|
//! | `counts` | anyone, read-modify-write | active, searching, helping and waiting threads, in one word; zero: nobody has work in hand |
//! | `asleep` | the sleeper: before it lies down, after it got up | never too low; zero means that no bed need be looked at |
//! | `Bed::state` | the sleeper (to asleep), whoever claims it (to `AWAKE`) | the claim decides who wakes whom |
//! | `Bed::slept_on`, `thread`, `processors` | the sleeper | hints only: where to wake whom, see [`processor`] |
//! | `Bed::lies` | the sleeper | true from `announce` to `get_up` |
//! | `Bed::kept_off` | whoever claimed the bed sets it; whoever clears it gives the processors back | see rule 6 |
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
//! 6. A claimer takes its processor out of the sleeper's set, then says so (`kept_off`), then looks whether the sleeper still lies. A
//!    sleeper that gets up says so, then looks at `kept_off`. Each has a SeqCst fence in between: one of them at least sees
//!    the other, and the one that clears `kept_off` gives the processors back, whichever reason the sleeper got up for.
//!
//! Rejected: a lock around a list of sleepers (every fork would take it); a wake-up per piece of work (a futex call
//! costs microseconds, a fork nanoseconds); a timer that looks after unannounced work (an idle pool must use no CPU).

use crate::primitives::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use crate::processor::{self, Affinity};
#[cfg(filbert_loom)]
use loom::sync::{Condvar, Mutex};
use std::sync::OnceLock;
#[cfg(not(filbert_loom))]
use std::sync::{Condvar, Mutex};

const AWAKE: u32 = 0;
const ACTIVE: u64 = 1;
const SEARCHING: u64 = 1 << 16;
const HELPING: u64 = 1 << 32;
const WAITING: u64 = 1 << 48;
const FIELD: u64 = SEARCHING - 1;

const fn active(counts: u64) -> u64 {
    counts & FIELD
}

const fn searching(counts: u64) -> u64 {
    (counts / SEARCHING) & FIELD
}

const fn helping(counts: u64) -> u64 {
    (counts / HELPING) & FIELD
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

    /// What it counts as while it sleeps: a waiter is in the middle of a task.
    const fn sleeps_as(self) -> u64 {
        match self {
            Sleep::Idle => 0,
            Sleep::Waiting => WAITING,
        }
    }
}

/// What a thread that finds nothing to do counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Was {
    /// Still active: enough others search, so it looks once and lies down.
    Active,
    /// Searching; for one that waits for a fork, helping.
    Looking,
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
    processors: OnceLock<Affinity>,
    lies: AtomicBool,
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
            processors: OnceLock::new(),
            lies: AtomicBool::new(false),
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
        let bed = &self.beds[bed];
        bed.processors.get_or_init(Affinity::of_this_thread);
        // Release: whoever sees the number sees the processors too.
        bed.thread.store(processor::thread_number(), Ordering::Release);
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

    /// An active thread begins to search, in one step: in between, a publisher would wake another one. When `most` search
    /// already it stays active, looks for work once, and sleeps.
    pub fn search(&self, most: usize) -> Was {
        // Never counted and taken back at once: that would be trusted meanwhile, by a publisher (rule 2) and by the last real
        // searcher (rule 3). And never uncounted: it may have work in hand the next moment, see `is_quiet`.
        let step =
            |counts| (searching(counts) < most as u64).then(|| counts.wrapping_sub(ACTIVE) + SEARCHING);
        match self.counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) {
            Ok(_) => Was::Looking,
            Err(_) => Was::Active,
        }
    }

    /// A worker ends: it counts as nothing any more.
    pub fn leave(&self, was: Was) {
        self.counts.fetch_sub(was.counts_as(Sleep::Idle), Ordering::SeqCst);
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

    /// True when nobody has work in hand: a thread counts as something from before it takes work out of a queue until that work is
    /// done, and one that is counted may have some. One load of one word, so nothing moves on in between.
    pub fn is_quiet(&self) -> bool {
        self.counts.load(Ordering::SeqCst) == 0
    }

    /// True when fewer threads are active than the pool has workers: a hint, one plain load.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        active(self.counts.load(Ordering::Relaxed)) < self.limit
    }

    /// `me` is about to sleep; `was` says what it counts as, which it then does no more. It must look for work once more before
    /// [`Idle::sleep`].
    pub fn announce(&self, me: usize, how: Sleep, was: Was) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let bed = &self.beds[me];
        if let Some(number) = processor::current() {
            bed.slept_on.store(number + 1, Ordering::Relaxed);
            bed.lies.store(true, Ordering::Relaxed);
        }
        bed.state.store(how as u32, Ordering::SeqCst);
        self.counts.fetch_add(how.sleeps_as().wrapping_sub(was.counts_as(how)), Ordering::SeqCst);
        // Partner: the fence in `notify` (rule 1).
        fence(Ordering::SeqCst);
    }

    /// `me` found work in its last look, or was rung for: it gets up, and counts as searching, or helping, from now on.
    pub fn get_up(&self, me: usize, how: Sleep) {
        let bed = &self.beds[me];
        // A waker that claimed the bed has counted its sleeper already.
        if bed.state.compare_exchange(how as u32, AWAKE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.counts.fetch_add(how.counts_as().wrapping_sub(how.sleeps_as()), Ordering::SeqCst);
        } else if how == Sleep::Waiting {
            self.counts.fetch_sub(how.sleeps_as(), Ordering::SeqCst);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        if bed.thread.load(Ordering::Relaxed) != 0 {
            bed.lies.store(false, Ordering::Relaxed);
            // Rule 6; partner: the fence in `keep_off`.
            fence(Ordering::SeqCst);
            bed.give_processors_back();
        }
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
        if here != 0 {
            // Even a sleeper that lay down elsewhere may be put here, next to a waker that goes on working.
            self.beds[bed].keep_off(here - 1);
        }
        Some(bed)
    }
}

impl Bed {
    /// Takes a processor from the sleeper, for whom it is claimed, until it gets up.
    fn keep_off(&self, processor: u32) {
        let thread = self.thread.load(Ordering::Acquire);
        if thread == 0 {
            return;
        }
        processor::keep_off(thread, processor);
        self.kept_off.store(true, Ordering::Relaxed);
        // Rule 6; partner: the fence in `get_up`. The sleeper may be up already, rung by someone else.
        fence(Ordering::SeqCst);
        if !self.lies.load(Ordering::Relaxed) {
            self.give_processors_back();
        }
    }

    /// The sleeper's processors are all its own again.
    fn give_processors_back(&self) {
        if self.kept_off.load(Ordering::Relaxed)
            && self.kept_off.swap(false, Ordering::AcqRel)
            && let Some(all) = self.processors.get()
        {
            all.restore(self.thread.load(Ordering::Relaxed));
        }
    }
}

impl Was {
    const fn counts_as(self, how: Sleep) -> u64 {
        match self {
            Was::Active => ACTIVE,
            Was::Looking => how.counts_as(),
        }
    }
}

#[cfg(all(test, not(filbert_loom), target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// One bed with this thread in it, and how many processors it has.
    fn in_bed() -> (Idle, usize) {
        let idle = Idle::new(1, 2);
        idle.move_in(0);
        idle.enter_search();
        idle.announce(0, Sleep::Idle, Was::Looking);
        (idle, allowed())
    }

    #[test]
    fn a_sleeper_that_finds_work_before_it_sleeps_keeps_its_processors() {
        let (idle, before) = in_bed();
        assert!(idle.notify(News::Fork), "the bed is claimed");
        idle.get_up(0, Sleep::Idle);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_sleeper_that_is_up_before_its_claimer_is_ready_keeps_its_processors() {
        let (idle, before) = in_bed();
        let here = processor::current().expect("Linux knows");
        assert_eq!(idle.claim(Sleep::Idle, 0), Some(0));
        idle.ring(0);
        idle.sleep(0);
        idle.get_up(0, Sleep::Idle);
        // The claimer was slow: it comes with its own processor only now.
        idle.beds[0].keep_off(here);
        assert_eq!(allowed(), before);
        assert!(!idle.beds[0].kept_off.load(Ordering::Relaxed));
    }

    #[test]
    fn a_sleeping_waiter_has_work_in_hand() {
        let idle = Idle::new(1, 2);
        assert!(idle.is_quiet());
        idle.enter_active();
        idle.help();
        idle.announce(0, Sleep::Waiting, Was::Looking);
        assert!(!idle.is_quiet(), "it is in the middle of a task");
        idle.notify(News::Fork);
        idle.get_up(0, Sleep::Waiting);
        idle.stop_helping();
        idle.leave(Was::Active);
        assert!(idle.is_quiet());
    }

    #[test]
    fn a_worker_that_looks_once_may_have_work_in_hand() {
        let idle = Idle::new(2, 2);
        idle.enter_search();
        idle.enter_active();
        assert_eq!(idle.search(1), Was::Active);
        idle.leave(Was::Looking);
        assert!(!idle.is_quiet(), "the other one still looks");
        idle.announce(0, Sleep::Idle, Was::Active);
        assert!(idle.is_quiet());
    }
}
