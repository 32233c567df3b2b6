//! Outgoing connections: the same loop, protocol and limits as those that come in.

use crate::connection::{Connection, Entry};
use crate::ledger::{DoorStats, Ledger};
use crate::link::Link;
use crate::listener::next_id;
use crate::outlet::Outlet;
use crate::protocol::{ConnectionInfo, Protocol};
use crate::settings::{NetSettings, NetSettingsError};
use crate::tls::{ClientTlsSettings, TlsError, handshake};
use crate::transport::Transport;
use filbert_pool::{Stages, SubmitError, TaskFuture};
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Opens connections to others.
///
/// ```
/// use bytes::BytesMut;
/// use filbert_net::{Close, Connector, Listener, NetSettings, Outbound, Protocol};
/// use std::sync::mpsc;
///
/// /// Sends every byte back.
/// struct Echo;
/// # impl Protocol for Echo {
/// #     fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
/// #         out.buffer().extend_from_slice(&input.split());
/// #         Ok(())
/// #     }
/// #     fn receive_limit(&self) -> usize { 1024 }
/// # }
///
/// /// Hands over what it gets.
/// struct Client(mpsc::Sender<Vec<u8>>);
///
/// impl Protocol for Client {
///     fn received(&mut self, input: &mut BytesMut, _out: &mut Outbound) -> Result<(), Close> {
///         self.0.send(input.split().to_vec()).map_err(|_| Close::because("nobody listens"))
///     }
///
///     fn receive_limit(&self) -> usize {
///         1024
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let door = Listener::new("127.0.0.1:0".parse()?).listen(&stages, |_, _| Echo)?;
/// let (got, answers) = mpsc::channel();
/// let connector = Connector::new(NetSettings::default(), None)?;
/// let outlet = connector.connect(&stages, door.local_addr(), |_, _| Client(got))?.wait()??;
/// outlet.send_slice(b"hello")?;
/// assert_eq!(answers.recv()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Connector {
    settings: Arc<NetSettings>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    ledger: Arc<Ledger>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The other side is not reached.
    #[error("cannot connect to {address}: {source}; does a member listen there?")]
    Unreachable {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error(
        "no TLS connection to {address}: {}", handshake::problem(.source, "the member")
    )]
    Handshake {
        /// Where to.
        address: SocketAddr,
        /// What went wrong.
        source: io::Error,
    },
    /// It took too long.
    #[error("no connection to {address} within {timeout_ms} ms")]
    TimedOut {
        /// Where to.
        address: SocketAddr,
        /// The time it was given.
        timeout_ms: u64,
    },
    /// The settings do not fit.
    #[error(transparent)]
    Settings(#[from] NetSettingsError),
    /// Certificate or key do not work.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The `io` stage does not take the connection.
    #[error(transparent)]
    Stage(#[from] SubmitError),
}

impl Connector {
    /// With these limits, encrypted where `tls` is given.
    pub fn new(settings: NetSettings, tls: Option<&ClientTlsSettings>) -> Result<Self, ConnectError> {
        settings.check()?;
        let tls = tls.map(ClientTlsSettings::connector).transpose()?;
        // Outgoing connections take no seats, so their loops are not counted.
        Ok(Self { settings: Arc::new(settings), tls, ledger: Ledger::new(0) })
    }

    /// Connects. The connection is then driven by the protocol that `factory` makes, and sent to through the outlet; it lives until
    /// one of them, or the peer, closes it.
    pub fn connect<P, F>(
        &self,
        stages: &Stages,
        address: SocketAddr,
        factory: F,
    ) -> Result<TaskFuture<Result<Outlet, ConnectError>>, SubmitError>
    where
        P: Protocol,
        F: FnOnce(&ConnectionInfo, Outlet) -> P + Send + 'static,
    {
        let on = stages.clock().random_below(stages.io().loops());
        let (this, spawner) = (self.clone(), stages.clone());
        stages.io().spawn_on(on, "connect", async move {
            let timeout = this.settings.handshake_timeout();
            let timeout_ms = this.settings.handshake_timeout_ms;
            let opened = tokio::time::timeout(timeout, this.open(address)).await;
            let (stream, local) = opened.map_err(|_| ConnectError::TimedOut { address, timeout_ms })??;
            let clock = spawner.clock();
            let info = ConnectionInfo { id: next_id(), peer: address, local, tls: this.tls.is_some() };
            let link = Arc::new(Link::new(info, clock.unix_ms(), &this.settings, &this.ledger.unwritten));
            let outlet = Outlet::new(Arc::clone(&link));
            let protocol = factory(&link.info, outlet.clone());
            let entry = Entry::new(link, Arc::clone(&this.ledger), None);
            let connection = Connection::new(protocol, stream, entry, Arc::clone(&this.settings), clock);
            // The same loop: the socket is its own already.
            spawner.io().spawn_on(on, "connection", connection.run())?.detach();
            Ok(outlet)
        })
    }

    async fn open(&self, address: SocketAddr) -> Result<(Transport, SocketAddr), ConnectError> {
        let unreachable = |source| ConnectError::Unreachable { address, source };
        let stream = TcpStream::connect(address).await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let local = stream.local_addr().map_err(unreachable)?;
        let Some((connector, name)) = &self.tls else {
            return Ok((Transport::Clear(stream), local));
        };
        match connector.connect(name.clone(), stream).await {
            Ok(stream) => Ok((Transport::Encrypted(Box::new(stream.into())), local)),
            Err(source) => Err(ConnectError::Handshake { address, source }),
        }
    }

    /// What its connections have seen so far.
    pub fn stats(&self) -> DoorStats {
        self.ledger.stats()
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}
