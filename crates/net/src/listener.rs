//! How a door is opened: bind at once, so that errors come to the caller, then accept on one loop and serve on all.

use crate::connection::{Connection, Entry};
use crate::door::{Door, DoorInner};
use crate::link::{Link, Order};
use crate::outlet::Outlet;
use crate::protocol::{Close, ConnectionId, ConnectionInfo, Protocol};
use crate::reason::{CloseReason, RefuseReason};
use crate::settings::{NetSettings, NetSettingsError};
use crate::stream::{Stream, Watch};
use crate::tls::renewable::RenewableAcceptor;
use crate::tls::{TlsError, TlsSettings, handshake};
use crate::transport::Transport;
use filbert_pool::{Clock, Stages, SubmitError};
use socket2::{Domain, Socket, Type};
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

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
struct Common {
    settings: Arc<NetSettings>,
    tls: Option<Arc<RenewableAcceptor>>,
    clock: Clock,
}

/// How connections are served.
trait Serve: Send + Sync + 'static {
    fn common(&self) -> &Common;

    /// True when connections are encrypted from their first byte.
    fn begins_encrypted(&self) -> bool;

    fn serve(&self, stream: StdStream, entry: Entry) -> impl Future<Output = CloseReason> + Send;
}

/// By state machines.
struct Machines<P, F> {
    common: Common,
    factory: F,
    _made: PhantomData<fn() -> P>,
}

/// By futures that drive themselves.
struct Futures<S, F> {
    common: Common,
    factory: F,
    _made: PhantomData<fn() -> S>,
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
        self.open(stages, |common| Machines { common, factory, _made: PhantomData })
    }

    /// Opens the door for a protocol that drives itself: `factory` makes the future that serves a connection, on the loop that the connection
    /// lives on. It ends with the future, or when a limit ends it, which drops the future where it stands. With [`Listener::tls`] the stream
    /// still begins in the clear: the protocol goes over by [`Stream::encrypt`].
    ///
    /// The future must not compute for long: the other connections of the loop wait meanwhile.
    ///
    /// ```
    /// use filbert_net::{Close, Listener};
    /// use filbert_pool::Stages;
    /// use std::io::{Read, Write};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// let stages = Stages::start()?;
    /// let door = Listener::new("127.0.0.1:0".parse()?).serve(&stages, |mut stream| async move {
    ///     let mut word = [0; 5];
    ///     let failed = |error: std::io::Error| Close::because(error.to_string());
    ///     stream.read_exact(&mut word).await.map_err(failed)?;
    ///     stream.write_all(&word).await.map_err(failed)
    /// })?;
    /// let mut client = std::net::TcpStream::connect(door.local_addr())?;
    /// client.write_all(b"hello")?;
    /// let mut answer = String::new();
    /// client.read_to_string(&mut answer)?;
    /// assert_eq!(answer, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve<S, F>(self, stages: &Stages, factory: F) -> Result<Door, ListenError>
    where
        S: Future<Output = Result<(), Close>> + Send + 'static,
        F: Fn(Stream) -> S + Send + Sync + 'static,
    {
        self.open(stages, |common| Futures { common, factory, _made: PhantomData })
    }

    fn open<S: Serve>(self, stages: &Stages, service: impl FnOnce(Common) -> S) -> Result<Door, ListenError> {
        self.settings.check()?;
        let tls = self.tls.as_ref().map(TlsSettings::load).transpose()?;
        let tls = tls.map(|certificates| Arc::new(RenewableAcceptor::new(certificates)));
        let bind_error = |source| ListenError::Bind { address: self.address, source };
        let listener = bind(self.address, self.settings.backlog).map_err(bind_error)?;
        let local = listener.local_addr().map_err(bind_error)?;
        let settings = Arc::new(self.settings);
        let common = Common { settings: Arc::clone(&settings), tls: tls.clone(), clock: stages.clock() };
        let service = Arc::new(service(common));
        let inner = Arc::new(DoorInner::new(stages.clone(), settings, tls, local));
        // The loop must not keep the stages alive that it runs on.
        let accepting = stages.io().spawn("accept", accept(listener, Arc::downgrade(&inner), service))?;
        inner.accepts(accepting);
        tracing::info!(%local, tls = self.tls.is_some(), "listening");
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

async fn accept<S: Serve>(listener: StdListener, door: Weak<DoorInner>, service: Arc<S>) {
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
fn place<S: Serve>(
    door: &DoorInner,
    service: &Arc<S>,
    stream: StdStream,
    peer: SocketAddr,
) -> Result<(), RefuseReason> {
    let Common { settings, clock, .. } = service.common();
    let seat = door.ledger.admit(peer.ip(), settings)?;
    let local = stream.local_addr().unwrap_or(door.local);
    let info = ConnectionInfo { id: next_id(), peer, local, tls: service.begins_encrypted() };
    let link = Arc::new(Link::new(info, clock.unix_ms(), settings, &door.ledger.unwritten));
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

/// Makes a socket one of this loop, or ends the connection.
fn adopted(stream: StdStream, entry: Entry) -> Result<(TcpStream, Entry), CloseReason> {
    match adopt(stream) {
        Ok(stream) => Ok((stream, entry)),
        Err(error) => {
            tracing::debug!(%error, "the connection broke before it began");
            Err(entry.end(CloseReason::Broken))
        }
    }
}

impl<P, F> Serve for Machines<P, F>
where
    P: Protocol,
    F: Fn(&ConnectionInfo, Outlet) -> P + Send + Sync + 'static,
{
    fn common(&self) -> &Common {
        &self.common
    }

    fn begins_encrypted(&self) -> bool {
        self.common.tls.is_some()
    }

    async fn serve(&self, stream: StdStream, entry: Entry) -> CloseReason {
        let Common { settings, tls, clock } = &self.common;
        let (stream, entry) = match adopted(stream, entry) {
            Ok(both) => both,
            Err(reason) => return reason,
        };
        let transport = match tls {
            None => Transport::Clear(stream),
            Some(acceptor) => {
                let handshake =
                    tokio::time::timeout(settings.handshake_timeout(), acceptor.now().accept(stream));
                match unless_ordered(&entry.link, handshake).await {
                    Ok(Ok(Ok(stream))) => Transport::Encrypted(Box::new(stream.into())),
                    Ok(Ok(Err(error))) => {
                        let peer = entry.link.info.peer;
                        handshake::log_failure(peer, &error, entry.complaint(clock.now()));
                        return entry.end(CloseReason::HandshakeFailed);
                    }
                    Ok(Err(_)) => return entry.end(CloseReason::HandshakeTimeout),
                    Err(reason) => return entry.end(reason),
                }
            }
        };
        let protocol = (self.factory)(&entry.link.info, Outlet::new(Arc::clone(&entry.link)));
        let connection = Connection::new(protocol, transport, entry, Arc::clone(settings), clock.clone());
        connection.run().await
    }
}

impl<S, F> Serve for Futures<S, F>
where
    S: Future<Output = Result<(), Close>> + Send + 'static,
    F: Fn(Stream) -> S + Send + Sync + 'static,
{
    fn common(&self) -> &Common {
        &self.common
    }

    fn begins_encrypted(&self) -> bool {
        false
    }

    async fn serve(&self, stream: StdStream, entry: Entry) -> CloseReason {
        let Common { settings, tls, clock } = &self.common;
        let (stream, entry) = match adopted(stream, entry) {
            Ok(both) => both,
            Err(reason) => return reason,
        };
        let (watch, stream) = Watch::new(stream, entry, Arc::clone(settings), tls.clone(), clock.clone());
        watch.run((self.factory)(stream)).await
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
