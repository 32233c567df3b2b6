//! A value that is changed in one step.

use crate::allowance::Weighs;
use crate::code::{Code, Registry};
use crate::error::GridResult;
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, State, acts};
use crate::memory::MemoryAccount;
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
    memory: Arc<MemoryAccount>,
}

impl State for Reference {
    const SERVICE: Service = Service::AtomicReference;
    type Event = Infallible;

    fn held_bytes(&self) -> usize {
        self.value.weight()
    }

    fn end(&mut self) -> Vec<Infallible> {
        self.value = None;
        Vec::new()
    }
}

impl Reference {
    /// Sets the value unless there is no memory for it; what it was. To have none always goes.
    fn set(&mut self, operation: &'static str, value: Option<Data>) -> GridResult<Option<Data>> {
        if let Some(value) = &value {
            self.memory.admit(operation, value.weight().saturating_sub(self.value.weight()))?;
        }
        Ok(std::mem::replace(&mut self.value, value))
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
        = |self, reference, _turn| {
            let value = self.value.take();
            Step::Done(reference.set("atomic_reference.get_and_set", value))
        };
    /// Sets it if it is what is expected; whether it was.
    Put "atomic_reference.compare_and_set" CompareAndSet { expected: Option<Data>, value: Option<Data> } -> bool
        = |self, reference, _turn| {
            if reference.value != self.expected {
                return Step::done(false);
            }
            let value = self.value.take();
            Step::Done(reference.set("atomic_reference.compare_and_set", value).map(|_| true))
        };
    /// Sets it to what a function makes of it; what it was and what it is then.
    Execute "atomic_reference.alter" Alter { function: Code } -> (Option<Data>, Option<Data>), long
        = |self, reference, _turn| {
            let made = reference.registry.function(&self.function);
            let made = made.and_then(|function| function.apply(reference.value.as_ref()));
            Step::Done(made.and_then(|made| {
                let made = made.map(|made| made.detached());
                Ok((reference.set("atomic_reference.alter", made.clone())?, made))
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
        let (registry, memory) = (grid.registry().clone(), Arc::clone(grid.memory()));
        let reference = Reference { value: None, registry, memory };
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
