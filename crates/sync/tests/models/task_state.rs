//! The polled task: queued once, run by one thread at a time, no wake-up lost, cancelled once.
//!
//! Whoever must enqueue the task runs it right away on its own thread: the shortest queue there is, and the one in
//! which turns of different threads come closest to each other. The body is a loom cell, so two turns at a time, or a
//! turn that does not see the one before, fail the model.

use filbert_sync::task_state::{Begin, TaskState};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

struct Task {
    state: TaskState,
    /// Tokens that wakers have sent.
    sent: AtomicUsize,
    /// Tokens that the body has seen, and whether it is still there.
    body: UnsafeCell<(usize, bool)>,
    /// Ends after this many tokens.
    done_at: usize,
}

impl Task {
    fn new(state: TaskState, done_at: usize) -> Arc<Self> {
        Arc::new(Self { state, sent: AtomicUsize::new(0), body: UnsafeCell::new((0, true)), done_at })
    }

    /// Turns until the task is idle or done; called by whoever must enqueue it.
    fn run(&self) {
        loop {
            let begin = self.state.begin();
            let taken = self.body.with_mut(|body| {
                // SAFETY: between `begin` and the end of the turn this thread is alone (rule 3); loom checks it.
                let body = unsafe { &mut *body };
                assert!(body.1, "a turn without a body");
                match begin {
                    Begin::Cancelled => body.1 = false,
                    // A relaxed load (a read-modify-write would always see the latest): the wake-up alone must publish.
                    Begin::Run => body.0 = self.sent.load(Ordering::Relaxed),
                }
                body.0
            });
            if begin == Begin::Cancelled || taken >= self.done_at {
                self.state.finish();
                return;
            }
            if !self.state.end_idle() {
                return;
            }
        }
    }

    fn send(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        if self.state.wake() {
            self.run();
        }
    }

    fn taken(&self) -> usize {
        // SAFETY: called when all threads are joined.
        self.body.with(|body| unsafe { (*body).0 })
    }
}

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(body);
}

#[test]
fn a_wake_up_against_the_end_of_a_run_is_not_lost() {
    model(|| {
        let task = Task::new(TaskState::new_queued(), usize::MAX);
        let waker = Arc::clone(&task);
        let thread = thread::spawn(move || {
            waker.send();
            waker.send();
        });
        task.run();
        thread.join().unwrap();
        assert_eq!(task.taken(), 2, "a token was left behind");
    });
}

#[test]
fn two_wakers_queue_an_idle_task_once() {
    model(|| {
        let task = Task::new(TaskState::new_idle(), usize::MAX);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.send())
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(task.taken(), 2);
    });
}

#[test]
fn two_wakers_and_a_task_that_has_more_to_do() {
    model(|| {
        let task = Task::new(TaskState::new_queued(), usize::MAX);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.send())
            })
            .collect();
        assert_eq!(task.state.begin(), Begin::Run);
        // SAFETY: in a turn, as in `run`.
        task.body.with_mut(|body| unsafe { (*body).0 = 0 });
        task.state.end_again();
        task.run();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(task.taken(), 2);
    });
}

#[test]
fn a_wake_up_against_done_leaves_it_done() {
    model(|| {
        let task = Task::new(TaskState::new_idle(), 1);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.send())
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(task.state.is_done());
        assert!(!task.state.wake());
        assert!(task.taken() >= 1);
    });
}

#[test]
fn a_cancel_against_a_run_and_a_wake_up_drops_the_body_once() {
    model(|| {
        let task = Task::new(TaskState::new_queued(), usize::MAX);
        let waker = Arc::clone(&task);
        let wakes = thread::spawn(move || waker.send());
        let canceller = Arc::clone(&task);
        let cancels = thread::spawn(move || {
            if canceller.state.cancel() {
                canceller.run();
            }
        });
        task.run();
        wakes.join().unwrap();
        cancels.join().unwrap();
        assert!(task.state.is_done(), "a cancelled task was left idle");
        // SAFETY: all threads are joined.
        assert!(!task.body.with(|body| unsafe { (*body).1 }), "its body is still there");
    });
}
