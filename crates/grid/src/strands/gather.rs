//! One operation on many partitions, and one result.
//!
//! Parts that run beside each other are not all mailed at once, but one per thread of the stage, each of which mails the next when it is
//! done or waits: a strand that has no mail is free for callers. So a get beside an operation on the whole map runs at once, unless
//! its partition is one of the few at work; with all partitions in the ready queues it would wait for a slice of each of them.

use super::load::SpreadWait;
use super::{Answer, Invoked, Leaving, Origin, Strands};
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::operation::{Action, Operation, Target};
use filbert_pool::{Promise, StageId, StageKind, SubmitError, TaskError};
use filbert_wire::PartitionId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// Where the parts of an operation on many partitions run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One after the other on the calling thread, where their strands are idle: for little work.
    Here,
    /// Beside each other on the threads of their partitions, on each thread one after the other.
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
        let lanes = if spread == Spread::Beside { self.lanes() } else { 0 };
        let operations: Vec<_> = operations.into_iter().collect();
        if !(O::PRIORITY || O::RELIEVES)
            && let Err(refused) = self.check_load(&operations, lanes > 0)
        {
            return Invocation::ready(Err(refused.into()));
        }
        let wait = (lanes > 0).then(|| SpreadWait::new(&self.spread, lanes, operations.len())).flatten();
        let gather = Arc::new(Gather::<T, O>::new(&self.home, lanes, wait));
        let may_run_here = spread == Spread::Here && self.may_run_here::<O>();
        let mut count = 0;
        for (place, (partition, operation)) in operations.into_iter().enumerate() {
            count += 1;
            gather.lock().parts.push(None);
            let next = Next { place, partition, operation };
            match lanes {
                0 => gather.start(self, next, None, may_run_here),
                lanes => gather.lock().lanes[partition.index() % lanes].push_back(next),
            }
        }
        (0..lanes).for_each(|lane| gather.pass_on(lane));
        let mut state = gather.lock();
        if state.given == count {
            return Invocation::ready(state.result().map(combine));
        }
        let (promise, later) = self.stages().promise(StageKind::Partition, O::NAME);
        state.all = Some(count);
        state.whole = Some(Box::new(Whole { promise, combine }));
        Invocation::later(later)
    }

    /// Refuses the whole before a part of it has begun: when the mail of one of its partitions waits too long and, of what takes long itself,
    /// when others like it do.
    fn check_load<O>(&self, operations: &[(PartitionId, O)], is_long: bool) -> Result<(), SubmitError> {
        if is_long && self.spread.is_late() {
            return Err(self.stages().partition().late());
        }
        let used = operations.iter().filter_map(|(partition, _)| self.place_of(*partition).get());
        used.into_iter().try_for_each(|place| self.check_mail(place))
    }

    /// How many parts run beside each other: one on each thread of the stage.
    fn lanes(&self) -> usize {
        self.stages().settings().number("partition.threads").max(1) as usize
    }
}

/// The results so far, and the parts that have not begun.
struct Gather<T: Target, O: Operation<Target = T>> {
    state: Mutex<State<O>>,
    home: Weak<Strands<T>>,
    /// How long its parts wait for their turns; `None` when nobody wants to know.
    wait: Option<Mutex<SpreadWait>>,
}

/// A part that has not begun.
struct Next<O> {
    place: usize,
    partition: PartitionId,
    operation: O,
}

struct State<O: Operation> {
    /// The parts that have not begun, by the thread that is to run them.
    lanes: Vec<VecDeque<Next<O>>>,
    parts: Vec<Option<O::Output>>,
    given: usize,
    /// How many there will be; `None` while they are sent out.
    all: Option<usize>,
    error: Option<GridError>,
    whole: Option<Box<dyn Combine<O::Output>>>,
}

impl<O: Operation> State<O> {
    fn result(&mut self) -> GridResult<Vec<O::Output>> {
        match self.error.take() {
            // A change that some partitions have is not undone by the refusal of another.
            Some(error) if O::ACTION != Action::Read && self.parts.iter().any(Option::is_some) => {
                Err(error.after_a_part())
            }
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.parts).into_iter().flatten().collect()),
        }
    }
}

