//! SIGINT and SIGTERM while a job runs: the job is cancelled, what it did is reported, and the exit status says which signal it was. A
//! second signal ends the process at once: a job that is still prepared, or slow to end, is waited for by nobody who asks twice.

use filbert::{Job, Member};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// Cancels a job when the process is told to end. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Interruption {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    signal: Option<&'static str>,
    job: Option<Job>,
}

/// A job was cancelled by a signal.
#[derive(Debug, thiserror::Error)]
#[error("{signal}: the job was cancelled")]
pub(in crate::cli) struct Interrupted {
    signal: &'static str,
}

impl Interrupted {
    /// What a shell says of a program that a signal ended.
    pub(in crate::cli) fn status(&self) -> u8 {
        if self.signal == "SIGINT" { 130 } else { 143 }
    }
}

impl Interruption {
    /// From here on signals end the process no longer.
    pub(super) fn heeded_by(member: &Member) -> io::Result<Self> {
        let interruption = Self::default();
        let told = interruption.clone();
        member.on_end_signals(move |signal| {
            if told.interrupted().is_some() {
                // Without a word: a terminal that is stopped would hold it up.
                std::process::exit(Interrupted { signal }.status().into());
            }
            told.tell(signal);
        })?;
        Ok(interruption)
    }

    /// The job to cancel; at once, if the signal was there before it.
    pub(super) fn cover(&self, job: &Job) {
        let mut state = self.state();
        state.job = Some(job.clone());
        if state.signal.is_some() {
            job.cancel();
        }
    }

    pub(super) fn tell(&self, signal: &'static str) {
        let mut state = self.state();
        state.signal = Some(signal);
        if let Some(job) = &state.job {
            job.cancel();
        }
    }

    /// What a signal made of the job, if there was one.
    pub(super) fn interrupted(&self) -> Option<Interrupted> {
        self.state().signal.map(|signal| Interrupted { signal })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}
