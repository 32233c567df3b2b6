//! The reins by which what a connection does is stopped from elsewhere.
//!
//! One thread works, on a stage where it may wait; another, wherever a stream is closed, pulls. Who is told to stop between two statements may
//! forget it: it is told again until it has stopped, and cut off in the end. While there is nobody to be told it is cut off at once.

use super::waiting::Waiting;
use crate::error::CubeError;
use filbert_pool::WeakStages;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How long the other side has to stop before it is told again.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is told before it is cut off.
const MOST_TIMES: usize = 30;

/// The other side of a connection: who computes.
pub(super) trait Puller: Send + Sync + Sized + 'static {
    /// How it is stopped where nothing can be submitted.
    const STOPPING: Waiting;

    /// True when there is somebody to be told.
    fn can_hear(&self) -> bool;

    /// Tells it once to stop; false when that is of no use. May wait.
    fn tell(&self) -> bool;

    /// Whatever waits for it fails, if that can be had.
    fn cut(&self);
}

/// Stops what a connection does.
pub(super) struct Reins<P> {
    pub(super) puller: P,
    state: Mutex<State>,
    /// The other side does not compute any more.
    idle: Condvar,
    pub(super) stages: WeakStages,
}

#[derive(Default)]
struct State {
    /// The other side computes.
    is_busy: bool,
    /// Nobody wants the answer any more.
    is_over: bool,
}

/// The other side does not compute any more when this goes.
struct IdleOnDrop<'a, P: Puller>(&'a Reins<P>);

impl<P: Puller> Drop for IdleOnDrop<'_, P> {
    fn drop(&mut self) {
        self.0.state().is_busy = false;
        self.0.idle.notify_all();
    }
}

impl<P: Puller> Reins<P> {
    pub(super) fn of(puller: P, stages: WeakStages) -> Arc<Self> {
        Arc::new(Self { puller, state: Mutex::default(), idle: Condvar::new(), stages })
    }

    /// Lets the other side compute, unless nobody wants it.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, CubeError> {
        {
            let mut state = self.state();
            if state.is_over {
                return Err(CubeError::Cancelled);
            }
            state.is_busy = true;
        }
        // Also when it panics: nobody is then told to stop what does not run.
        let _idle = IdleOnDrop(self);
        Ok(work())
    }

    /// Tells the other side to stop, if it computes. Does not wait where that can be helped.
    pub(super) fn pull(self: &Arc<Self>) {
        {
            let mut state = self.state();
            state.is_over = true;
            if !state.is_busy {
                return;
            }
        }
        if !self.puller.can_hear() {
            return self.puller.cut();
        }
        let (reins, again) = (Arc::clone(self), Arc::clone(self));
        let submitted = self
            .stages
            .upgrade()
            .and_then(|stages| stages.mixed().submit(P::STOPPING.task, move || reins.stop()).ok());
        match submitted {
            Some(submitted) => submitted.detach(),
            None => P::STOPPING.in_place(again, &self.stages, |reins| reins.stop()),
        }
    }

    /// Ends the connection in the middle of an answer that is of no use. Called while the other side computes; waits.
    #[cfg(feature = "postgres")]
    pub(super) fn give_up(&self) {
        self.state().is_over = true;
        if self.puller.can_hear() {
            self.puller.tell();
        }
        self.puller.cut();
    }

    /// Tells the other side until it has stopped.
    fn stop(&self) {
        for _ in 0..MOST_TIMES {
            if !self.puller.tell() {
                break;
            }
            let waited = self.idle.wait_timeout_while(self.state(), PAUSE, |state| state.is_busy);
            let (state, _) = waited.unwrap_or_else(|broken| broken.into_inner());
            if !state.is_busy {
                return;
            }
        }
        self.puller.cut();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Pulls the reins when it is dropped.
pub(super) struct PullOnDrop<P: Puller>(pub(super) Arc<Reins<P>>);

impl<P: Puller> Drop for PullOnDrop<P> {
    fn drop(&mut self) {
        self.0.pull();
    }
}
