//! A connection whose protocol drives itself: a future that reads and writes its [`Stream`], polled on the loop that the connection lives on.
//!
//! For protocols that are conversations, where the next step depends on rows that come from elsewhere: the state machine of
//! [`Protocol`](crate::Protocol) would be such a future written by hand. What the books promise holds here too: seats, the time for the
//! login, for silence, and for a peer that takes nothing, the drain, and the reason of the end. There is no queue of bytes to send: who
//! writes waits until the peer took it, so a slow reader holds one buffer of its protocol, not more.
//!
//! ```text
//! woken -> orders of the door -> poll the future -> what does it wait for? -> deadline of that, or the end
//! ```

use crate::backlog::Backlog;
use crate::connection::{Entry, LOOK_EVERY, add};
use crate::ledger::Ledger;
use crate::link::{Link, Order};
use crate::protocol::{Close, ConnectionInfo};
use crate::reason::CloseReason;
use crate::settings::NetSettings;
use crate::tls::handshake;
use crate::tls::renewable::RenewableAcceptor;
use crate::transport::Transport;
use filbert_pool::Clock;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// The bytes of one connection, for a protocol that drives itself: see [`Listener::serve`](crate::Listener::serve).
///
/// It begins in the clear; [`Stream::encrypt`] goes over to TLS where the protocol says so. When the door drains, reading ends as if the
/// peer had closed its side; what is still written arrives.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
}