impl<T: Target, O: Operation<Target = T>> Gather<T, O> {
    fn new(home: &Weak<Strands<T>>, lanes: usize, wait: Option<SpreadWait>) -> Self {
        let lanes = std::iter::repeat_with(VecDeque::new).take(lanes).collect();
        let state = State { lanes, parts: Vec::new(), given: 0, all: None, error: None, whole: None };
        Self { state: Mutex::new(state), home: home.clone(), wait: wait.map(Mutex::new) }
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Begins the next part of a lane; when it has none left, one of the lane that has most.
    fn pass_on(self: &Arc<Self>, lane: usize) {
        let next = {
            let mut state = self.lock();
            match state.lanes[lane].pop_front() {
                Some(next) => Some(next),
                None => state.lanes.iter_mut().max_by_key(|lane| lane.len()).and_then(VecDeque::pop_back),
            }
        };
        let Some(next) = next else { return };
        match self.home.upgrade() {
            Some(strands) => self.start(&strands, next, Some(lane), false),
            None => {
                drop(Part {
                    gather: Some(Arc::clone(self)),
                    place: next.place,
                    lane: Some(lane),
                    queued: None,
                    has_begun: false,
                });
            }
        }
    }

    fn start(self: &Arc<Self>, strands: &Strands<T>, next: Next<O>, lane: Option<usize>, may_run_here: bool) {
        let Next { place, partition, operation } = next;
        crate::granted::note(O::NAME, O::ACTION);
        let answer = || Part { gather: Some(Arc::clone(self)), place, lane, queued: None, has_begun: false };
        match strands.invoke_where(partition, operation, answer, may_run_here, Origin::Inside) {
            Invoked::Here(result) => self.give(place, result),
            Invoked::Later => {}
            // The answer was made and dropped: it said so itself, but less exactly.
            Invoked::Refused(refused) => self.lock().error = Some(GridError::Refused(refused)),
        }
    }

    fn give(&self, place: usize, result: GridResult<O::Output>) {
        let mut state = self.lock();
        state.given += 1;
        match result {
            Ok(part) => state.parts[place] = Some(part),
            Err(error) => match &mut state.error {
                // That a part was done is not lost with all but the first error.
                Some(first) if error.is_indeterminate() => *first = first.clone().after_a_part(),
                Some(_) => {}
                first => *first = Some(error),
            },
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
struct Part<T: Target, O: Operation<Target = T>> {
    gather: Option<Arc<Gather<T, O>>>,
    place: usize,
    /// Whose next part begins when this one ends or waits; `None` when it has begun already, or all began at once.
    lane: Option<usize>,
    /// Since when it waits for a turn.
    queued: Option<Duration>,
    has_begun: bool,
}

impl<T: Target, O: Operation<Target = T>> Part<T, O> {
    fn pass_on(&mut self) {
        if let (Some(gather), Some(lane)) = (&self.gather, self.lane.take()) {
            gather.pass_on(lane);
        }
    }
}

impl<T: Target, O: Operation<Target = T>> Answer<O::Output> for Part<T, O> {
    const IS_TIMED: bool = true;

    fn queued(&mut self, now: Duration) {
        if self.gather.as_ref().is_some_and(|gather| gather.wait.is_some()) {
            self.queued = Some(now);
        }
    }

    fn begins(&mut self, now: Duration) {
        let Some(queued) = self.queued.take() else { return };
        // The first of its turns begins the part, later ones go on with it.
        if let Some(wait) = self.gather.as_ref().and_then(|gather| gather.wait.as_ref()) {
            let mut wait = wait.lock().unwrap_or_else(|broken| broken.into_inner());
            wait.waited(now.saturating_sub(queued), !std::mem::replace(&mut self.has_begun, true));
        }
    }

    fn give(mut self, result: GridResult<O::Output>) {
        // First: what goes wrong there is known before the last result is given.
        self.pass_on();
        if let Some(gather) = self.gather.take() {
            gather.give(self.place, result);
        }
    }

    fn parks(&mut self, _leaving: &Leaving) -> bool {
        self.pass_on();
        true
    }

    fn is_cancelled(&self) -> bool {
        let cancelled = |gather: &Arc<Gather<T, O>>| {
            gather.lock().whole.as_ref().is_some_and(|whole| whole.is_cancelled())
        };
        self.gather.as_ref().is_some_and(cancelled)
    }
}

impl<T: Target, O: Operation<Target = T>> Drop for Part<T, O> {
    fn drop(&mut self) {
        self.pass_on();
        if let Some(gather) = self.gather.take() {
            let stage = StageId::of(StageKind::Partition);
            let lost = TaskError::Cancelled { stage, task: O::NAME };
            gather.give(self.place, Err(GridError::Task(lost)));
        }
    }
}
