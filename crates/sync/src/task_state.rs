//! The states of a polled task: one worker runs it at a time, it is queued at most once, and a wake-up during a run is
//! never lost. The argument is on the page `docs/design/002-polled-task.md`.
//!
//! | Name | Bits | Meaning | Who leaves it |
//! |---|---|---|---|
//! | idle | none | waits for a wake-up; nobody owns it | [`TaskState::wake`], [`TaskState::cancel`] (to queued) |
//! | queued | `WOKEN` | in one queue, once | the worker that took it out: [`TaskState::begin`] |
//! | running | `RUNNING` | one worker gives it a turn | that worker: `end_idle`, `end_again`, `finish` |
//! | running, woken | `RUNNING`, `WOKEN` | the same, and it must be queued again | that worker |
//! | done | `DONE`, others ignored | never runs again | nobody |
//!
//! `CANCEL` may come on top of each state and stays.
//!
//! Rules:
//! 1. Whoever is told `true` by `wake`, `cancel` or `end_idle`, and whoever called `end_again`, must enqueue the task; no one else
//!    may. Hence it is in at most one queue.
//! 2. Only the holder of the queue entry calls `begin`; only that thread calls one of `end_idle`, `end_again`, `finish` after it.
//! 3. Between `begin` and that call the thread is alone with the task's body; the end (Release) hands the body over to
//!    the next `begin` (Acquire).
//! 4. Every wake-up is a read-modify-write, also when it changes nothing: it stays in the chain that `begin` reads, so the
//!    turn that follows sees what the waker wrote before.
//!
//! Rejected: separate words for "queued" and "running". Then "nothing to do, no one woke me" needs a second look after
//! the first word is cleared, and a fence between the two.

use crate::primitives::{AtomicU32, Ordering};

const RUNNING: u32 = 1;
const WOKEN: u32 = 2;
const DONE: u32 = 4;
const CANCEL: u32 = 8;

/// Whether a task that was taken out of a queue has a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a cancelled task must be finished instead of run"]
pub enum Begin {
    /// Give it a turn.
    Run,
    /// It was cancelled: drop its body and call [`TaskState::finish`].
    Cancelled,
}

/// Where a polled task stands.
#[derive(Debug)]
pub struct TaskState {
    word: AtomicU32,
}

impl TaskState {
    /// A task that waits for its first wake-up.
    pub fn new_idle() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// A task that its maker enqueues.
    pub fn new_queued() -> Self {
        Self { word: AtomicU32::new(WOKEN) }
    }

    /// There is something for the task to do. True: the caller must enqueue it (rule 1).
    #[inline]
    #[must_use = "a task that must be queued and is not never runs again"]
    pub fn wake(&self) -> bool {
        self.set(WOKEN)
    }

    /// The task's next turn is its last: its body is dropped. True: the caller must enqueue it (rule 1).
    #[must_use = "a task that must be queued and is not never runs again"]
    pub fn cancel(&self) -> bool {
        self.set(WOKEN | CANCEL)
    }

    #[inline]
    fn set(&self, bits: u32) -> bool {
        // Release publishes to `begin` (rule 4); Acquire lets a caller that enqueues see the end of the last turn.
        self.word.fetch_or(bits, Ordering::AcqRel) & (RUNNING | WOKEN | DONE) == 0
    }

    /// The holder of the queue entry begins a turn.
    #[inline]
    pub fn begin(&self) -> Begin {
        // Queued has WOKEN and not RUNNING, and only this call changes either of them now (rule 2): flipping both is exact.
        // Acquire: partners are every `set` and the end of the last turn.
        let before = self.word.fetch_xor(RUNNING | WOKEN, Ordering::AcqRel);
        debug_assert_eq!(before & (RUNNING | WOKEN | DONE), WOKEN, "begun without a queue entry");
        if before & CANCEL == 0 { Begin::Run } else { Begin::Cancelled }
    }

    /// The turn ends and there is nothing more to do. True: a wake-up came meanwhile, the caller must enqueue it.
    #[inline]
    #[must_use = "a task that must be queued and is not never runs again"]
    pub fn end_idle(&self) -> bool {
        // One step reads WOKEN and gives RUNNING up: no wake-up fits in between. Release: partner `begin` (rule 3).
        let before = self.word.fetch_and(!RUNNING, Ordering::AcqRel);
        debug_assert_ne!(before & RUNNING, 0, "ended without a turn");
        before & WOKEN != 0
    }

