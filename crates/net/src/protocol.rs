//! What a connection speaks: a plain state machine, without sockets, threads and async, so that it can be tested with bytes alone.

use crate::outbound::Outbound;
use crate::reason::CloseReason;
use bytes::BytesMut;
use filbert_pool::Origin;
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// One connection's side of a protocol. All calls come from the loop that the connection lives on, one at a time.
///
/// It must not block and should not compute: the other connections of the loop wait meanwhile. Hand longer work to another stage
/// with an [`Owed`](crate::Owed) answer.
pub trait Protocol: Send + 'static {
    /// The connection is open (after the TLS handshake), nothing was received yet.
    fn opened(&mut self, out: &mut Outbound) -> Result<(), Close> {
        let _ = out;
        Ok(())
    }

    /// Takes whole messages out of `input` and handles them; what is left is there again next time, with more behind it.
    ///
    /// Between two messages it should look at [`Outbound::is_congested`] and return when it is: it is called again, with the same
    /// input, when the peer has taken what waits for it.
    ///
    /// `input` is borrowed from the loop. To keep a part of it, copy it: a slice that is split off keeps the whole buffer alive.
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close>;

    /// The longest message it accepts now, in bytes. Input that is as long and has no message in it closes the connection.
    fn receive_limit(&self) -> usize;

    /// True when the peer has logged in. Until then the stricter limits hold.
    fn is_authenticated(&self) -> bool {
        true
    }

    /// Until when nothing more is to be read and handled, by the clock of the stages: then [`Protocol::received`] is called again, also without
    /// more input. For who makes a peer wait; the connection holds a timer meanwhile, and no thread.
    fn rests_until(&self) -> Option<Duration> {
        None
    }

    /// True when everything that the peer sent counts, also when it has closed its side before all was read. Otherwise a connection that
    /// is congested ends when its peer is gone: nobody would take the answers.
    fn reads_to_the_end(&self) -> bool {
        false
    }

    /// The system has taken everything that waited to be sent: room for more, for who sends in portions.
    fn sent(&mut self) {}

    /// Nothing was received for the idle time-out. `Ok` keeps the connection for as long again, for instance after a ping.
    fn idle(&mut self, out: &mut Outbound) -> Result<(), Close> {
        let _ = out;
        Err(Close::because("nothing was received for too long"))
    }

    /// The door drains: nothing more will be received. Answers that are [`Owed`](crate::Owed) are awaited and sent, then the
    /// connection closes.
    fn draining(&mut self, out: &mut Outbound) {
        let _ = out;
    }

    /// The connection ended. Called exactly once, however it ends.
    fn closed(&mut self, reason: CloseReason) {
        let _ = reason;
    }
}

/// The protocol asks to close the connection; what it has written before is still sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    why: Cow<'static, str>,
}

impl Close {
    /// For the log: what the peer did wrong, or that it said good-bye.
    pub fn because(why: impl Into<Cow<'static, str>>) -> Self {
        Self { why: why.into() }
    }

    /// What was given as the cause.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Close {}

/// The number of a connection: unique in the process, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// Returns what work for that connection is reported under.
    pub(crate) fn origin(self) -> Origin {
        Origin::new(self.0)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// What is known of a connection when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// Its number.
    pub id: ConnectionId,
    /// The other end.
    pub peer: SocketAddr,
    /// This end.
    pub local: SocketAddr,
    /// True when it is encrypted.
    pub tls: bool,
}
