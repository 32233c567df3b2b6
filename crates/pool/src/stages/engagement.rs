//! Undertakings that use several stages at once, such as a job with tasklets, blocking threads and files.
//!
//! Stages end from the top down, which is right for work that only calls downwards. An undertaking has parts on stages of all levels,
//! and to end one of them cuts it short. So whoever runs one is *engaged* meanwhile, and a draining shutdown waits for all engagements
//! before it ends the first stage. Rejected: to end `flow` before `dedicated` and `mixed`. A job whose processors all block has nothing
//! on `flow`.

use super::Inner;
use crate::context::{self, StageId};
use crate::error::SubmitError;
use crate::rules::StageKind;
use std::sync::{Arc, Mutex, MutexGuard};

/// Holds up a draining shutdown until it is dropped; made by [`Stages::engage`](super::Stages::engage).
#[must_use = "dropped, it holds up nothing"]
pub struct Engagement {
    all: Arc<Engagements>,
    kind: StageKind,
}

/// All engagements of a set of stages.
#[derive(Debug, Default)]
pub(super) struct Engagements {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    admits: Admits,
    /// What is under way, by the stage that it is of; one entry each.
    live: Vec<StageKind>,
}

/// Who may begin something.
#[derive(Debug, Default, PartialEq, Eq)]
enum Admits {
    #[default]
    All,
    /// Not the application: it has asked for the end.
    Tasks,
    /// The first stage may have ended.
    Nobody,
}

impl Engagements {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// From now on the application begins nothing; tasks that were accepted still may, as long as something is under way.
    pub(super) fn close(&self) {
        self.lock().admits = Admits::Tasks;
    }

    /// True when nothing is under way; from then on nobody begins anything.
    pub(super) fn is_over(&self) -> bool {
        let mut state = self.lock();
        if state.live.is_empty() {
            state.admits = Admits::Nobody;
        }
        state.live.is_empty()
    }

    /// Nobody begins anything more. Of which stages something is still under way.
    pub(super) fn cut(&self) -> Vec<StageKind> {
        let mut state = self.lock();
        state.admits = Admits::Nobody;
        let mut kinds: Vec<StageKind> = Vec::new();
        for kind in &state.live {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        kinds
    }
}

pub(super) fn engage(inner: &Inner, kind: StageKind) -> Result<Engagement, SubmitError> {
    let all = Arc::clone(&inner.engagements);
    let mut state = all.lock();
    let is_outside = context::current().kind == StageKind::Application;
    if state.admits == Admits::Nobody || (is_outside && state.admits == Admits::Tasks) {
        return Err(SubmitError::ShutDown { stage: StageId::of(kind) });
    }
    state.live.push(kind);
    drop(state);
    Ok(Engagement { all, kind })
}

impl Drop for Engagement {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        if let Some(place) = state.live.iter().position(|kind| *kind == self.kind) {
            state.live.swap_remove(place);
        }
    }
}

impl std::fmt::Debug for Engagement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engagement({})", StageId::of(self.kind).name)
    }
}

#[cfg(test)]
mod tests {
    use crate::eventually::eventually;
    use crate::{Shutdown, StageKind, Stages};
    use std::sync::mpsc::channel;

    #[test]
    fn tasks_may_begin_something_only_while_something_is_under_way() {
        let stages = Stages::builder().executor("work").start().unwrap();
        let engaged = stages.engage(StageKind::Flow).unwrap();
        let (ask, asked) = channel::<()>();
        let (answer, answered) = channel();
        let inside = stages.clone();
        let task = stages.executor("work").unwrap().submit("ask", move || {
            for () in asked {
                answer.send(inside.engage(StageKind::Flow)).unwrap();
            }
        });
        let begun = || {
            ask.send(()).unwrap();
            answered.recv().unwrap()
        };
        let ending = stages.clone();
        let end = std::thread::spawn(move || ending.shutdown(Shutdown::Drain));
        eventually("the drain to begin", || stages.engage(StageKind::Flow).is_err());
        let by_task = begun().expect("a task may, as something is under way");
        drop(engaged);
        let another = begun().expect("and once more");
        drop((by_task, another));
        eventually("the last one to be over", || begun().is_err());
        drop(ask);
        assert_eq!(end.join().unwrap().unwrap().cut_short, Vec::<&str>::new());
        task.unwrap().wait().unwrap();
    }
}