    /// The turn ends and there is more to do: the caller must enqueue the task.
    #[inline]
    pub fn end_again(&self) {
        // While RUNNING is set a wake-up only sets WOKEN too, so the two steps are one to everybody else.
        self.word.fetch_or(WOKEN, Ordering::Relaxed);
        // Release: partner `begin` (rule 3).
        let before = self.word.fetch_and(!RUNNING, Ordering::AcqRel);
        debug_assert_ne!(before & RUNNING, 0, "ended without a turn");
    }

    /// The turn ends and was the last one.
    pub fn finish(&self) {
        let before = self.word.fetch_or(DONE, Ordering::AcqRel);
        debug_assert_ne!(before & RUNNING, 0, "finished without a turn");
    }

    /// True after [`TaskState::cancel`].
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.word.load(Ordering::Acquire) & CANCEL != 0
    }

    /// True after [`TaskState::finish`].
    #[inline]
    pub fn is_done(&self) -> bool {
        self.word.load(Ordering::Acquire) & DONE != 0
    }

    /// True while the task is in a queue, or about to be.
    pub fn is_queued(&self) -> bool {
        self.word.load(Ordering::Acquire) & (RUNNING | WOKEN | DONE) == WOKEN
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wake_up_during_a_run_queues_the_task_again() {
        let state = TaskState::new_idle();
        assert!(state.wake());
        assert!(!state.wake(), "it is queued already");
        assert_eq!(state.begin(), Begin::Run);
        assert!(!state.wake(), "the worker will queue it");
        assert!(state.end_idle());
        assert!(state.is_queued());
        assert_eq!(state.begin(), Begin::Run);
        assert!(!state.end_idle());
        assert!(!state.is_queued());
    }

    #[test]
    fn a_done_task_is_never_queued() {
        let state = TaskState::new_queued();
        assert_eq!(state.begin(), Begin::Run);
        state.finish();
        assert!(state.is_done());
        assert!(!state.wake());
        assert!(!state.cancel());
        assert!(!state.is_queued());
    }

    #[test]
    fn a_cancel_reaches_the_next_turn_from_every_state() {
        let idle = TaskState::new_idle();
        assert!(idle.cancel());
        assert_eq!(idle.begin(), Begin::Cancelled);

        let queued = TaskState::new_queued();
        assert!(!queued.cancel());
        assert_eq!(queued.begin(), Begin::Cancelled);

        let running = TaskState::new_queued();
        assert_eq!(running.begin(), Begin::Run);
        assert!(!running.cancel());
        assert!(running.is_cancelled());
        assert!(running.end_idle());
        assert_eq!(running.begin(), Begin::Cancelled);
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Named {
        Idle,
        Queued,
        Running,
        RunningWoken,
        Done,
    }

    proptest! {
        /// The bits against the five named states, one call after the other.
        #[test]
        fn the_bits_follow_the_named_states(calls in proptest::collection::vec(0_u8..6, 0..60)) {
            use Named::*;
            let state = TaskState::new_idle();
            let (mut named, mut cancelled) = (Idle, false);
            for call in calls {
                match call {
                    0 | 1 => {
                        cancelled |= call == 1;
                        let enqueue = if call == 0 { state.wake() } else { state.cancel() };
                        prop_assert_eq!(enqueue, named == Idle);
                        named = match named {
                            Idle => Queued,
                            Running => RunningWoken,
                            other => other,
                        };
                    }
                    2 if named == Queued => {
                        prop_assert_eq!(state.begin() == Begin::Cancelled, cancelled);
                        named = Running;
                    }
                    3 if matches!(named, Running | RunningWoken) => {
                        prop_assert_eq!(state.end_idle(), named == RunningWoken);
                        named = if named == Running { Idle } else { Queued };
                    }
                    4 if matches!(named, Running | RunningWoken) => {
                        state.end_again();
                        named = Queued;
                    }
                    5 if matches!(named, Running | RunningWoken) => {
                        state.finish();
                        named = Done;
                    }
                    _ => {}
                }
                prop_assert_eq!(state.is_queued(), named == Queued);
                prop_assert_eq!(state.is_done(), named == Done);
                prop_assert_eq!(state.is_cancelled(), cancelled);
            }
        }
    }
}
