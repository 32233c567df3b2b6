//! The strands of one structure: one per partition for a map, one in all for a list or a queue; and how an operation gets there.
//!
//! An operation that its strand can take at once runs on the calling thread (*caller-runs*) and its result is returned; on an io loop only
//! operations that say they are short. All others go through the strand's mailbox, and their answer is given on the thread where it
//! arises.
//!
//! The strand of a partition is made when it is first used: a structure with 271 of them that nobody uses costs a few kilobytes.

mod alarms;
mod answer;
mod cell;
mod gather;
mod load;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use alarms::Alarms;
use answer::Nobody;
pub use answer::{Answer, Leaving};
pub use gather::Spread;

use crate::error::{GridError, GridResult};
use crate::granted::{self, Granted};
use crate::invocation::Invocation;
use crate::memory::{MemoryAccount, STRAND_BYTES};
use crate::operation::{Action, Operation, Target, Turn};
use cell::Cell;
pub(crate) use cell::FARTHEST;
use filbert_pool::{Clock, StageKind, Stages, Strand, SubmitError};
use filbert_wire::{PARTITION_COUNT, PartitionId};
use load::{OldestMail, SpreadLoad};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// The strands of one structure, each with its target.
#[derive(Debug)]
pub struct Strands<T: Target> {
    name: Arc<str>,
    stages: Stages,
    /// The account of the memory of all structures.
    memory: Arc<MemoryAccount>,
    strands: Box<[OnceLock<Place<T>>]>,
    /// How operations on many partitions get on.
    spread: Arc<SpreadLoad>,
    maker: Maker<T>,
    /// The first partition that has a strand here: zero, or the only one.
    first: u32,
    /// Operations that are short by themselves run user code on these targets.
    user_code: AtomicBool,
    /// Itself, for parts of an operation that follow one another.
    home: Weak<Self>,
}

/// The strand of one partition, and how long its mail waits.
#[derive(Debug)]
struct Place<T: Target> {
    strand: Strand<Cell<T>>,
    mail: OldestMail,
}

/// Where an operation comes from, which decides whether it may be refused because others wait too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A caller outside the grid.
    Caller,
    /// The member itself, or an operation that was taken already.
    Inside,
}

/// Makes the target of a partition. Locked while it does, and while someone asks which partitions are used.
struct Maker<T: Target>(Mutex<Make<T>>);

type Make<T> = Box<dyn FnMut(&Weak<Strands<T>>, PartitionId) -> T + Send>;

impl<T: Target> std::fmt::Debug for Maker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maker")
    }
}

/// What became of an invocation.
#[derive(Debug)]
pub enum Invoked<T> {
    /// It is done: it ran on the calling thread. The answer was not made.
    Here(GridResult<T>),
    /// The answer will be given.
    Later,
    /// It was not taken; nothing was done. The answer, if it was made, was dropped.
    Refused(SubmitError),
}

impl<T: Target> Strands<T> {
    /// A strand per partition.
    pub fn partitioned(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        mut target: impl FnMut(PartitionId) -> T + Send + 'static,
    ) -> Arc<Self> {
        Self::partitioned_with_home(stages, memory, name, move |_, partition| target(partition))
    }

    /// The same for targets that mail operations to their own strand.
    pub(crate) fn partitioned_with_home(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        target: impl FnMut(&Weak<Self>, PartitionId) -> T + Send + 'static,
    ) -> Arc<Self> {
        let strands = |_: &Weak<Self>| PartitionId::all().map(|_| OnceLock::new()).collect();
        Self::over(stages, memory, name, 0, strands, Box::new(target))
    }

    /// One strand, on `partition`.
    pub fn single(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        partition: PartitionId,
        target: T,
    ) -> Arc<Self> {
        Self::single_with_home(stages, memory, name, partition, |_| target)
    }

    /// The same for a target that mails operations to its own strand.
    pub(crate) fn single_with_home(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        partition: PartitionId,
        target: impl FnOnce(&Weak<Self>) -> T,
    ) -> Arc<Self> {
        let strands = |home: &Weak<Self>| {
            let made = Self::made(stages, memory, name, home, partition, target(home));
            Box::from([OnceLock::from(made)])
        };
        let never = |_: &_, _| unreachable!("the only strand is made with the structure");
        Self::over(stages, memory, name, partition.number(), strands, Box::new(never))
    }

