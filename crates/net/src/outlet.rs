//! The way to a connection from any thread: for answers that come later, and for what nobody asked for (events).

use crate::link::{Link, Order};
use crate::protocol::{ConnectionId, ConnectionInfo};
use crate::reason::CloseReason;
use bytes::Bytes;
use std::sync::Arc;

/// Sends to one connection from any thread; cheap to clone.
///
/// What one thread sends arrives in that order. Nothing waits: bytes lie in a queue until the connection's loop writes them, all
/// at once. The queue is bounded: a send to a connection that has too much waiting already closes it.
#[derive(Debug, Clone)]
pub struct Outlet {
    link: Arc<Link>,
}

/// The connection is closed; the bytes go nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{connection} is closed, or was closed because its peer does not read; nothing was sent")]
#[non_exhaustive]
pub struct SendError {
    /// Which connection.
    pub connection: ConnectionId,
}

impl Outlet {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Sends `bytes`, which are shared and not copied when they are many.
    pub fn send(&self, bytes: impl Into<Bytes>) -> Result<(), SendError> {
        let bytes = bytes.into();
        self.sent(self.link.send(|backlog| backlog.push(bytes)))
    }

    /// Sends a copy of `bytes`.
    pub fn send_slice(&self, bytes: &[u8]) -> Result<(), SendError> {
        self.sent(self.link.send(|backlog| backlog.push_slice(bytes)))
    }

    fn sent(&self, sent: bool) -> Result<(), SendError> {
        if sent { Ok(()) } else { Err(SendError { connection: self.link.info.id }) }
    }

    /// True when the peer does not keep up: who can send less, should.
    pub fn is_congested(&self) -> bool {
        self.link.looks_congested()
    }

    /// Bytes that wait for the peer.
    pub fn in_flight(&self) -> usize {
        self.link.in_flight()
    }

    /// True when the connection has ended or is about to.
    pub fn is_closed(&self) -> bool {
        self.link.is_over()
    }

    /// Closes the connection soon, without sending what waits.
    pub fn close(&self) {
        self.link.order(Order::Close(CloseReason::Asked));
    }

    /// Sends what waits and the answers that are owed, then closes.
    pub fn drain(&self) {
        self.link.order(Order::Drain);
    }

    /// Says who has logged in at this connection. A second call changes nothing.
    pub fn logged_in_as(&self, user: &str) {
        self.link.user.get_or_init(|| Arc::from(user));
    }

    /// The connection's number.
    pub fn id(&self) -> ConnectionId {
        self.link.info.id
    }

    /// What is known of the connection.
    pub fn info(&self) -> &ConnectionInfo {
        &self.link.info
    }
}

/// An answer under way: the connection is drained only when it was sent or dropped, and is not given more messages than
/// the answers under way will probably leave room for.
///
/// Made by [`Outbound::owe`](crate::Outbound::owe).
#[derive(Debug)]
#[must_use = "dropped, the answer counts as one that will not come"]
pub struct Owed {
    /// Taken out when the answer was sent.
    outlet: Option<Outlet>,
    waits: bool,
    request_bytes: usize,
}

impl Owed {
    pub(crate) fn new(outlet: Outlet, request_bytes: usize) -> Self {
        outlet.link.owe(request_bytes);
        Self { outlet: Some(outlet), waits: false, request_bytes }
    }

    /// Bytes of the request that it answers.
    pub fn request_bytes(&self) -> usize {
        self.request_bytes
    }

    /// Sends the answer.
    pub fn send(mut self, bytes: impl Into<Bytes>) -> Result<(), SendError> {
        match self.outlet.take() {
            Some(outlet) => outlet.sent(outlet.link.send_owed(bytes.into(), self.waits, self.request_bytes)),
            None => Ok(()),
        }
    }

    /// Says that this answer may take any time, like that of a lock: it no longer counts against the messages that are
    /// handled meanwhile. A drain still waits for it.
    pub fn let_wait(&mut self) {
        if let (Some(outlet), false) = (&self.outlet, self.waits) {
            self.waits = true;
            outlet.link.let_wait(self.request_bytes);
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(outlet) = self.outlet.take() {
            outlet.link.forgive(self.waits, self.request_bytes);
        }
    }
}
