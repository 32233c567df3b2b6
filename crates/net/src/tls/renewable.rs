//! The certificates of an open door, which can be replaced while it is open.
//!
//! A handshake takes the certificates that hold when it begins. Connections that are encrypted already keep the session keys that they have
//! agreed upon, and notice nothing. New certificates come with an empty store of TLS sessions: a client that resumes an old session would
//! otherwise go on unchecked against a replaced client CA.

use std::fmt;
use std::sync::{PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// Certificates and a key that were read from their files and fit together; made by [`TlsSettings::load`](super::TlsSettings::load).
#[derive(Clone)]
pub struct Certificates(pub(super) TlsAcceptor);

/// The certificates that new connections of a door get.
pub(crate) struct RenewableAcceptor(RwLock<TlsAcceptor>);

impl RenewableAcceptor {
    pub(crate) fn new(Certificates(acceptor): Certificates) -> Self {
        Self(RwLock::new(acceptor))
    }

    /// Returns the acceptor for a handshake that begins now.
    pub(crate) fn now(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses these certificates for handshakes that begin from now on.
    pub(crate) fn renew(&self, Certificates(acceptor): Certificates) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates(..)")
    }
}

impl fmt::Debug for RenewableAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RenewableAcceptor(..)")
    }
}
