//! Tasks that tests register, and what they wait at.

use filbert_grid::{ExecutorTask, Grid, TaskContext};
use filbert_wire::Data;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How long a test waits for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A task that is a function of its argument and its context.
pub(crate) struct Task<F>(pub(crate) Data, pub(crate) F);

impl<F> ExecutorTask for Task<F>
where
    F: Fn(&Data, &TaskContext<'_>) -> Result<Option<Data>, String> + Send + Sync,
{
    fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String> {
        (self.1)(&self.0, context)
    }
}

/// Registers a task that is that function.
pub(crate) fn register<F>(grid: &Grid, name: &str, task: F)
where
    F: Fn(&Data, &TaskContext<'_>) -> Result<Option<Data>, String> + Clone + Send + Sync + 'static,
{
    grid.registry().add_task(name, move |argument| Ok(Task(argument.clone(), task.clone())));
}

/// Opens once; tasks wait at it, and tell that they do.
#[derive(Default)]
pub(crate) struct Door {
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Door {
    /// Waits until it is open.
    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(open, _)| !*open).unwrap());
    }

    /// Opens it.
    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_all();
    }

    /// Waits until so many tasks are there.
    pub(crate) fn visited_by(&self, count: usize) {
        let state = self.state.lock().unwrap();
        let waited = self.changed.wait_timeout_while(state, LONG, |(_, here)| *here < count).unwrap();
        assert!(!waited.1.timed_out(), "{count} tasks do not come");
    }
}
