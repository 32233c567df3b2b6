//! How a door is opened: bind at once, so that errors come to the caller, then accept on one loop and serve on all.

use crate::connection::{Connection, Entry};
use crate::door::{Door, DoorInner};
use crate::link::{Link, Order};
use crate::outlet::Outlet;
use crate::protocol::{ConnectionId, ConnectionInfo, Protocol};
use crate::reason::{CloseReason, RefuseReason};
use crate::settings::{NetSettings, NetSettingsError};
use crate::tls::{TlsError, TlsSettings};
use crate::transport::Transport;
use filbert_pool::{Clock, Stages, SubmitError};
use socket2::{Domain, Socket, Type};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// How long accepting pauses when the system has nothing left to accept with.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// Where to listen and how; then [`listen`](Listener::listen). The page of the crate has an example.
#[derive(Debug, Clone)]
pub struct Listener {
    address: SocketAddr,
    settings: NetSettings,
    tls: Option<TlsSettings>,
}

/// Why a door could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; {}", what_to_do(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The settings do not fit.
    #[error(transparent)]
    Settings(#[from] NetSettingsError),
    /// Certificate or key do not work.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The `io` stage does not take the listener.
    #[error(transparent)]
    Stage(#[from] SubmitError),
}

fn what_to_do(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: end it or choose another port",
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has that address: choose one that it has"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege: choose a higher port or grant it"
        }
        _ => "choose another address",
    }
}

/// True when only programs of this machine reach `address`. The unspecified address (all interfaces) is not one.
///
/// ```
/// assert!(filbert_net::is_loopback("127.0.0.1:5701".parse()?));
/// assert!(!filbert_net::is_loopback("0.0.0.0:5701".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// What every connection of a door needs to begin.
struct Service<F> {
    factory: F,
    settings: Arc<NetSettings>,
    tls: Option<TlsAcceptor>,
    clock: Clock,
}

impl Listener {
    /// On that address; port 0 lets the system choose.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, settings: NetSettings::default(), tls: None }
    }

    /// With these limits.
    #[must_use]
    pub fn settings(mut self, settings: NetSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Encrypted.
    #[must_use]
    pub fn tls(mut self, tls: TlsSettings) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Opens the door. `factory` makes the protocol of each connection, on the loop that the connection lives on.
    pub fn listen<P, F>(self, stages: &Stages, factory: F) -> Result<Door, ListenError>
    where
        P: Protocol,
        F: Fn(&ConnectionInfo, Outlet) -> P + Send + Sync + 'static,
    {
        self.settings.check()?;
        let tls = self.tls.as_ref().map(TlsSettings::acceptor).transpose()?;
        let bind_error = |source| ListenError::Bind { address: self.address, source };
        let listener = bind(self.address, self.settings.backlog).map_err(bind_error)?;
        let local = listener.local_addr().map_err(bind_error)?;
        let settings = Arc::new(self.settings);
        let service =
            Arc::new(Service { factory, settings: Arc::clone(&settings), tls, clock: stages.clock() });
        let inner = Arc::new(DoorInner::new(stages.clone(), settings, local));
        // The loop must not keep the stages alive that it runs on.
        let accepting = stages.io().spawn("accept", accept(listener, Arc::downgrade(&inner), service))?;
        inner.accepts(accepting);
        tracing::debug!(%local, tls = self.tls.is_some(), "listening");
        Ok(Door::new(inner))
    }
}

fn bind(address: SocketAddr, backlog: u32) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A member that starts again must not wait for the remains of its old connections.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

