//! The end of all stages: from the top down, so that what a stage still has to do can use the stages below it. What has parts on
//! several stages is waited for before that: see `engagement`.

use super::Inner;
use crate::context::{self, StageId};
use crate::engine::Ending;
use crate::rules::StageKind;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Do what was accepted, for as long as `shutdown.within_ms` allows; then cancel the rest. Jobs and the like come first, while every
    /// stage still runs: one that never ends by itself uses the time up, so cancel it before.
    Drain,
    /// Drop what has not begun.
    Cancel,
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Stages that were not done in time, so that their queued work was cancelled.
    pub cut_short: Vec<&'static str>,
    /// Threads that are still inside a task and were left behind.
    pub left_behind: Vec<String>,
    /// The reason why changes that were accepted are not on disk, for each map; filled by the member that owns the stages.
    pub unsaved: Vec<String>,
}

/// From the top down. Maintenance and io hold up no one: they are cancelled, the latter last, since answers leave by it.
const ORDER: [StageKind; 12] = [
    StageKind::Maintenance,
    StageKind::Dedicated,
    StageKind::Executor,
    StageKind::Mixed,
    StageKind::Flow,
    StageKind::Query,
    StageKind::Fragment,
    StageKind::Partition,
    StageKind::Event,
    StageKind::Generic,
    StageKind::Cpu,
    StageKind::Io,
];

/// What a stage has even when another one used the time up: one that has nothing to do is not named for it.
const AT_LEAST: Duration = Duration::from_millis(500);

/// How far the end of a set of stages has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Open,
    /// By that thread.
    Ending(ThreadId),
    Over(ShutdownReport),
}

/// Why there was no shutdown: the caller stands where it would wait for itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a shutdown waits for every stage, so a task on stage {from} cannot ask for it; \
     tell a thread of the application to do it"
)]
#[non_exhaustive]
pub struct ShutdownRefused {
    /// Where the caller stands.
    pub from: StageId,
}

pub(super) fn run(inner: &Inner, how: Shutdown) -> Result<ShutdownReport, ShutdownRefused> {
    let from = context::current();
    let refused = Err(ShutdownRefused { from });
    if from.kind != StageKind::Application {
        return refused;
    }
    let me = std::thread::current().id();
    let mut state = inner.ending.lock();
    loop {
        match &*state {
            State::Over(report) => return Ok(report.clone()),
            // User code that this very shutdown drops, or calls back, asks for another one.
            State::Ending(thread) if *thread == me => return refused,
            State::Ending(_) => {
                state = inner.ending.over.wait(state).unwrap_or_else(|broken| broken.into_inner());
            }
            State::Open => break,
        }
    }
    *state = State::Ending(me);
    drop(state);
    let report = end(inner, how);
    *inner.ending.lock() = State::Over(report.clone());
    inner.ending.over.notify_all();
    Ok(report)
}

fn end(inner: &Inner, how: Shutdown) -> ShutdownReport {
    let mut report = ShutdownReport::default();
    let deadline = Deadline::new(inner, Duration::from_millis(inner.settings.number("shutdown.within_ms")));
    inner.engagements.close();
    if how == Shutdown::Drain {
        deadline.wait_until(&mut || inner.engagements.is_over());
    }
    for kind in inner.engagements.cut() {
        // First of all: what loses its files or threads before its turns fails instead of being cancelled.
        for engine in inner.engines().into_iter().filter(|engine| engine.metrics().id.kind == kind) {
            engine.close(Ending::Cancel);
        }
        if how == Shutdown::Drain {
            report.cut_short.push(StageId::of(kind).name);
        }
    }
    // Pools after the stage that they are beside, whose last tasks may need them.
    for (kind, is_pool) in ORDER.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let gentle = how == Shutdown::Drain && !matches!(kind, StageKind::Maintenance | StageKind::Io);
        let is_next = |id: StageId| id.kind == kind && (id != StageId::of(kind)) == is_pool;
        let engines: Vec<_> =
            inner.engines().into_iter().filter(|engine| is_next(engine.metrics().id)).collect();
        for engine in &engines {
            engine.close(if gentle { Ending::Drain } else { Ending::Cancel });
        }
        if gentle {
            for engine in &engines {
                let name = engine.metrics().id.name;
                if !deadline.wait_until(&mut || engine.is_drained()) && !report.cut_short.contains(&name) {
                    report.cut_short.push(name);
                }
                // Drained or not: what is left, threads that wait for more included, ends now.
                engine.close(Ending::Cancel);
            }
        }
    }
    inner.env.timers().close();
    let leave = Duration::from_millis(inner.settings.number("shutdown.leave_ms"));
    report.left_behind = inner.env.threads().join(leave);
    for engine in inner.engines() {
        let id = engine.metrics().id;
        // Maintenance holds up no one.
        if id.kind != StageKind::Maintenance {
            let threads = engine.leave_behind(leave);
            report.left_behind.extend(std::iter::repeat_n(id.name.to_owned(), threads));
        }
    }
    report
}

impl Progress {
    /// True when no end was asked for.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.lock(), State::Open)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// The last handle is gone without a shutdown: nothing more begins, threads end by themselves.
pub(super) fn abandon(inner: &Inner) {
    for engine in inner.engines() {
        engine.close(Ending::Cancel);
    }
    inner.env.timers().close();
}

struct Deadline<'a> {
    inner: &'a Inner,
    real: Instant,
    simulated: u64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the end of real threads takes real time; simulated stages take the other way"
)]
impl<'a> Deadline<'a> {
    fn new(inner: &'a Inner, within: Duration) -> Self {
        let simulated = inner.env.now().saturating_add(within.as_nanos() as u64);
        Self { inner, real: Instant::now() + within, simulated }
    }

    /// Waits until it is done; false when the time is over first.
    fn wait_until(&self, is_done: &mut dyn FnMut() -> bool) -> bool {
        if let Some(simulator) = self.inner.env.simulator() {
            simulator.drive(&self.inner.env, Some(self.simulated), is_done);
            return is_done();
        }
        let mut pause = Duration::from_micros(20);
        let until = self.real.max(Instant::now() + AT_LEAST);
        while !is_done() {
            if Instant::now() >= until {
                return false;
            }
            // sleeps because an end is rare, and a last task has no one to tell: looking again is simplest.
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        }
        true
    }
}