/// What the stream shares with who watches it; both are on the same loop, so that nobody ever waits for the lock.
#[derive(Debug)]
pub(crate) struct Shared {
    link: Arc<Link>,
    ledger: Arc<Ledger>,
    clock: Clock,
    settings: Arc<NetSettings>,
    acceptor: Option<Arc<RenewableAcceptor>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` during the TLS handshake.
    transport: Option<Transport>,
    authenticated: bool,
    draining: bool,
    /// True when this turn found nothing to read.
    reading: bool,
    /// True when this turn could not write.
    writing: bool,
    /// Since when the protocol has waited for its peer, and nothing came.
    silent_since: Option<Duration>,
    /// Since when the peer has taken nothing of what waits for it.
    stalled_since: Option<Duration>,
    /// How it ended, as far as the stream knows.
    ended: Option<CloseReason>,
}

impl Stream {
    /// What is known of the connection.
    pub fn info(&self) -> &ConnectionInfo {
        &self.shared.link.info
    }

    /// The limits of the door.
    pub fn settings(&self) -> &NetSettings {
        &self.shared.settings
    }

    /// The peer has logged in: the time for that is over, and silence counts from now on.
    pub fn authenticated(&self) {
        self.shared.link.counters.authenticated.store(true, Ordering::Relaxed);
        self.shared.lock().authenticated = true;
    }

    /// Says who has logged in. A second call changes nothing.
    pub fn logged_in_as(&self, user: &str) {
        self.shared.link.user.get_or_init(|| Arc::from(user));
    }

    /// True when the door drains: nothing more will be read.
    pub fn is_draining(&self) -> bool {
        self.shared.lock().draining
    }

    /// True when the door has a certificate.
    pub fn can_encrypt(&self) -> bool {
        self.shared.acceptor.is_some()
    }

    /// True when it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.shared.link.counters.encrypted.load(Ordering::Relaxed)
    }

    /// Does the TLS handshake; whatever is read and written from then on is encrypted.
    ///
    /// # Errors
    /// When the door has no certificate, the stream is encrypted already, or the handshake fails or takes too long.
    pub async fn encrypt(&mut self) -> io::Result<()> {
        let Some(acceptor) = &self.shared.acceptor else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this door has no certificate"));
        };
        let taken = self.shared.lock().transport.take();
        let Some(Transport::Clear(stream)) = taken else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is encrypted already"));
        };
        let end = |reason| self.shared.lock().ended = Some(reason);
        match tokio::time::timeout(self.shared.settings.handshake_timeout(), acceptor.now().accept(stream))
            .await
        {
            Ok(Ok(stream)) => {
                self.shared.lock().transport = Some(Transport::Encrypted(Box::new(stream.into())));
                self.shared.link.counters.encrypted.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(Err(error)) => {
                end(CloseReason::HandshakeFailed);
                let left_out = self.shared.ledger.complaints.take(self.shared.clock.now());
                handshake::log_failure(self.shared.link.info.peer, &error, left_out);
                Err(error)
            }
            Err(_) => {
                end(CloseReason::HandshakeTimeout);
                Err(io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long"))
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        if state.draining {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = match &mut state.transport {
            None => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Some(Transport::Clear(stream)) => Pin::new(stream).poll_read(context, buffer),
            Some(Transport::Encrypted(stream)) => Pin::new(stream).poll_read(context, buffer),
        };
        match &read {
            Poll::Pending => state.reading = true,
            Poll::Ready(Err(_)) => state.ended = Some(CloseReason::Broken),
            Poll::Ready(Ok(())) => {
                let count = buffer.filled().len() - before;
                state.silent_since = None;
                if count == 0 {
                    state.ended = Some(CloseReason::PeerClosed);
                }
                add(&self.shared.link.counters.bytes_in, count);
                add(&self.shared.link.counters.reads, 1);
            }
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        let written = match &mut state.transport {
            None => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Some(Transport::Clear(stream)) => Pin::new(stream).poll_write(context, bytes),
            Some(Transport::Encrypted(stream)) => Pin::new(stream).poll_write(context, bytes),
        };
        match &written {
            Poll::Pending => state.writing = true,
            Poll::Ready(Err(_)) => state.ended = Some(CloseReason::Broken),
            Poll::Ready(Ok(count)) => {
                state.stalled_since = None;
                add(&self.shared.link.counters.bytes_out, *count);
                add(&self.shared.link.counters.writes, 1);
            }
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        let Some(transport) = &mut state.transport else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let flushed = transport.poll_flush(context);
        state.writing |= flushed.is_pending();
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.shared.lock().transport {
            None => Poll::Ready(Ok(())),
            Some(Transport::Clear(stream)) => Pin::new(stream).poll_shutdown(context),
            Some(Transport::Encrypted(stream)) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Watches over a connection that drives itself.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    entry: Entry,
    opened_at: Duration,
    timer: Pin<Box<Sleep>>,
    timer_due: Option<Duration>,
}

impl Watch {
    /// Must be called on the loop that will run it.
    pub(crate) fn new(
        stream: TcpStream,
        entry: Entry,
        settings: Arc<NetSettings>,
        acceptor: Option<Arc<RenewableAcceptor>>,
        clock: Clock,
    ) -> (Self, Stream) {
        let state = State {
            transport: Some(Transport::Clear(stream)),
            authenticated: false,
            draining: false,
            reading: false,
            writing: false,
            silent_since: None,
            stalled_since: None,
            ended: None,
        };
        let opened_at = clock.now();
        let shared = Arc::new(Shared {
            link: Arc::clone(&entry.link),
            ledger: Arc::clone(&entry.ledger),
            clock,
            settings,
            acceptor,
            state: Mutex::new(state),
        });
        let stream = Stream { shared: Arc::clone(&shared) };
        let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        (Self { shared, entry, opened_at, timer, timer_due: None }, stream)
    }

    /// Polls `protocol` until it ends or must end.
    pub(crate) async fn run(mut self, protocol: impl Future<Output = Result<(), Close>>) -> CloseReason {
        // Dropped before the connection is struck off: what the protocol holds (queries, room) is gone when nobody is counted any more.
        let reason = {
            let mut protocol = pin!(protocol);
            poll_fn(|context| self.poll_turn(context, protocol.as_mut())).await
        };
        poll_fn(|context| {
            if let Some(transport) = &mut self.shared.lock().transport {
                transport.shut_down(context);
            }
            Poll::Ready(())
        })
        .await;
        self.entry.end(reason)
    }

    fn poll_turn<F>(&mut self, context: &mut Context<'_>, protocol: Pin<&mut F>) -> Poll<CloseReason>
    where
        F: Future<Output = Result<(), Close>>,
    {
        // Nothing is ever queued here: only the orders are of interest.
        match self.entry.link.collect(&mut Backlog::default()) {
            Order::Stay => {}
            Order::Drain => self.shared.lock().draining = true,
            Order::Close(reason) => return Poll::Ready(reason),
        }
        {
            let mut state = self.shared.lock();
            (state.reading, state.writing) = (false, false);
        }
        // If it never comes back, it panicked.
        self.entry.reason = CloseReason::Panicked;
        let origin = self.entry.link.info.id.origin().enter();
        let polled = protocol.poll(context);
        drop(origin);
        self.entry.reason = CloseReason::StagesEnded;
        if let Poll::Ready(said) = polled {
            return Poll::Ready(self.reason(said));
        }
        if let Some(reason) = self.look(context) {
            return Poll::Ready(reason);
        }
        if !self.entry.link.sleep(context.waker()) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn reason(&self, said: Result<(), Close>) -> CloseReason {
        let state = self.shared.lock();
        match (said, state.ended) {
            _ if state.draining => CloseReason::Drained,
            (_, Some(reason)) => reason,
            (Ok(()), None) => CloseReason::PeerClosed,
            (Err(close), None) => {
                let (id, peer) = (self.entry.link.info.id, self.entry.link.info.peer);
                tracing::debug!(connection = id.0, %peer, why = close.why(), "the protocol closes the connection");
                CloseReason::Protocol
            }
        }
    }

    /// Ends what is overdue, and sees to it that the next deadline is not missed.
    fn look(&mut self, context: &mut Context<'_>) -> Option<CloseReason> {
        let (now, settings) = (self.shared.clock.now(), &self.shared.settings);
        let mut next = Duration::MAX;
        let mut overdue = |since: Duration, allowed: Duration| {
            next = next.min(since + allowed);
            now >= since + allowed
        };
        let mut state = self.shared.lock();
        if !state.authenticated && overdue(self.opened_at, settings.login_timeout()) {
            return Some(CloseReason::LoginTimeout);
        }
        state.stalled_since = state.writing.then(|| state.stalled_since.unwrap_or(now));
        if state.stalled_since.is_some_and(|since| overdue(since, settings.stall_timeout())) {
            return Some(CloseReason::Stalled);
        }
        let waits_for_peer = state.reading && !state.writing;
        state.silent_since = waits_for_peer.then(|| state.silent_since.unwrap_or(now));
        if state.silent_since.is_some_and(|since| overdue(since, settings.idle_timeout())) {
            return Some(CloseReason::Idle);
        }
        // It waits for something else, a query for instance: no event tells that its peer is gone.
        if !state.reading && !state.writing {
            if state.transport.as_ref().is_some_and(Transport::is_read_closed) {
                return Some(CloseReason::PeerClosed);
            }
            overdue(now, LOOK_EVERY);
        }
        drop(state);
        if next == Duration::MAX {
            return None;
        }
        if self.timer.is_elapsed() || self.timer_due.is_none_or(|due| next < due) {
            self.timer.set(tokio::time::sleep(next - now));
            self.timer_due = Some(next);
            if self.timer.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
        }
        None
    }
}
