//! The states that a member tells its supervisor, such as systemd with `Type=notify`: it serves, it
//! lives, it ends.

use filbert::Stages;
use filbert::pool::Canceller;
use filbert_net::Supervisor;
use std::sync::Arc;

/// A member's supervisor, or none.
pub(super) struct Supervision {
    supervisor: Option<Arc<Supervisor>>,
}

impl Supervision {
    /// Finds the supervisor that the environment names. One that does not listen is logged: the
    /// member serves without it.
    pub(super) fn find() -> Self {
        let supervisor = Supervisor::from_environment().unwrap_or_else(|error| {
            tracing::warn!(%error, "the supervisor named by NOTIFY_SOCKET does not listen");
            None
        });
        Self { supervisor: supervisor.map(Arc::new) }
    }

    /// Tells that the member serves.
    pub(super) fn serves(&self) {
        self.tell("READY=1\nSTATUS=serves clients");
    }

    /// Tells that the member reads its settings again. [`Supervision::serves`] says when it has.
    pub(super) fn reloading(&self) {
        self.tell("RELOADING=1\nSTATUS=reads its settings again");
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

    fn tell(&self, state: &str) {
        if let Some(supervisor) = &self.supervisor {
            notify(supervisor, state);
        }
    }

    /// Tells that the member ends.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=drains");
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
