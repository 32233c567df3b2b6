//! TLS for the driver, by rustls. The certificate of the server is always checked, its name too.

use super::rope::{Held, Rope};
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::TlsConnector;

/// Where systems keep the certificates that they trust.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How connections are made safe, if they are.
#[derive(Clone)]
pub(super) struct Tls {
    /// None for connections that everybody on the way can read.
    config: Option<Arc<ClientConfig>>,
    /// The server is not asked first whether it has TLS.
    is_direct: bool,
}

/// Asks a server whether it has TLS: a length, and the number of the question.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

impl Tls {
    /// Connections that everybody on the way can read.
    pub(super) fn none() -> Self {
        Self { config: None, is_direct: false }
    }

    #[cfg(test)]
    pub(super) fn is_safe(&self) -> bool {
        self.config.is_some()
    }

    /// Servers whose certificate these roots vouch for, or those that the system trusts.
    pub(super) fn verified(roots: Option<&Path>, is_direct: bool) -> Result<Self, String> {
        let named = roots.map(Path::to_owned).or_else(|| std::env::var_os("SSL_CERT_FILE").map(Into::into));
        let known = || SYSTEM_ROOTS.iter().map(Path::new).find(|path| path.exists()).map(Path::to_owned);
        let path = named.or_else(known).ok_or_else(|| {
            "no certificates are known that the server's could be checked with; name a PEM file by \
             sslrootcert=..., or set sslmode=disable if the way to the server is safe"
                .to_owned()
        })?;
        let told = |error: &dyn std::fmt::Display| format!("the certificates of {}: {error}", path.display());
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| told(&error))? {
            // A system may trust some that rustls cannot read; without any, every server is refused.
            let _ = store.add(certificate.map_err(|error| told(&error))?);
        }
        if store.is_empty() {
            return Err(told(&"there is none"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| told(&error))?.with_root_certificates(store);
        Ok(Self { config: Some(Arc::new(config.with_no_client_auth())), is_direct })
    }
}

/// Takes hold of the driver's streams, and makes them safe if that is wanted.
#[derive(Clone)]
pub(super) struct Knot {
    pub(super) tls: Tls,
    pub(super) rope: Arc<Rope>,
    /// How long a server may be silent before the connection is there.
    pub(super) patience: Duration,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Knot {
    type Stream = Way<S>;
    type TlsConnect = Handshake;
    type Error = Box<dyn Error + Send + Sync>;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Self::Error> {
        Ok(Handshake { knot: self.clone(), domain: domain.to_owned() })
    }
}

/// A connection that is about to be made safe.
pub(super) struct Handshake {
    knot: Knot,
    domain: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Way<S>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Way<S>, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let Self { knot: Knot { tls, rope, patience }, domain } = self;
            let mut stream = Held::new(stream, rope, patience);
            let Some(config) = tls.config else { return Ok(Way::Plain(stream)) };
            if !tls.is_direct {
                stream.write_all(&TLS_REQUEST).await?;
                let mut said = [0];
                stream.read_exact(&mut said).await?;
                if said != *b"S" {
                    return Err("server does not support TLS".into());
                }
            }
            let name = ServerName::try_from(domain)?;
            Ok(Way::Safe(Box::new(TlsConnector::from(config).connect(name, stream).await?)))
        })
    }
}

/// A connection, through TLS or not.
pub(super) enum Way<S> {
    Plain(Held<S>),
    Safe(Box<tokio_rustls::client::TlsStream<Held<S>>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Way<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Way<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Safe(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Way<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Safe(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Safe(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Safe(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
