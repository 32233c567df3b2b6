//! What lives on a strand: a target, and the operations that are parked there.

use super::alarms::Alarms;
use super::load::OldestMail;
use super::waiting::{Parked, Waiting};
use super::{Answer, Leaving, Strands};
use crate::error::{GridError, GridResult};
use crate::memory::{MemoryAccount, MemoryShare};
use crate::operation::{Action, HeldBack, Operation, Step, Target, Turn};
use filbert_pool::{Clock, StageKind, TaskError, caught};
use filbert_store::Pending;
use filbert_wire::PartitionId;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A target with its waiting room.
pub(super) struct Cell<T: Target> {
    target: T,
    waiting: Waiting<T>,
    /// What the target holds.
    memory: MemoryShare,
    partition: PartitionId,
    home: Weak<Strands<T>>,
    clock: Clock,
    /// How long its mail waits, seen from outside.
    mail: OldestMail,
    /// The timers that will look after deadlines.
    alarms: Alarms,
    /// A `retry` is in the mailbox.
    retry_mailed: bool,
    /// Made when the first operation is parked.
    leaving: Option<Leaving>,
}

/// What the answer of an operation comes after, over all its runs.
#[derive(Default)]
struct Held {
    /// Offers to listeners that found no room yet, changes that a store behind the map does not have yet.
    under_way: Vec<HeldBack>,
    /// Its last change that is to be on disk; those before it are there no later.
    stored: Option<Pending>,
}

impl Held {
    fn is_empty(&self) -> bool {
        self.under_way.is_empty() && self.stored.is_none()
    }

    fn add(&mut self, under_way: Vec<HeldBack>, stored: Option<Pending>) {
        if !under_way.is_empty() {
            // Forgotten when they are over, so that a long operation keeps no more than are really waiting.
            self.under_way.retain(|held| !held.is_done() || held.refused().is_some());
            self.under_way.extend(under_way);
        }
        if let Some(stored) = stored {
            self.stored = Some(match self.stored.take() {
                Some(before) => before.or_later(stored),
                None => stored,
            });
        }
    }
}

/// Where an operation stands after a run.
enum After<O: Operation> {
    Done(GridResult<O::Output>),
    Waits(O, <O::Target as Target>::Event, Option<Duration>),
    Again(O),
}

impl<T: Target> Cell<T> {
    pub(super) fn new(
        target: T,
        memory: &Arc<MemoryAccount>,
        partition: PartitionId,
        home: Weak<Strands<T>>,
        clock: Clock,
        mail: OldestMail,
    ) -> Self {
        Self {
            target,
            waiting: Waiting::new(),
            memory: MemoryShare::new(memory),
            partition,
            home,
            clock,
            mail,
            alarms: Alarms::default(),
            retry_mailed: false,
            leaving: None,
        }
    }

    /// How long its mail waits, seen from outside.
    pub(super) fn mail(&self) -> &OldestMail {
        &self.mail
    }

