//! A door that is open: who came through it, and how it is closed again.

use crate::ledger::{ConnectionStats, DoorStats, Ledger};
use crate::link::Order;
use crate::reason::CloseReason;
use crate::settings::NetSettings;
use crate::tls::Certificates;
use crate::tls::renewable::RenewableAcceptor;
use filbert_pool::{Stages, SubmitError, TaskFuture};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long connections that were told to close at once may take to notice.
const LEAVE: Duration = Duration::from_secs(5);

/// A listener at work. Dropping it closes it and its connections.
///
/// Made by [`Listener::listen`](crate::Listener::listen).
#[derive(Debug)]
#[must_use = "dropped, it closes at once"]
pub struct Door {
    inner: Arc<DoorInner>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainReport {
    /// Connections that were there when it began.
    pub connections: usize,
    /// Connections that were not done in time and were closed hard.
    pub cut_short: usize,
}

/// Reads what a door has seen, also when it is closed already. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DoorWatcher {
    ledger: Arc<Ledger>,
    local: SocketAddr,
}

impl DoorWatcher {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the door has seen so far.
    pub fn stats(&self) -> DoorStats {
        self.ledger.stats()
    }

    /// What each connection says of itself, oldest first.
    pub fn connections(&self) -> Vec<ConnectionStats> {
        self.ledger.connections()
    }
}

/// What the accepting loop shares with the door.
#[derive(Debug)]
pub(crate) struct DoorInner {
    pub(crate) stages: Stages,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) local: SocketAddr,
    settings: Arc<NetSettings>,
    /// `None`: the door is not encrypted.
    tls: Option<Arc<RenewableAcceptor>>,
    accepting: Mutex<Option<TaskFuture<()>>>,
}

impl DoorInner {
    pub(crate) fn new(
        stages: Stages,
        settings: Arc<NetSettings>,
        tls: Option<Arc<RenewableAcceptor>>,
        local: SocketAddr,
    ) -> Self {
        let ledger = Ledger::new(stages.io().loops());
        let names = Arc::downgrade(&ledger);
        stages.name_origins(names);
        Self { stages, ledger, local, settings, tls, accepting: Mutex::new(None) }
    }

    pub(crate) fn accepts(&self, accepting: TaskFuture<()>) {
        *self.accepting.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(accepting);
    }

    /// The listening socket closes when its loop gets there.
    fn stop_accepting(&self) {
        let accepting = self.accepting.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        if let Some(accepting) = accepting {
            accepting.cancel();
        }
    }
}

impl Door {
    pub(crate) fn new(inner: Arc<DoorInner>) -> Self {
        Self { inner }
    }

    /// Where it listens, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local
    }

    /// The limits it was opened with.
    pub fn settings(&self) -> &NetSettings {
        &self.inner.settings
    }

    /// How many connections there are now, those in their handshake included.
    pub fn connection_count(&self) -> usize {
        self.inner.ledger.count()
    }

    /// What each connection says of itself, oldest first.
    pub fn connections(&self) -> Vec<ConnectionStats> {
        self.inner.ledger.connections()
    }

    /// What the door has seen so far.
    pub fn stats(&self) -> DoorStats {
        self.inner.ledger.stats()
    }

    /// A handle that reads the same and keeps nothing open.
    pub fn watcher(&self) -> DoorWatcher {
        DoorWatcher { ledger: Arc::clone(&self.inner.ledger), local: self.inner.local }
    }

    /// Shows these certificates to connections that come from now on; those that are there stay as they are. Returns false, and does
    /// nothing, when the door was opened without encryption.
    pub fn renew(&self, certificates: Certificates) -> bool {
        if let Some(tls) = &self.inner.tls {
            tls.renew(certificates);
        }
        self.inner.tls.is_some()
    }

    /// Closes the connections that `which` selects, with [`CloseReason::UserChanged`], without sending what waits for them. Returns how
    /// many they are.
    pub fn close_users(&self, which: impl Fn(&ConnectionStats) -> bool) -> usize {
        self.inner.ledger.order_those(Order::Close(CloseReason::UserChanged), which)
    }

    /// Accepts no more, lets each connection send what it owes, and closes it; after `timeout` closes the rest hard. The future
    /// is done when no connection is left: await it, or wait for it where that is allowed.
    pub fn drain(&self, timeout: Duration) -> Result<TaskFuture<DrainReport>, SubmitError> {
        self.inner.stop_accepting();
        let ledger = Arc::clone(&self.inner.ledger);
        self.inner.stages.io().spawn("drain", async move {
            let connections = ledger.order_all(Order::Drain);
            let mut cut_short = 0;
            if tokio::time::timeout(timeout, ledger.wait_until_empty()).await.is_err() {
                cut_short = ledger.order_all(Order::Close(CloseReason::DoorClosed));
                // What does not notice is inside its protocol's code and ends with it.
                let _ = tokio::time::timeout(LEAVE, ledger.wait_until_empty()).await;
            }
            DrainReport { connections, cut_short }
        })
    }

    /// Accepts no more and tells all connections to close at once; does not wait for them.
    pub fn close(&self) {
        self.inner.stop_accepting();
        self.inner.ledger.order_all(Order::Close(CloseReason::DoorClosed));
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}
