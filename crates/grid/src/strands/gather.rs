//! One operation on many partitions, and one result.

use super::{Answer, Invoked, Strands};
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::operation::{Operation, Target};
use filbert_pool::{Promise, StageId, StageKind, TaskError};
use filbert_wire::PartitionId;
use std::sync::{Arc, Mutex, MutexGuard};

/// Where the parts of an operation on many partitions run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One after the other on the calling thread, where their strands are idle: for little work.
    Here,
    /// Beside each other on the threads of their partitions.
    Beside,
}

impl<T: Target> Strands<T> {
    /// Runs an operation on each of several partitions and combines the results, in the order of `operations`. Done when all are;
    /// the first error wins. No thread waits.
    pub fn call_all<O, R>(
        &self,
        spread: Spread,
        operations: impl IntoIterator<Item = (PartitionId, O)>,
        combine: impl FnOnce(Vec<O::Output>) -> R + Send + 'static,
    ) -> Invocation<R>
    where
        O: Operation<Target = T>,
        R: Send + 'static,
    {
        let gather = Arc::new(Gather { state: Mutex::new(State::default()), task: O::NAME });
        let may_run_here = spread == Spread::Here && self.may_run_here::<O>();
        let mut count = 0;
        for (place, (partition, operation)) in operations.into_iter().enumerate() {
            count += 1;
            gather.lock().parts.push(None);
            let answer = || Part { gather: Some(Arc::clone(&gather)), place };
            match self.invoke_where(partition, operation, answer, may_run_here) {
                Invoked::Here(result) => gather.give(place, result),
                Invoked::Later => {}
                // The answer was made and dropped: it said so itself, but less exactly.
                Invoked::Refused(refused) => gather.lock().error = Some(GridError::Refused(refused)),
            }
        }
        let mut state = gather.lock();
        if state.given == count {
            return Invocation::ready(state.result().map(combine));
        }
        let (promise, later) = self.stages().promise(StageKind::Partition, O::NAME);
        state.all = Some(count);
        state.whole = Some(Box::new(Whole { promise, combine }));
        Invocation::later(later)
    }
}

/// The results so far.
struct Gather<P: Send + 'static> {
    state: Mutex<State<P>>,
    task: &'static str,
}

struct State<P> {
    parts: Vec<Option<P>>,
    given: usize,
    /// How many there will be; `None` while they are sent out.
    all: Option<usize>,
    error: Option<GridError>,
    whole: Option<Box<dyn Combine<P>>>,
}

impl<P> Default for State<P> {
    fn default() -> Self {
        Self { parts: Vec::new(), given: 0, all: None, error: None, whole: None }
    }
}

impl<P> State<P> {
    fn result(&mut self) -> GridResult<Vec<P>> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.parts).into_iter().flatten().collect()),
        }
    }
}

impl<P: Send + 'static> Gather<P> {
    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn give(&self, place: usize, result: GridResult<P>) {
        let mut state = self.lock();
        state.given += 1;
        match result {
            Ok(part) => state.parts[place] = Some(part),
            Err(error) => {
                state.error.get_or_insert(error);
            }
        }
        if state.all == Some(state.given)
            && let Some(whole) = state.whole.take()
        {
            let result = state.result();
            drop(state);
            whole.finish(result);
        }
    }
}

/// Whom the result of all parts goes to.
trait Combine<P>: Send {
    fn finish(self: Box<Self>, parts: GridResult<Vec<P>>);
    fn is_cancelled(&self) -> bool;
}

struct Whole<R: Send + 'static, F> {
    promise: Promise<GridResult<R>>,
    combine: F,
}

impl<P, R, F> Combine<P> for Whole<R, F>
where
    R: Send + 'static,
    F: FnOnce(Vec<P>) -> R + Send,
{
    fn finish(self: Box<Self>, parts: GridResult<Vec<P>>) {
        self.promise.keep(parts.map(self.combine));
    }

    fn is_cancelled(&self) -> bool {
        self.promise.is_cancelled()
    }
}

/// The answer of one part. Dropped without a result, the part was lost, and says so.
struct Part<P: Send + 'static> {
    gather: Option<Arc<Gather<P>>>,
    place: usize,
}

impl<P: Send + 'static> Answer<P> for Part<P> {
    fn give(mut self, result: GridResult<P>) {
        if let Some(gather) = self.gather.take() {
            gather.give(self.place, result);
        }
    }

    fn is_cancelled(&self) -> bool {
        let cancelled =
            |gather: &Arc<Gather<P>>| gather.lock().whole.as_ref().is_some_and(|whole| whole.is_cancelled());
        self.gather.as_ref().is_some_and(cancelled)
    }
}

impl<P: Send + 'static> Drop for Part<P> {
    fn drop(&mut self) {
        if let Some(gather) = self.gather.take() {
            let stage = StageId::of(StageKind::Partition);
            let lost = TaskError::Cancelled { stage, task: gather.task };
            gather.give(self.place, Err(GridError::Task(lost)));
        }
    }
}
