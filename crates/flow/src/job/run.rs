//! A tasklet as a polled task on the stage `flow`, and on a thread of its own.
//!
//! Under simulation a processor that blocks is a polled task like the others: a call that blocks there holds up the simulation
//! wherever it is made.

use super::core::Live;
use super::error::{JobFailure, StateTooLarge};
use crate::tasklet::{Conduct, TurnView};
use filbert_pool::{Stages, StopSignal, SubmitError, Tasklet, Turn, TurnContext, caught};
use filbert_sync::Parker;
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// A processor of a job. The fields are dropped in their order: the job must not be over before the processor is gone.
pub(super) struct Running {
    conduct: Option<Box<dyn Conduct>>,
    vertex: Arc<str>,
    index: usize,
    has_begun: bool,
    live: Live,
}

impl Running {
    pub(super) fn new(conduct: Box<dyn Conduct>, vertex: Arc<str>, index: usize, live: Live) -> Self {
        Self { conduct: Some(conduct), vertex, index, has_begun: false, live }
    }

    /// Its vertex and index.
    pub(super) fn place(&self) -> (String, usize) {
        (self.vertex.to_string(), self.index)
    }

    /// One turn; a failure or panic fails the job.
    fn turn(&mut self, view: &dyn TurnView) -> Turn {
        let Some(conduct) = &mut self.conduct else { return Turn::Done };
        self.has_begun = true;
        let (message, panicked) = match caught(|| conduct.turn(view)) {
            Ok(Ok(Turn::Done)) => match caught(|| self.conduct = None) {
                Ok(()) => {
                    self.live.done();
                    return Turn::Done;
                }
                Err(message) => (message, true),
            },
            Ok(Ok(turn)) => return turn,
            Ok(Err(failure)) => match failure.downcast_ref::<StateTooLarge>() {
                Some(failure) => {
                    self.live.core().fail_for_state(failure);
                    return Turn::Done;
                }
                None => (failure.to_string(), false),
            },
            Err(message) => (message, true),
        };
        self.fail(message, panicked);
        Turn::Done
    }

    fn fail(&self, message: String, panicked: bool) {
        let (vertex, index) = self.place();
        self.live.core().fail(JobFailure { vertex, index, message, panicked });
    }

    /// Runs it on the stages.
    pub(super) fn spawn(self, stages: &Stages, is_cooperative: bool) -> Result<(), SubmitError> {
        let core = Arc::clone(self.live.core());
        if is_cooperative || stages.simulation().is_some() {
            stages.flow().spawn_tasklet_in(core.group(), "tasklet", self)?.detach();
            return Ok(());
        }
        // Kept here when there is no thread for it: the failure must be noted before it is dropped.
        let place = Arc::new(Mutex::new(Some(self)));
        let taken = Arc::clone(&place);
        let take =
            |place: &Mutex<Option<Self>>| place.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        let submitted = stages.dedicated().submit("processor", move |stop| {
            if let Some(running) = take(&taken) {
                running.run_on_thread(stop);
            }
        });
        match submitted {
            Ok(future) => future.detach(),
            Err(refused) => {
                if let Some(running) = take(&place) {
                    running.fail(refused.to_string(), false);
                }
                return Err(refused);
            }
        }
        Ok(())
    }

    fn run_on_thread(mut self, stop: &StopSignal) {
        let parker = Arc::new(Parker::new());
        let view = ThreadView(Waker::from(Arc::clone(&parker)));
        self.live.core().add_thread(view.waker());
        let _woken = stop.wakes(view.waker());
        while !stop.is_set() && !self.live.core().is_ending() {
            match self.turn(&view) {
                Turn::Again => {}
                Turn::Idle => parker.park(),
                // Whatever the signal says: it did what it had to do.
                Turn::Done => return,
            }
        }
        if stop.is_set() {
            self.live.core().cancel();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A polled task that nobody can wake any more is freed: its processor would have waited for ever.
        if self.conduct.is_some() && self.has_begun && !self.live.core().group().is_cancelled() {
            self.fail("it said Wait, and nobody holds its waker: it would wait for ever".to_owned(), false);
        }
    }
}

impl Tasklet for Running {
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        Running::turn(self, &PolledView(cx))
    }
}

/// The turn of a polled task.
struct PolledView<'a, 'b>(&'a TurnContext<'b>);

impl TurnView for PolledView<'_, '_> {
    fn should_yield(&self) -> bool {
        self.0.should_yield()
    }

    fn pass_on(&self) {
        self.0.pass_on();
    }

    fn waker(&self) -> Waker {
        Waker::from(self.0.waker().clone())
    }

    fn weak_waker(&self) -> Waker {
        self.0.waker().weak()
    }
}

/// On a thread of its own: every call ends the turn, so that a cancelled job is noticed between two calls.
struct ThreadView(Waker);

impl TurnView for ThreadView {
    fn should_yield(&self) -> bool {
        true
    }

    // Its wake-ups come from no worker's turn: none is kept.
    fn pass_on(&self) {}

    fn waker(&self) -> Waker {
        self.0.clone()
    }

    fn weak_waker(&self) -> Waker {
        self.0.clone()
    }
}