    /// Runs an operation on the caller's thread. `Some` when it is done; otherwise the answer is made, and given later.
    #[inline]
    pub(super) fn run<O, A>(
        &mut self,
        operation: O,
        answer: impl FnOnce() -> A,
    ) -> Option<GridResult<O::Output>>
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        let mut held = Held::default();
        match self.step(operation, &mut held) {
            After::Done(result) if held.is_empty() => Some(result),
            after => {
                self.settle(after, held, answer());
                None
            }
        }
    }

    /// Runs something that is no operation: it cannot wait, and what it tells listeners does not hold it back.
    #[inline]
    pub(super) fn look<R>(&mut self, look: impl FnOnce(&mut T, &mut Turn<'_, T>) -> R) -> Option<R> {
        if self.target.refuses().is_some() {
            return None;
        }
        let mut turn = Turn::new(&self.clock, self.partition);
        let seen = look(&mut self.target, &mut turn);
        let Turn { events, .. } = turn;
        if !events.is_empty() {
            self.happened(&events);
        }
        Some(seen)
    }

    /// Runs an operation whose answer is made already.
    pub(super) fn drive<O, A>(&mut self, operation: O, mut answer: A)
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        if A::IS_TIMED {
            answer.begins(self.clock.now());
        }
        self.go_on(operation, Held::default(), answer);
    }

    /// Runs an operation that may have run before, and then left offers behind.
    fn go_on<O, A>(&mut self, operation: O, mut held: Held, answer: A)
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        if answer.is_cancelled() {
            return;
        }
        // Caught here and not by the stripe, so that the answer says what happened.
        match caught(|| self.step(operation, &mut held)) {
            Ok(after) => self.settle(after, held, answer),
            Err(message) => answer.give(Err(panicked(O::NAME, message))),
        }
    }

    #[inline]
    fn step<O: Operation<Target = T>>(&mut self, mut operation: O, before: &mut Held) -> After<O> {
        if let Some(refused) = self.target.refuses() {
            return After::Done(Err(refused));
        }
        if T::REFUSES_WRITES
            && matches!(O::ACTION, Action::Put)
            && let Err(refused) = self.memory.account().admit(O::NAME, 0)
        {
            return After::Done(Err(refused));
        }
        let mut turn = Turn::new(&self.clock, self.partition);
        let step = operation.run(&mut self.target, &mut turn);
        let Turn { events, held, stored, .. } = turn;
        if !matches!(O::ACTION, Action::Read | Action::Listen) {
            self.memory.set(self.target.held_bytes());
        }
        if !held.is_empty() || stored.is_some() {
            before.add(held, stored);
        }
        if !events.is_empty() {
            self.happened(&events);
        } else if self.waiting.has_ready() {
            // The mailbox was full when it happened.
            self.mail_retry();
        }
        match step {
            Step::Done(result) => After::Done(result),
            Step::Wait { event, deadline } => After::Waits(operation, event, deadline),
            Step::Again => After::Again(operation),
        }
    }

    fn settle<O, A>(&mut self, after: After<O>, held: Held, mut answer: A)
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        match after {
            After::Done(result) => give_after(held, result, answer),
            After::Waits(operation, event, deadline) => {
                if !answer.parks(self.leaving()) {
                    return;
                }
                self.waiting.park(event, deadline, Box::new(Call { operation, held, answer }));
                self.arm();
            }
            After::Again(operation) => {
                // A mailbox that is full, or a member that ends, drops the operation: its answer says so.
                if let Some(home) = self.home.upgrade() {
                    if A::IS_TIMED {
                        answer.queued(self.clock.now());
                    }
                    let _ = home.post(self.partition, O::NAME, move |cell| {
                        if A::IS_TIMED {
                            answer.begins(cell.clock.now());
                        }
                        cell.go_on(operation, held, answer);
                    });
                }
            }
        }
    }

    /// How others say that operations which are parked here were cancelled: the first to say so mails a look at all of them.
    fn leaving(&mut self) -> &Leaving {
        let (home, partition) = (&self.home, self.partition);
        self.leaving.get_or_insert_with(|| {
            let (home, mailed) = (home.clone(), Arc::new(AtomicBool::new(false)));
            Arc::new(move || {
                if mailed.swap(true, Ordering::AcqRel) {
                    return;
                }
                let taken = Arc::clone(&mailed);
                let sweep = move |cell: &mut Cell<T>| {
                    // Before it looks: whoever cancels from now on may have been missed.
                    taken.swap(false, Ordering::AcqRel);
                    cell.waiting.sweep();
                };
                let posted = home
                    .upgrade()
                    .is_some_and(|home| home.post_priority(partition, "grid.sweep", sweep).is_ok());
                if !posted {
                    mailed.store(false, Ordering::Release);
                }
            })
        })
    }

    /// Parked operations that wait for one of `events` get another run, on the partition's own thread.
    fn happened(&mut self, events: &[T::Event]) {
        self.waiting.happened(events);
        self.mail_retry();
    }

    fn mail_retry(&mut self) {
        if self.retry_mailed || !self.waiting.has_ready() {
            return;
        }
        if let Some(home) = self.home.upgrade() {
            // With a full mailbox the next operation that runs tries again.
            self.retry_mailed = home.post_priority(self.partition, "grid.retry", Cell::retry).is_ok();
        }
    }

    /// Runs parked operations whose event happened, each once at most, in the order in which they were parked.
    fn retry(&mut self) {
        self.retry_mailed = false;
        let mut round = self.waiting.round();
        while let Some(parked) = self.waiting.next_of(&mut round) {
            parked.retry(self);
        }
        self.mail_retry();
        self.arm();
    }

    /// Ends what waited until its deadline, and sees to the next timer; this one was set for `due`.
    fn expire(&mut self, due: Duration) {
        self.alarms.came(due);
        for parked in self.waiting.take_expired(self.clock.now()) {
            parked.expire(self);
        }
        self.mail_retry();
        self.arm();
    }

    /// Sees to it that a timer is set for the next deadline.
    fn arm(&mut self) {
        let Some(next) = self.waiting.next_deadline() else { return };
        if !self.alarms.must_set(next) {
            return;
        }
        let (home, partition, clock) = (self.home.clone(), self.partition, self.clock.clone());
        let pause = next.saturating_sub(self.clock.now()).min(FARTHEST);
        self.clock.after(pause, move || mail_expire(&home, partition, &clock, next));
    }
}

