//! What a user writes: a state machine that does a little work each time it is called.

use super::turn::TurnContext;

/// What a tasklet says at the end of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do; let others have a turn first.
    Again,
    /// Nothing to do until someone wakes the task.
    Idle,
    /// The task is complete; its state is dropped.
    Done,
}

/// A state machine that a pool gives turns, one worker at a time.
///
/// A turn should end within [`TURN_BUDGET`](super::TURN_BUDGET); one that loops asks [`TurnContext::should_yield`]. It must not
/// block. Before it says [`Turn::Idle`] it must have handed its waker to whoever will have something for it; a wake-up that comes
/// while it still runs is kept. A panic ends the task with [`TaskError::Panicked`](crate::TaskError::Panicked) and nothing else.
///
/// Closures are tasklets too:
/// ```
/// use filbert_pool::{Tasklet, Turn, TurnContext};
/// let mut left = 3;
/// let count_down = move |_: &mut TurnContext<'_>| {
///     left -= 1;
///     if left == 0 { Turn::Done } else { Turn::Again }
/// };
/// fn spawn(_: impl Tasklet) {}
/// spawn(count_down);
/// ```
pub trait Tasklet: Send + 'static {
    /// Does a little work.
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn;
}

impl<F> Tasklet for F
where
    F: FnMut(&mut TurnContext<'_>) -> Turn + Send + 'static,
{
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        self(cx)
    }
}
