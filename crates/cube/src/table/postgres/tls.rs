//! TLS for the driver, by rustls. The certificate of the server is always checked, its name too.

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
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
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
pub(super) struct Tls(Option<Arc<ClientConfig>>);

impl Tls {
    /// Connections that everybody on the way can read.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Servers whose certificate these roots vouch for, or those that the system trusts.
    pub(super) fn verified(roots: Option<&Path>) -> Result<Self, String> {
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
        Ok(Self(Some(Arc::new(config.with_no_client_auth()))))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Safe<S>;
    type TlsConnect = Handshake;
    type Error = Box<dyn Error + Send + Sync>;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Self::Error> {
        Ok(Handshake { config: self.0.clone(), domain: domain.to_owned() })
    }
}

/// A connection that is about to be made safe.
pub(super) struct Handshake {
    config: Option<Arc<ClientConfig>>,
    domain: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Safe<S>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Safe<S>, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or("the connection was to be without TLS")?;
            let name = ServerName::try_from(self.domain)?;
            Ok(Safe(TlsConnector::from(config).connect(name, stream).await?))
        })
    }
}

/// A connection through TLS.
pub(super) struct Safe<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Safe<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Safe<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Safe<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
