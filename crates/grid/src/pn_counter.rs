//! A counter that every member counts for itself, so that it can always be changed; the parts are added up when it is read.
//!
//! A reader says how much of each part it has seen; a member that knows less must not answer, or the reader would see the counter go back.
//! One member has one part: the counter's version here is the number of its changes.

use crate::error::{GridError, GridResult};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, State, acts};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use std::convert::Infallible;
use std::sync::Arc;
use uuid::Uuid;

/// A value of a counter, and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// The value.
    pub value: i64,
    /// The member whose part it is.
    pub replica: Uuid,
    /// How many changes of it are in the value.
    pub version: i64,
}

/// A counter.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let visits = filbert_grid::Grid::new(&stages).pn_counter("visits");
/// assert_eq!(visits.add(5, None).wait()?.value, 5);
/// let seen = visits.add(-2, None).wait()?;
/// assert_eq!((seen.value, seen.version), (3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PnCounter {
    keeper: Keeper<Part>,
}

/// This member's part.
#[derive(Debug)]
pub(crate) struct Part(Counted);

impl State for Part {
    const SERVICE: Service = Service::PnCounter;
    type Event = Infallible;

    fn end(&mut self) -> Vec<Infallible> {
        Vec::new()
    }
}

acts! {
    Part;
    /// Adds to it.
    Put "pn_counter.add" Add { delta: i64, seen: Option<i64> } -> Counted = |self, part, _turn| {
        let known = part.at_least(self.seen).map(|()| {
            part.0.value = part.0.value.wrapping_add(self.delta);
            part.0.version += 1;
            part.0
        });
        Step::Done(known)
    };
    /// What it stands at.
    Read "pn_counter.get" Get { seen: Option<i64> } -> Counted
        = |self, part, _turn| Step::Done(part.at_least(self.seen).map(|()| part.0));
}

impl Part {
    /// Refused when the caller has seen more than is known here.
    fn at_least(&self, seen: Option<i64>) -> GridResult<()> {
        match seen {
            Some(seen) if seen > self.0.version => {
                Err(GridError::ConsistencyLost { seen, known: self.0.version })
            }
            _ => Ok(()),
        }
    }
}

impl PnCounter {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let nothing = Counted { value: 0, replica: grid.member(), version: 0 };
        Self { keeper: Keeper::single(grid, name, Part(nothing)) }
    }

    /// Adds `delta`, also a negative one; the value after that. `seen` is the version of the last value that the caller saw:
    /// [`ConsistencyLost`](GridError::ConsistencyLost) when that is not known here any more.
    pub fn add(&self, delta: i64, seen: Option<i64>) -> Invocation<Counted> {
        self.keeper.call(Add { delta, seen })
    }

    /// The value.
    pub fn get(&self, seen: Option<i64>) -> Invocation<Counted> {
        self.keeper.call(Get { seen })
    }
}

impl Structure for PnCounter {
    fn service(&self) -> Service {
        Service::PnCounter
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
