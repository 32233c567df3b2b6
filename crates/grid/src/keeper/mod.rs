//! What most structures are made of: a state of their own on one strand, or one on each partition, and the acts that it allows.
//!
//! A structure says what its [`State`] is and lists its acts ([`acts!`]), a few lines each. Here is what all of them share: a name, a
//! partition, the way of an act to its strand, and the end. An act on a structure that was destroyed is told so before it is run, so no
//! act has to look.
//!
//! ```text
//! handle (AtomicLong, Ringbuffer, ...) -> Keeper -- Do<act> --> Strands -> Kept { name, ended, state }
//! ```
//!
//! Acts run on the threads that operations run on, and are values like them: [`Do`] makes an operation of an act. Maps, lists, queues and
//! topics are older and make their operations themselves.

mod act;

pub(crate) use act::{Act, Do, acts, waiting};

use crate::error::GridError;
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::operation::{Action, Operation, Step, Target, Turn};
use crate::strands::{Answer, Invoked, Spread, Strands, mail_until_taken};
use crate::structures::Service;
use filbert_pool::Clock;
use filbert_wire::{PartitionId, partition_of_name};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What a structure holds on one strand.
pub(crate) trait State: Send + Sized + 'static {
    /// What it is.
    const SERVICE: Service;
    /// What an act can wait for.
    type Event: Clone + Debug + Eq + Hash + Send + 'static;

    /// See [`Target::is_in_line`].
    fn is_in_line(_event: &Self::Event) -> bool {
        false
    }

    /// See [`Target::REFUSES_WRITES`].
    const HOLDS_DATA: bool = false;

    /// See [`Target::held_bytes`].
    fn held_bytes(&self) -> usize {
        0
    }

    /// The structure is destroyed: gives up what it holds; what anyone may wait for.
    fn end(&mut self) -> Vec<Self::Event>;
}

/// Surroundings of an act.
pub(crate) type KeptTurn<'a, S> = Turn<'a, Kept<S>>;

/// A state with what every structure has.
#[derive(Debug)]
pub(crate) struct Kept<S> {
    state: S,
    name: Arc<str>,
    ended: bool,
}

impl<S: State> Target for Kept<S> {
    type Event = S::Event;

    const REFUSES_WRITES: bool = S::HOLDS_DATA;

    fn is_in_line(event: &S::Event) -> bool {
        S::is_in_line(event)
    }

    fn held_bytes(&self) -> usize {
        self.state.held_bytes()
    }
}

/// Where the strands of a structure are.
pub(crate) type Home<S> = Weak<Strands<Kept<S>>>;

/// The strands of a structure, and how its acts get there.
#[derive(Debug)]
pub(crate) struct Keeper<S: State> {
    strands: Arc<Strands<Kept<S>>>,
    /// Where an act goes that says no partition: that of the name.
    partition: PartitionId,
    clock: Clock,
    /// For states that are made when the structure is destroyed already.
    ended: Arc<AtomicBool>,
}

/// How long a full mailbox is left alone before it is tried again.
const MAIL_AGAIN: Duration = Duration::from_millis(10);

impl<S: State> Keeper<S> {
    /// A structure on one strand, on the partition of its name.
    pub(crate) fn single(grid: &Grid, name: &Arc<str>, state: S) -> Self {
        Self::single_with_home(grid, name, |_, _| state)
    }

    /// The same for a state that mails acts to itself.
    pub(crate) fn single_with_home(
        grid: &Grid,
        name: &Arc<str>,
        state: impl FnOnce(&Home<S>, PartitionId) -> S,
    ) -> Self {
        let (partition, stages) = (partition_of_name(name), grid.stages());
        let strands = Strands::single_with_home(stages, grid.memory(), name, partition, |home| Kept {
            state: state(home, partition),
            name: Arc::clone(name),
            ended: false,
        });
        Self { strands, partition, clock: stages.clock(), ended: Arc::default() }
    }

    /// A structure with a state on each partition.
    pub(crate) fn partitioned(
        grid: &Grid,
        name: &Arc<str>,
        mut state: impl FnMut(&Home<S>, PartitionId) -> S + Send + 'static,
    ) -> Self {
        let (stages, ended) = (grid.stages(), Arc::new(AtomicBool::new(false)));
        let (of_states, ends) = (Arc::clone(name), Arc::clone(&ended));
        let strands =
            Strands::partitioned_with_home(stages, grid.memory(), name, move |home, partition| Kept {
                state: state(home, partition),
                name: Arc::clone(&of_states),
                ended: ends.load(Ordering::Acquire),
            });
        Self { strands, partition: partition_of_name(name), clock: stages.clock(), ended }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        self.strands.name()
    }

