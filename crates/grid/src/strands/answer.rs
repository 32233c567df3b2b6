//! Whom the result of an operation goes to when it comes later.

use crate::error::GridResult;
use filbert_pool::Promise;
use std::sync::Arc;
use std::time::Duration;

/// Tells the place where operations are parked that some of their answers were cancelled: those are forgotten soon, with all they hold.
/// Without it they are forgotten when something happens there, or when many are parked. Cheap to call often.
pub type Leaving = Arc<dyn Fn() + Send + Sync>;

/// Takes the result of an operation, once, on the thread where it arises: a partition thread, or a `generic` one. Giving must be
/// short and must not block. Dropped without a result, the operation was lost: the member ends, or its code panicked.
pub trait Answer<T>: Send + 'static {
    /// Here is the result.
    fn give(self, result: GridResult<T>);

    /// True when it wants to know how long its operation waits for turns.
    const IS_TIMED: bool = false;

    /// The operation waits for a turn from `now` on.
    fn queued(&mut self, _now: Duration) {}

    /// The operation has its turn.
    fn begins(&mut self, _now: Duration) {}

    /// The operation is about to be parked: the result may take any time from now on. False refuses that; the operation is then
    /// forgotten, and whoever wants its result was told why. Who cancels later had best say so by `leaving`.
    fn parks(&mut self, _leaving: &Leaving) -> bool {
        true
    }

    /// True when nobody wants the result any more; an operation that is parked is then forgotten.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl<T: Send + 'static> Answer<T> for Promise<GridResult<T>> {
    fn give(self, result: GridResult<T>) {
        self.keep(result);
    }

    fn is_cancelled(&self) -> bool {
        Promise::is_cancelled(self)
    }
}

/// Wants no result.
pub(super) struct Nobody;

impl<T> Answer<T> for Nobody {
    fn give(self, _: GridResult<T>) {}
}
