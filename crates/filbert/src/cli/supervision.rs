//! The states that a member tells its supervisor, such as systemd with `Type=notify`: it serves, it
//! lives, it ends.

use filbert::Stages;
use filbert::pool::Canceller;
use filbert_net::Supervisor;
use std::sync::{Arc, Mutex, PoisonError};

/// A member's supervisor, or none.
pub(super) struct Supervision {
    supervisor: Option<Arc<Supervisor>>,
    /// The flag of a member that ends: its supervisor is told no other state. Locked while a state is told.
    is_ending: Mutex<bool>,
}

impl Supervision {
    /// Finds the supervisor that the environment names. One that does not listen is logged: the
    /// member serves without it.
    pub(super) fn find() -> Self {
        let supervisor = Supervisor::from_environment().unwrap_or_else(|error| {
            tracing::warn!(%error, "the supervisor named by NOTIFY_SOCKET does not listen");
            None
        });
        Self { supervisor: supervisor.map(Arc::new), is_ending: Mutex::new(false) }
    }

    /// Tells that the member serves.
    pub(super) fn serves(&self) {
        self.tell("READY=1\nSTATUS=serves clients");
    }

    /// Tells that the member reads its settings again, and at the end of `read`, also by a panic, that it serves.
    pub(super) fn while_reloading<T>(&self, read: impl FnOnce() -> T) -> T {
        /// The end of a reload.
        struct Reloading<'a>(&'a Supervision);
        impl Drop for Reloading<'_> {
            fn drop(&mut self) {
                self.0.serves();
            }
        }
        self.tell("RELOADING=1\nSTATUS=reads its settings again");
        let _reloading = Reloading(self);
        read()
    }

    /// Tells from now on that the member lives, twice as often as the supervisor wants to hear it, until the result is dropped.
    ///
    /// A sign of life takes an answer of each loop of `io`: a member with a loop that makes no progress gives none. It does not take a task of
    /// `maintenance`, whose few threads may all be busy with the disk for long while the member serves.
    pub(super) fn watched(&self, stages: &Stages) -> Option<Watched> {
        let supervisor = self.supervisor.clone()?;
        let limit = Supervisor::watchdog_from_environment()?;
        let weak = stages.downgrade();
        let watch = async move {
            loop {
                tokio::time::sleep(limit / 2).await;
                let Some(stages) = weak.upgrade() else { return };
                let io = stages.io();
                let answers = (0..io.loops()).map(|on| io.spawn_on(on, "answer the supervisor", async {}));
                // Refused when a loop has too much to do, and when the member ends.
                let Ok(answers) = answers.collect::<Result<Vec<_>, _>>() else { continue };
                drop(stages);
                if futures::future::try_join_all(answers).await.is_ok() {
                    notify(&supervisor, "WATCHDOG=1");
                }
            }
        };
        let watch = stages.io().spawn("tell the supervisor", watch).ok()?;
        Some(Watched(watch.canceller()))
    }

    /// Tells that the member ends. No reload that is under way says otherwise.
    pub(super) fn stopping(&self) {
        let mut is_ending = self.is_ending.lock().unwrap_or_else(PoisonError::into_inner);
        *is_ending = true;
        self.notify("STOPPING=1\nSTATUS=drains");
    }

    fn tell(&self, state: &str) {
        let is_ending = self.is_ending.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_ending {
            self.notify(state);
        }
    }

    fn notify(&self, state: &str) {
        if let Some(supervisor) = &self.supervisor {
            notify(supervisor, state);
        }
    }
}

/// The promise of signs of life; none comes any more when it is dropped.
pub(super) struct Watched(Canceller);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn notify(supervisor: &Supervisor, state: &str) {
    if let Err(error) = supervisor.notify(state) {
        tracing::warn!(%error, state, "the supervisor did not take a state");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_reload_ends_whatever_happens_and_says_nothing_of_an_ending_member() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let hear = || {
            let mut state = [0; 200];
            let length = socket.recv(&mut state).ok()?;
            String::from_utf8_lossy(&state[..length]).lines().next().map(str::to_owned)
        };
        let supervisor = Supervisor::at(path.as_os_str()).unwrap();
        let supervision =
            Supervision { supervisor: Some(Arc::new(supervisor)), is_ending: Mutex::new(false) };
        let broken = || supervision.while_reloading(|| panic!("a reload that breaks"));
        assert!(catch_unwind(AssertUnwindSafe(broken)).is_err());
        assert_eq!([hear(), hear(), hear()].map(Option::unwrap_or_default), ["RELOADING=1", "READY=1", ""]);
        supervision.while_reloading(|| supervision.stopping());
        supervision.serves();
        assert_eq!(
            [hear(), hear(), hear()].map(Option::unwrap_or_default),
            ["RELOADING=1", "STOPPING=1", ""]
        );
    }
}