    fn over(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        first: u32,
        strands: impl FnOnce(&Weak<Self>) -> Box<[OnceLock<Place<T>>]>,
        make: Make<T>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|home: &Weak<Self>| Self {
            name: Arc::clone(name),
            stages: stages.clone(),
            memory: Arc::clone(memory),
            strands: strands(home),
            spread: Arc::new(SpreadLoad::new(stages.partition().overload_after())),
            maker: Maker(Mutex::new(make)),
            first,
            user_code: AtomicBool::new(false),
            home: home.clone(),
        })
    }

    fn made(
        stages: &Stages,
        memory: &Arc<MemoryAccount>,
        name: &Arc<str>,
        home: &Weak<Self>,
        partition: PartitionId,
        target: T,
    ) -> Place<T> {
        let mail = OldestMail::default();
        let cell = Cell::new(target, memory, partition, home.clone(), stages.clock(), mail.clone());
        let strand = stages.partition().strand_about(u64::from(partition.number()), name, cell);
        Place { strand, mail }
    }

    /// The structure's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The stages that it runs on.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The partitions that have a strand here.
    pub fn partitions(&self) -> impl ExactSizeIterator<Item = PartitionId> + use<T> {
        let first = self.first as usize;
        (first..first + self.strands.len())
            .map(|number| PartitionId::new(number as u32).expect("made from partitions"))
    }

    /// The partitions whose strand was used already. Whoever makes one from now on sees all that the caller did before.
    pub fn used_partitions(&self) -> Vec<PartitionId> {
        let _none_is_made_meanwhile = self.maker.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = |(partition, strand): (_, &OnceLock<_>)| strand.get().map(|_| partition);
        self.partitions().zip(&self.strands).filter_map(used).collect()
    }

    /// The strand of `partition`; a structure with one strand has it whatever the partition.
    #[inline]
    fn strand(&self, partition: PartitionId) -> &Strand<Cell<T>> {
        const { assert!(PARTITION_COUNT > 1) };
        let place = self.place_of(partition);
        match place.get() {
            Some(place) => &place.strand,
            None => &self.make(place, partition).strand,
        }
    }

    #[inline]
    fn place_of(&self, partition: PartitionId) -> &OnceLock<Place<T>> {
        let index = if self.strands.len() == 1 { 0 } else { partition.index() };
        &self.strands[index]
    }

    /// The strand of `partition`, for an operation: a write does not make one when there is no memory for it.
    #[inline]
    fn place_for<O: Operation<Target = T>>(&self, partition: PartitionId) -> GridResult<&Place<T>> {
        let place = self.place_of(partition);
        match place.get() {
            Some(place) => Ok(place),
            None => {
                if O::NEEDS_ROOM {
                    self.memory.admit(O::NAME, STRAND_BYTES)?;
                }
                Ok(self.make(place, partition))
            }
        }
    }

    #[cold]
    fn make<'s>(&self, place: &'s OnceLock<Place<T>>, partition: PartitionId) -> &'s Place<T> {
        let mut make = self.maker.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_init(|| {
            let target = make(&self.home, partition);
            Self::made(&self.stages, &self.memory, &self.name, &self.home, partition, target)
        })
    }

    /// Runs `operation` on the strand of `partition`: at once if that is possible, and otherwise as soon as its turn comes, with the
    /// result given to the answer that `answer` makes.
    #[inline]
    pub fn invoke<O, A>(
        &self,
        partition: PartitionId,
        operation: O,
        answer: impl FnOnce() -> A,
    ) -> Invoked<O::Output>
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        granted::note(O::NAME, O::ACTION);
        self.invoke_where(partition, operation, answer, self.may_run_here::<O>(), Origin::Caller)
    }

    /// Refuses new work for `partition` while the mail of its strand waits longer than it may.
    #[inline]
    fn check_mail(&self, place: &Place<T>) -> Result<(), SubmitError> {
        let partition = self.stages.partition();
        if place.mail.is_older_than(partition.overload_after(), || self.stages.clock().now()) {
            return Err(partition.late());
        }
        Ok(())
    }

    /// From now on operations that are short by themselves run user code here, or do so no more. One that an io loop has begun meanwhile
    /// may still meet it there.
    pub(crate) fn set_user_code(&self, runs: bool) {
        self.user_code.store(runs, Ordering::Relaxed);
    }

    /// False on an io loop for what is not short.
    #[inline]
    fn may_run_here<O: Operation<Target = T>>(&self) -> bool {
        (O::SHORT && !self.user_code.load(Ordering::Relaxed)) || filbert_pool::current().kind != StageKind::Io
    }

    #[inline]
    fn invoke_where<O, A>(
        &self,
        partition: PartitionId,
        operation: O,
        answer: impl FnOnce() -> A,
        may_run_here: bool,
        origin: Origin,
    ) -> Invoked<O::Output>
    where
        O: Operation<Target = T>,
        A: Answer<O::Output>,
    {
        let _own_affair = Granted::pause();
        let place = match self.place_for::<O>(partition) {
            Ok(place) => place,
            Err(refused) => return Invoked::Here(Err(refused)),
        };
        let strand = &place.strand;
        let mut call = Some((operation, answer));
        if may_run_here {
            let run = |cell: &mut Cell<T>| {
                let (operation, answer) = call.take().expect("runs once");
                cell.run(operation, answer)
            };
            match strand.try_run_here(O::NAME, run) {
                Ok(Ok(Some(result))) => return Invoked::Here(result),
                Ok(Ok(None)) => return Invoked::Later,
                Ok(Err(lost)) => return Invoked::Here(Err(GridError::Task(lost))),
                Err(_busy) => {}
            }
        }
        let Some((operation, answer)) = call else { unreachable!("a strand that was busy ran nothing") };
        if origin == Origin::Caller
            && !(O::PRIORITY || O::RELIEVES)
            && let Err(refused) = self.check_mail(place)
        {
            return Invoked::Refused(refused);
        }
        let mut answer = answer();
        if A::IS_TIMED {
            answer.queued(self.stages.clock().now());
        }
        let drive = move |cell: &mut Cell<T>| cell.drive(operation, answer);
        let mailed = if O::PRIORITY {
            strand.post_priority(O::NAME, drive)
        } else if place.mail.watch(|| self.stages.clock().now()) {
            let mailed = strand.post(O::NAME, move |cell| {
                cell.mail().arrived();
                drive(cell);
            });
            if mailed.is_err() {
                place.mail.arrived();
            }
            mailed
        } else {
            strand.post(O::NAME, drive)
        };
        match mailed {
            Ok(()) => Invoked::Later,
            Err(refused) => Invoked::Refused(refused),
        }
    }

    /// The same, with the result as a future.
    #[inline]
    pub fn call<O: Operation<Target = T>>(
        &self,
        partition: PartitionId,
        operation: O,
    ) -> Invocation<O::Output> {
        self.call_from(Origin::Caller, partition, operation)
    }

    /// Runs a further part of something that was begun: unlike [`Strands::call`], it is not refused because others wait too long.
    pub fn continue_with<O: Operation<Target = T>>(
        &self,
        partition: PartitionId,
        operation: O,
    ) -> Invocation<O::Output> {
        self.call_from(Origin::Inside, partition, operation)
    }

    #[inline]
    fn call_from<O: Operation<Target = T>>(
        &self,
        origin: Origin,
        partition: PartitionId,
        operation: O,
    ) -> Invocation<O::Output> {
        granted::note(O::NAME, O::ACTION);
        let mut future = None;
        let answer = || {
            let (promise, later) = self.stages.promise(StageKind::Partition, O::NAME);
            future = Some(later);
            promise
        };
        match self.invoke_where(partition, operation, answer, self.may_run_here::<O>(), origin) {
            Invoked::Here(result) => Invocation::ready(result),
            Invoked::Refused(refused) => Invocation::ready(Err(GridError::Refused(refused))),
            Invoked::Later => Invocation::later(future.expect("later means that the answer was made")),
        }
    }

    /// Mails `operation` to the strand of `partition`, whose result nobody wants: for timers, which must not run it themselves.
    pub(crate) fn mail<O: Operation<Target = T>>(
        &self,
        partition: PartitionId,
        operation: O,
    ) -> Result<(), SubmitError> {
        match self.invoke_where(partition, operation, || Nobody, false, Origin::Inside) {
            Invoked::Refused(refused) => Err(refused),
            Invoked::Here(_) | Invoked::Later => Ok(()),
        }
    }

    /// Looks at the target of `partition` on the calling thread, if its strand is idle. For what only reads a little and wants no copy of
    /// it; everything else is an operation.
    #[inline]
    pub fn try_look<R>(
        &self,
        partition: PartitionId,
        name: &'static str,
        look: impl FnOnce(&mut T, &mut Turn<'_, T>) -> R,
    ) -> Option<R> {
        granted::note(name, Action::Read);
        self.strand(partition).try_run_here(name, |cell| cell.look(look)).ok()?.ok()?
    }

    /// Mails `step` to the strand of `partition`, for the cell's own purposes.
    fn post(
        &self,
        partition: PartitionId,
        name: &'static str,
        step: impl FnOnce(&mut Cell<T>) + Send + 'static,
    ) -> Result<(), SubmitError> {
        self.strand(partition).post(name, step)
    }

    /// The same before all that users mailed: it ends what they wait for.
    fn post_priority(
        &self,
        partition: PartitionId,
        name: &'static str,
        step: impl FnOnce(&mut Cell<T>) + Send + 'static,
    ) -> Result<(), SubmitError> {
        self.strand(partition).post_priority(name, step)
    }
}

/// Mails an operation of the member's own; when the mailbox is full, tries again after `pause`, until it is taken or the structure is gone.
pub(crate) fn mail_until_taken<O>(
    home: &Weak<Strands<O::Target>>,
    partition: PartitionId,
    clock: &Clock,
    operation: O,
    pause: Duration,
) where
    O: Operation + Clone,
{
    let Some(strands) = home.upgrade() else { return };
    let mailed = strands.mail(partition, operation.clone());
    if mailed.is_err_and(|refused| refused.is_retryable()) {
        let (home, again) = (home.clone(), clock.clone());
        clock.after(pause, move || mail_until_taken(&home, partition, &again, operation, pause));
    }
}