    pub(crate) fn partition(&self) -> PartitionId {
        self.partition
    }

    pub(crate) fn home(&self) -> Home<S> {
        Arc::downgrade(&self.strands)
    }

    /// Runs an act on the structure's own partition.
    pub(crate) fn call<A: Act<State = S>>(&self, act: A) -> Invocation<A::Output> {
        self.call_on(self.partition, act)
    }

    /// Runs an act on a partition.
    pub(crate) fn call_on<A: Act<State = S>>(&self, partition: PartitionId, act: A) -> Invocation<A::Output> {
        self.strands.call(partition, Do(act))
    }

    /// The same for whoever may be gone before the result is there: it goes to the answer that `answer` makes, if it comes later.
    pub(crate) fn invoke_on<A, R>(
        &self,
        partition: PartitionId,
        act: A,
        answer: impl FnOnce() -> R,
    ) -> Invoked<A::Output>
    where
        A: Act<State = S>,
        R: Answer<A::Output>,
    {
        self.strands.invoke(partition, Do(act), answer)
    }

    /// Runs an act on each partition.
    pub(crate) fn everywhere<A, R>(
        &self,
        act: impl Fn() -> A,
        combine: impl FnOnce(Vec<A::Output>) -> R + Send + 'static,
    ) -> Invocation<R>
    where
        A: Act<State = S>,
        R: Send + 'static,
    {
        let acts = self.strands.partitions().map(|partition| (partition, Do(act())));
        let spread = if A::SHORT { Spread::Here } else { Spread::Beside };
        self.strands.call_all(spread, acts, combine)
    }

    /// Runs an act on each partition that was used; where a mailbox is full, as soon as it is not. For what an unused partition does not need.
    pub(crate) fn everywhere_until_taken<A>(&self, act: impl Fn() -> A)
    where
        A: Act<State = S> + Clone,
    {
        let home = self.home();
        for partition in self.strands.used_partitions() {
            if self.strands.call(partition, Do(act())).now().is_ok_and(|done| done.is_err()) {
                mail(&home, partition, &self.clock, act());
            }
        }
    }

    /// Runs acts on several partitions.
    pub(crate) fn each<A, R>(
        &self,
        acts: impl IntoIterator<Item = (PartitionId, A)>,
        combine: impl FnOnce(Vec<A::Output>) -> R + Send + 'static,
    ) -> Invocation<R>
    where
        A: Act<State = S>,
        R: Send + 'static,
    {
        let acts = acts.into_iter().map(|(partition, act)| (partition, Do(act)));
        self.strands.call_all(Spread::Beside, acts, combine)
    }

    /// Destroys the structure: who waits in it is told, and so is everyone from now on.
    pub(crate) fn end(&self) {
        let home = self.home();
        self.ended.store(true, Ordering::Release);
        for partition in self.strands.used_partitions() {
            let end = || End::<S>(PhantomData);
            if self.strands.call(partition, end()).now().is_ok_and(|done| done.is_err()) {
                mail_until_taken(&home, partition, &self.clock, end(), MAIL_AGAIN);
            }
        }
    }
}

/// Mails an act to where a state lives, until it is taken or the structure is gone.
pub(crate) fn mail<A>(home: &Home<A::State>, partition: PartitionId, clock: &Clock, act: A)
where
    A: Act + Clone,
{
    mail_until_taken(home, partition, clock, Do(act), MAIL_AGAIN);
}

/// Ends a state.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct End<S>(PhantomData<fn() -> S>);

impl<S> Clone for End<S> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<S: State> Operation for End<S> {
    type Target = Kept<S>;
    type Output = ();
    const NAME: &'static str = "structure.end";
    const ACTION: Action = Action::Destroy;
    const SHORT: bool = false;
    const PRIORITY: bool = true;

    fn run(&mut self, kept: &mut Kept<S>, turn: &mut KeptTurn<'_, S>) -> Step<Self> {
        if !std::mem::replace(&mut kept.ended, true) {
            kept.state.end().into_iter().for_each(|event| turn.happened(event));
        }
        Step::done(())
    }
}

impl<S: State> Kept<S> {
    /// Why nothing can be done any more, when the structure is destroyed.
    fn gone(&self) -> Option<GridError> {
        self.ended
            .then(|| GridError::Destroyed { structure: format!("{} {}", S::SERVICE.as_str(), self.name) })
    }
}
