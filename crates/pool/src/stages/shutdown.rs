//! The end of all stages: from the top down, so that what a stage still has to do can use the stages below it.

use super::Inner;
use crate::context;
use crate::engine::{Ending, Engine};
use crate::error::TaskError;
use crate::rules::StageKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Do what was accepted, for as long as `shutdown.within_ms` allows; then cancel the rest.
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

/// How long threads may take to leave once nothing is left to do.
const LEAVE: Duration = Duration::from_secs(5);

pub(super) fn run(inner: &Inner, how: Shutdown) -> Result<ShutdownReport, TaskError> {
    if let Some(engine) = inner.engines().first()
        && context::current().kind != StageKind::Application
    {
        return Err(TaskError::WaitRefused { from: context::current(), to: engine.metrics().id });
    }
    let mut ending = inner.ending.lock().unwrap_or_else(|broken| broken.into_inner());
    if let Some(report) = &*ending {
        return Ok(report.clone());
    }
    let mut report = ShutdownReport::default();
    let deadline = Deadline::new(inner, Duration::from_millis(inner.settings.number("shutdown.within_ms")));
    for kind in ORDER {
        let gentle = how == Shutdown::Drain && !matches!(kind, StageKind::Maintenance | StageKind::Io);
        let engines: Vec<_> =
            inner.engines().into_iter().filter(|engine| engine.metrics().id.kind == kind).collect();
        for engine in &engines {
            engine.close(if gentle { Ending::Drain } else { Ending::Cancel });
        }
        if gentle {
            for engine in &engines {
                if !deadline.wait_until(engine) {
                    report.cut_short.push(engine.metrics().id.name);
                    engine.close(Ending::Cancel);
                }
            }
        }
    }
    inner.env.timers().close();
    report.left_behind = inner.env.threads().join(LEAVE);
    *ending = Some(report.clone());
    Ok(report)
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

    /// Waits until the engine has done all it had; false when the time is over first.
    fn wait_until(&self, engine: &Arc<dyn Engine>) -> bool {
        if let Some(simulator) = self.inner.env.simulator() {
            simulator.drive(&self.inner.env, Some(self.simulated), &mut || engine.is_drained());
            return engine.is_drained();
        }
        let mut pause = Duration::from_micros(20);
        while !engine.is_drained() {
            if Instant::now() >= self.real {
                return false;
            }
            // sleeps because an end is rare, and a last task has no one to tell: looking again is simplest.
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        }
        true
    }
}
