//! SIGINT and SIGTERM while a command works: the work is cancelled, what it did is reported, and the exit status says which signal it
//! was. A second signal ends the process at once: work that is still prepared, or slow to end, is waited for by nobody who asks twice.
//! Files that are not whole are removed then too.
//! A shell goes on after SIGINT, however often it comes.

use filbert::Member;
use filbert::connect::file::Draft;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// Cancels what a command does when the process is told to end. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Interruption {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    signal: Option<&'static str>,
    cancel: Option<Box<dyn Fn() + Send>>,
}

/// What a command did was cancelled by a signal.
#[derive(Debug, thiserror::Error)]
#[error("{signal}: cancelled")]
pub(super) struct Interrupted {
    signal: &'static str,
}

impl Interrupted {
    /// What a shell says of a program that a signal ended.
    pub(super) fn status(&self) -> u8 {
        match self.signal {
            "SIGHUP" => 129,
            "SIGINT" => 130,
            _ => 143,
        }
    }
}

impl Interruption {
    /// From here on signals end the process no longer; the second one does.
    pub(super) fn heeded_by(member: &Member) -> io::Result<Self> {
        Self::heeded(member, |told, _| told.interrupted().is_some())
    }

    /// From here on SIGINT ends the process no longer; SIGTERM does.
    pub(super) fn heeded_by_shell(member: &Member) -> io::Result<Self> {
        Self::heeded(member, |_, signal| signal != "SIGINT")
    }

    fn heeded(
        member: &Member,
        ends: impl Fn(&Self, &'static str) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let interruption = Self::default();
        let told = interruption.clone();
        member.on_end_signals(move |signal| {
            if ends(&told, signal) {
                // Without a word: a terminal that is stopped would hold it up.
                Draft::exit(Interrupted { signal }.status().into());
            }
            told.tell(signal);
        })?;
        Ok(interruption)
    }

    /// What cancels the work; called at once, if the signal was there before it.
    pub(super) fn cover(&self, cancel: impl Fn() + Send + 'static) {
        let mut state = self.state();
        if state.signal.is_some() {
            cancel();
        }
        state.cancel = Some(Box::new(cancel));
    }

    /// A shell begins something new: a signal that came before is not meant for it.
    pub(super) fn forget(&self) {
        *self.state() = State::default();
    }

    pub(super) fn tell(&self, signal: &'static str) {
        let mut state = self.state();
        state.signal = Some(signal);
        if let Some(cancel) = &state.cancel {
            cancel();
        }
    }

    /// What a signal made of the work, if there was one.
    pub(super) fn interrupted(&self) -> Option<Interrupted> {
        self.state().signal.map(|signal| Interrupted { signal })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}
