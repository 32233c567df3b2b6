//! The states that a member tells its supervisor, such as systemd with `Type=notify`: it serves, it
//! lives, it ends.

use filbert::{Periodic, Stages};
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

    /// Tells that the member serves, and from now on that it lives, twice as often as the
    /// supervisor wants to hear it.
    ///
    /// A sign of life takes a task of `maintenance` and one of `io`: a member whose threads make no
    /// progress gives none.
    pub(super) fn ready(&self, stages: &Stages) -> Option<Periodic> {
        let supervisor = self.supervisor.clone()?;
        notify(&supervisor, "READY=1\nSTATUS=serves clients");
        let limit = Supervisor::watchdog_from_environment()?;
        let weak = stages.downgrade();
        Some(stages.maintenance().every("tell the supervisor", limit / 2, move || {
            let Some(stages) = weak.upgrade() else { return };
            let supervisor = Arc::clone(&supervisor);
            let lives = async move { notify(&supervisor, "WATCHDOG=1") };
            // Refused when the member ends.
            if let Ok(told) = stages.io().spawn("tell the supervisor", lives) {
                told.detach();
            }
        }))
    }

    /// Tells that the member ends.
    pub(super) fn stopping(&self) {
        if let Some(supervisor) = &self.supervisor {
            notify(supervisor, "STOPPING=1\nSTATUS=drains");
        }
    }
}

fn notify(supervisor: &Supervisor, state: &str) {
    if let Err(error) = supervisor.notify(state) {
        tracing::warn!(%error, state, "the supervisor did not take a state");
    }
}
