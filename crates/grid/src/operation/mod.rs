//! An operation is a value: what to do with which target. It runs on the target's strand, alone, and never blocks.
//!
//! What it cannot do at once it leaves for later by what it returns: [`Step::Wait`] parks it until another operation says that
//! something changed, [`Step::Again`] lets others have their turn first. No closure is part of an operation: user code is registered by
//! name and looked up where the operation runs, so that the same value can be sent to another member.

mod turn;
mod under_way;

pub(crate) use turn::HeldBack;
pub use turn::Turn;
pub(crate) use under_way::{Duty, UnderWay};

use crate::error::{GridError, GridResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

/// What operations work on: the part of a structure that lives on one strand.
pub trait Target: Send + 'static {
    /// What an operation can wait for: a key's lock, an item, room.
    type Event: Clone + Debug + Eq + Hash + Send + 'static;

    /// True when all who wait for `event` want the same, so that when the first cannot be served no other can. Then the others are
    /// not tried, and a thousand that wait cost no more than one.
    fn is_in_line(_event: &Self::Event) -> bool {
        false
    }

    /// True when a write is refused before it runs while the member's memory for data is used up. A target that judges its writes one by one,
    /// with what each needs, says false.
    const REFUSES_WRITES: bool = false;

    /// The bytes of data that it holds, with what it needs for each item. Called after every operation that is no read: it must be cheap.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Why no operation can work on it, whatever it is: what it holds could not be read from disk.
    fn refuses(&self) -> Option<GridError> {
        None
    }
}

/// What a caller must be allowed to do. Each operation declares one; who has it is the front door's affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Action {
    /// Makes the structure.
    Create,
    /// Ends the structure, with all that is in it.
    Destroy,
    /// Reads.
    Read,
    /// Adds or changes.
    Put,
    /// Takes away.
    Remove,
    /// Takes and gives back locks.
    Lock,
    /// Hears of changes.
    Listen,
    /// Adds an index.
    Index,
    /// Runs registered code.
    Execute,
    /// Puts registered code between the structure and all who use it.
    Intercept,
}

/// Something to do with a target, as a value that can travel.
pub trait Operation: Serialize + DeserializeOwned + Send + Sized + 'static {
    /// What it works on.
    type Target: Target;
    /// What it gives.
    type Output: Send + 'static;
    /// Its name in metrics, slow-operation reports and errors: `map.get`.
    const NAME: &'static str;
    /// What its caller must be allowed to do.
    const ACTION: Action;
    /// True when it touches a few entries and runs no user code: then an io loop may run it at once.
    const SHORT: bool = true;
    /// True when a target that nobody has used yet has nothing for it, and needs nothing of it: then an operation on all partitions leaves
    /// those out.
    const SKIPS_UNUSED: bool = false;
    /// True when it is refused where a strand would have to be made for it and there is no memory left.
    const NEEDS_ROOM: bool = matches!(Self::ACTION, Action::Put);
    /// True when it goes before all others: of the system, not of users.
    const PRIORITY: bool = false;
    /// True when it may give back what others wait for, a lock or room: then it is taken also where work waits for too long.
    const RELIEVES: bool = matches!(Self::ACTION, Action::Lock | Action::Remove);

    /// Does it, or a part of it.
    fn run(&mut self, target: &mut Self::Target, turn: &mut Turn<'_, Self::Target>) -> Step<Self>;

    /// Its result when it waited until its deadline.
    fn expired(self, _target: &mut Self::Target) -> GridResult<Self::Output> {
        Err(GridError::TimedOut { operation: Self::NAME })
    }
}

/// What a run of an operation ended with.
#[derive(Debug)]
pub enum Step<O: Operation> {
    /// It is done.
    Done(GridResult<O::Output>),
    /// It can do nothing until `event` happens ([`Turn::happened`]), and then runs again; at `deadline` (of
    /// [`Turn::now`]'s clock) it ends with [`Operation::expired`].
    Wait {
        /// What it waits for.
        event: <O::Target as Target>::Event,
        /// Until when; `None` waits for ever.
        deadline: Option<Duration>,
    },
    /// It did a part and goes on after the others that are there.
    Again,
}

impl<O: Operation> Step<O> {
    /// Done, with this result.
    pub fn done(output: O::Output) -> Self {
        Step::Done(Ok(output))
    }

    /// Ended without a result.
    pub fn failed(error: GridError) -> Self {
        Step::Done(Err(error))
    }
}
