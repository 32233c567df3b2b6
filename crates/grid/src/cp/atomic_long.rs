//! A number that is changed in one step.

use crate::code::{Code, Registry};
use crate::error::GridResult;
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, State, acts};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use filbert_wire::{Data, FromData, ToData};
use std::convert::Infallible;
use std::sync::Arc;

/// A number that is changed in one step. It wraps around at its ends.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let next = filbert_grid::Grid::new(&stages).atomic_long("next");
/// assert_eq!(next.add_and_get(5).wait()?, 5);
/// assert!(next.compare_and_set(5, 7).wait()? && !next.compare_and_set(5, 8).wait()?);
/// assert_eq!(next.get().wait()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicLong {
    keeper: Keeper<Long>,
}

/// The number.
#[derive(Debug)]
pub(crate) struct Long {
    value: i64,
    registry: Registry,
}

impl State for Long {
    const SERVICE: Service = Service::AtomicLong;
    type Event = Infallible;

    fn end(&mut self) -> Vec<Infallible> {
        Vec::new()
    }
}

acts! {
    Long;
    /// The number.
    Read "atomic_long.get" Get {} -> i64 = |self, long, _turn| Step::done(long.value);
    /// Adds to it; what it was.
    Put "atomic_long.get_and_add" GetAndAdd { delta: i64 } -> i64 = |self, long, _turn| {
        let sum = long.value.wrapping_add(self.delta);
        Step::done(std::mem::replace(&mut long.value, sum))
    };
    /// Adds to it; what it is then.
    Put "atomic_long.add_and_get" AddAndGet { delta: i64 } -> i64 = |self, long, _turn| {
        long.value = long.value.wrapping_add(self.delta);
        Step::done(long.value)
    };
    /// Sets it; what it was.
    Put "atomic_long.get_and_set" GetAndSet { value: i64 } -> i64
        = |self, long, _turn| Step::done(std::mem::replace(&mut long.value, self.value));
    /// Sets it if it is what is expected; whether it was.
    Put "atomic_long.compare_and_set" CompareAndSet { expected: i64, value: i64 } -> bool = |self, long, _turn| {
        let same = long.value == self.expected;
        if same {
            long.value = self.value;
        }
        Step::done(same)
    };
    /// Sets it to what a function makes of it; what it was, or is then.
    Execute "atomic_long.alter" Alter { function: Code, old: bool } -> i64, long = |self, long, _turn| {
        let altered = long.altered(&self.function).map(|altered| {
            let old = std::mem::replace(&mut long.value, altered);
            if self.old { old } else { altered }
        });
        Step::Done(altered)
    };
    /// What a function makes of it.
    Execute "atomic_long.apply" Apply { function: Code } -> Option<Data>, long = |self, long, _turn| {
        let applied = long.registry.function(&self.function).and_then(|function| {
            function.apply(Some(&data(long.value)))
        });
        Step::Done(applied)
    };
}

fn data(value: i64) -> Data {
    value.to_data().expect("a number can be written")
}

impl Long {
    fn altered(&self, code: &Code) -> GridResult<i64> {
        let function = self.registry.function(code)?;
        let made = function.apply(Some(&data(self.value)))?;
        let made = made.ok_or_else(|| function.gave("it gave nothing, not a long"))?;
        i64::from_data(&made).map_err(|other| function.gave(other.to_string()))
    }
}

impl AtomicLong {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let long = Long { value: 0, registry: grid.registry().clone() };
        Self { keeper: Keeper::single(grid, name, long) }
    }

    /// The number; 0 at first.
    pub fn get(&self) -> Invocation<i64> {
        self.keeper.call(Get {})
    }

    /// Sets it.
    pub fn set(&self, value: i64) -> Invocation<i64> {
        self.get_and_set(value)
    }

    /// Sets it; what it was.
    pub fn get_and_set(&self, value: i64) -> Invocation<i64> {
        self.keeper.call(GetAndSet { value })
    }

    /// Adds to it; what it was.
    pub fn get_and_add(&self, delta: i64) -> Invocation<i64> {
        self.keeper.call(GetAndAdd { delta })
    }

    /// Adds to it; what it is then.
    pub fn add_and_get(&self, delta: i64) -> Invocation<i64> {
        self.keeper.call(AddAndGet { delta })
    }

    /// Sets it if it is `expected`; whether it was.
    pub fn compare_and_set(&self, expected: i64, value: i64) -> Invocation<bool> {
        self.keeper.call(CompareAndSet { expected, value })
    }

    /// Sets it to what the registered function makes of it; what it is then.
    pub fn alter_and_get(&self, function: &Code) -> Invocation<i64> {
        self.keeper.call(Alter { function: function.clone(), old: false })
    }

    /// Sets it to what the registered function makes of it; what it was.
    pub fn get_and_alter(&self, function: &Code) -> Invocation<i64> {
        self.keeper.call(Alter { function: function.clone(), old: true })
    }

    /// What the registered function makes of it; it stays as it is.
    pub fn apply(&self, function: &Code) -> Invocation<Option<Data>> {
        self.keeper.call(Apply { function: function.clone() })
    }
}

impl Structure for AtomicLong {
    fn service(&self) -> Service {
        Service::AtomicLong
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
