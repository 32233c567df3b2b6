//! A value that is changed in one step.

use crate::code::{Code, Registry};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, State, acts};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use filbert_wire::Data;
use std::convert::Infallible;
use std::sync::Arc;

/// A value that is changed in one step, or none. Values are compared by their bytes.
///
/// ```
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let leader = filbert_grid::Grid::new(&stages).atomic_reference("leader");
/// let (ann, bob) = (Data::new(-3, b"a"), Data::new(-3, b"b"));
/// assert!(leader.compare_and_set(None, Some(&ann)).wait()?);
/// assert!(!leader.compare_and_set(None, Some(&bob)).wait()?);
/// assert_eq!(leader.get().wait()?, Some(ann));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicReference {
    keeper: Keeper<Reference>,
}

/// The value.
#[derive(Debug)]
pub(crate) struct Reference {
    value: Option<Data>,
    registry: Registry,
}

impl State for Reference {
    const SERVICE: Service = Service::AtomicReference;
    type Event = Infallible;

    fn end(&mut self) -> Vec<Infallible> {
        self.value = None;
        Vec::new()
    }
}

acts! {
    Reference;
    /// The value.
    Read "atomic_reference.get" Get {} -> Option<Data> = |self, reference, _turn| Step::done(reference.value.clone());
    /// Whether it is that value.
    Read "atomic_reference.contains" Contains { value: Option<Data> } -> bool
        = |self, reference, _turn| Step::done(reference.value == self.value);
    /// Sets it; what it was.
    Put "atomic_reference.get_and_set" GetAndSet { value: Option<Data> } -> Option<Data>
        = |self, reference, _turn| Step::done(std::mem::replace(&mut reference.value, self.value.take()));
    /// Sets it if it is what is expected; whether it was.
    Put "atomic_reference.compare_and_set" CompareAndSet { expected: Option<Data>, value: Option<Data> } -> bool
        = |self, reference, _turn| {
            let same = reference.value == self.expected;
            if same {
                reference.value = self.value.take();
            }
            Step::done(same)
        };
    /// Sets it to what a function makes of it; what it was and what it is then.
    Execute "atomic_reference.alter" Alter { function: Code } -> (Option<Data>, Option<Data>), long
        = |self, reference, _turn| {
            let made = reference.registry.function(&self.function);
            let made = made.and_then(|function| function.apply(reference.value.as_ref()));
            Step::Done(made.map(|made| {
                let made = made.map(|made| made.detached());
                (std::mem::replace(&mut reference.value, made.clone()), made)
            }))
        };
    /// What a function makes of it.
    Execute "atomic_reference.apply" Apply { function: Code } -> Option<Data>, long = |self, reference, _turn| {
        let made = reference.registry.function(&self.function);
        Step::Done(made.and_then(|function| function.apply(reference.value.as_ref())))
    };
}

impl AtomicReference {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let reference = Reference { value: None, registry: grid.registry().clone() };
        Self { keeper: Keeper::single(grid, name, reference) }
    }

    /// The value; none at first.
    pub fn get(&self) -> Invocation<Option<Data>> {
        self.keeper.call(Get {})
    }

    /// Whether it is `value`.
    pub fn contains(&self, value: Option<&Data>) -> Invocation<bool> {
        self.keeper.call(Contains { value: value.cloned() })
    }

    /// Sets it; what it was.
    pub fn get_and_set(&self, value: Option<&Data>) -> Invocation<Option<Data>> {
        self.keeper.call(GetAndSet { value: value.map(Data::detached) })
    }

    /// Sets it if it is `expected`; whether it was.
    pub fn compare_and_set(&self, expected: Option<&Data>, value: Option<&Data>) -> Invocation<bool> {
        self.keeper.call(CompareAndSet { expected: expected.cloned(), value: value.map(Data::detached) })
    }

    /// Sets it to what the registered function makes of it; what it was, and what it is then.
    pub fn alter(&self, function: &Code) -> Invocation<(Option<Data>, Option<Data>)> {
        self.keeper.call(Alter { function: function.clone() })
    }

    /// What the registered function makes of it; it stays as it is.
    pub fn apply(&self, function: &Code) -> Invocation<Option<Data>> {
        self.keeper.call(Apply { function: function.clone() })
    }
}

impl Structure for AtomicReference {
    fn service(&self) -> Service {
        Service::AtomicReference
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