/// No timer is set farther ahead: one for a deadline in a thousand years would outlive its structure by as much. When it is due, the
/// next is set.
pub(crate) const FARTHEST: Duration = Duration::from_secs(3_600);

/// How long a full mailbox is left alone before deadlines are looked after again.
const EXPIRE_AGAIN: Duration = Duration::from_millis(10);

fn mail_expire<T: Target>(home: &Weak<Strands<T>>, partition: PartitionId, clock: &Clock, due: Duration) {
    let Some(strands) = home.upgrade() else { return };
    let mailed = strands.post_priority(partition, "grid.expire", move |cell| cell.expire(due));
    if mailed.is_err_and(|refused| refused.is_retryable()) {
        let (home, again) = (home.clone(), clock.clone());
        clock.after(EXPIRE_AGAIN, move || mail_expire(&home, partition, &again, due));
    }
}

/// Gives the answer when every event was taken or given up, every change written or refused, and what was changed is on disk. The last of them
/// usually is so last: a callback for that one, and none for those that are over by then. One for each would be a way to `generic` for each,
/// or, when that is closed, a level of the stack.
fn give_after<T: Send + 'static>(mut held: Held, mut result: GridResult<T>, answer: impl Answer<T>) {
    while let Some(last) = held.under_way.pop() {
        if !last.is_done() {
            last.on_complete(move |refused| give_after(held, unless(refused, result), answer));
            return;
        }
        result = unless(last.refused(), result);
    }
    match held.stored {
        None => answer.give(result),
        Some(pending) => pending.then(move |stored| {
            answer.give(result.and_then(|given| stored.map(|()| given).map_err(Into::into)))
        }),
    }
}

/// The result, unless something that the operation left under way was refused.
fn unless<T>(refused: Option<GridError>, result: GridResult<T>) -> GridResult<T> {
    match refused {
        Some(error) if result.is_ok() => Err(error),
        _ => result,
    }
}

fn panicked(task: &'static str, message: String) -> GridError {
    let stage = filbert_pool::StageId::of(StageKind::Partition);
    GridError::Task(TaskError::Panicked { stage, task, message })
}

/// An operation that is parked, and whom its result goes to.
struct Call<O, A> {
    operation: O,
    held: Held,
    answer: A,
}

impl<O, A> Parked<O::Target> for Call<O, A>
where
    O: Operation,
    A: Answer<O::Output>,
{
    fn retry(self: Box<Self>, cell: &mut Cell<O::Target>) {
        cell.go_on(self.operation, self.held, self.answer);
    }

    fn expire(self: Box<Self>, cell: &mut Cell<O::Target>) {
        let Call { operation, held, answer } = *self;
        match caught(|| operation.expired(&mut cell.target)) {
            Ok(result) => give_after(held, result, answer),
            Err(message) => answer.give(Err(panicked(O::NAME, message))),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.answer.is_cancelled()
    }
}

impl<T: Target> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("partition", &self.partition.number()).finish_non_exhaustive()
    }
}