async fn accept<P, F>(listener: StdListener, door: Weak<DoorInner>, service: Arc<Service<F>>)
where
    P: Protocol,
    F: Fn(&ConnectionInfo, Outlet) -> P + Send + Sync + 'static,
{
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the listener cannot be watched: nothing will be accepted");
            return;
        }
    };
    loop {
        let accepted = listener.accept().await;
        let Some(door) = door.upgrade() else { return };
        match accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
            Ok((stream, peer)) => {
                if let Err(reason) = place(&door, &service, stream, peer) {
                    door.ledger.refused(reason);
                    tracing::debug!(%peer, %reason, "connection refused");
                }
            }
            Err(error) if is_of_the_peer(&error) => door.ledger.refused(RefuseReason::AcceptFailed),
            Err(error) => {
                door.ledger.refused(RefuseReason::AcceptFailed);
                drop(door);
                tracing::warn!(%error, "cannot accept connections; trying again shortly");
                tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
            }
        }
    }
}

/// The one connection failed, not the listener.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Gives a new connection its loop.
fn place<P, F>(
    door: &DoorInner,
    service: &Arc<Service<F>>,
    stream: StdStream,
    peer: SocketAddr,
) -> Result<(), RefuseReason>
where
    P: Protocol,
    F: Fn(&ConnectionInfo, Outlet) -> P + Send + Sync + 'static,
{
    let seat = door.ledger.admit(peer.ip(), &service.settings)?;
    let local = stream.local_addr().unwrap_or(door.local);
    let info = ConnectionInfo { id: next_id(), peer, local, tls: service.tls.is_some() };
    let link = Arc::new(Link::new(info, service.clock.unix_ms(), &service.settings, &door.ledger.unwritten));
    let ledger = Arc::clone(&door.ledger);
    let (on, service) = (seat.on, Arc::clone(service));
    let serve = async move {
        let entry = Entry::new(link, ledger, Some(seat));
        service.serve(stream, entry).await
    };
    match door.stages.io().spawn_on(on, "connection", serve) {
        Ok(served) => {
            served.detach();
            Ok(())
        }
        Err(_) => Err(RefuseReason::Overloaded),
    }
}

pub(crate) fn next_id() -> ConnectionId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ConnectionId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Makes a socket one of this loop.
fn adopt(stream: StdStream) -> io::Result<TcpStream> {
    let stream = TcpStream::from_std(stream)?;
    // Answers leave in batches already; waiting for more would only delay them.
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl<P, F> Service<F>
where
    P: Protocol,
    F: Fn(&ConnectionInfo, Outlet) -> P + Send + Sync + 'static,
{
    async fn serve(&self, stream: StdStream, entry: Entry) -> CloseReason {
        let stream = match adopt(stream) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(%error, "the connection broke before it began");
                return entry.end(CloseReason::Broken);
            }
        };
        let transport = match &self.tls {
            None => Transport::Clear(stream),
            Some(acceptor) => {
                let handshake =
                    tokio::time::timeout(self.settings.handshake_timeout(), acceptor.accept(stream));
                match unless_ordered(&entry.link, handshake).await {
                    Ok(Ok(Ok(stream))) => Transport::Encrypted(Box::new(stream.into())),
                    Ok(Ok(Err(error))) => {
                        let peer = entry.link.info.peer;
                        tracing::debug!(%peer, %error, "the TLS handshake failed");
                        return entry.end(CloseReason::HandshakeFailed);
                    }
                    Ok(Err(_)) => return entry.end(CloseReason::HandshakeTimeout),
                    Err(reason) => return entry.end(reason),
                }
            }
        };
        let protocol = (self.factory)(&entry.link.info, Outlet::new(Arc::clone(&entry.link)));
        let connection =
            Connection::new(protocol, transport, entry, Arc::clone(&self.settings), self.clock.clone());
        connection.run().await
    }
}

/// Awaits `future`, unless the connection is told to end first.
async fn unless_ordered<T>(link: &Link, future: impl Future<Output = T>) -> Result<T, CloseReason> {
    let mut future = pin!(future);
    let mut unsent = crate::backlog::Backlog::default();
    poll_fn(|context| {
        match link.collect(&mut unsent) {
            Order::Stay => {}
            Order::Drain => return Poll::Ready(Err(CloseReason::Drained)),
            Order::Close(reason) => return Poll::Ready(Err(reason)),
        }
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        if !link.sleep(context.waker()) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}
