//! TLS by rustls: certificates and keys from PEM files, with errors that name the file and what to do about it.
//!
//! The provider is ring: the other one, aws-lc, brings a large C build and no gain here.

pub(crate) mod handshake;
pub(crate) mod renewable;

pub use renewable::Certificates;

use filbert_pool::settings_fields::{Shape, is_path};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

filbert_pool::settings_struct! {
    /// Encryption for a listener. With a client CA, only clients that show a certificate of it are let in (mutual TLS).
    pub struct TlsSettings {
        /// The file with the certificate of this member and those between it and the root, in PEM.
        pub cert_pem_path: PathBuf => Shape::Text(is_path),
        /// The file with the private key of that certificate, in PEM.
        pub key_pem_path: PathBuf => Shape::Text(is_path),
        /// The file with the certificates that sign those of clients, in PEM: clients must show one. Not set: they need none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub client_ca_pem_path: Option<PathBuf> => Shape::Text(is_path),
    }
}

/// Encryption for an outgoing connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTlsSettings {
    /// The certificates that sign those of members, in PEM.
    pub ca_pem_path: PathBuf,
    /// The name or address that the member's certificate must be for.
    pub server_name: String,
    /// The certificate to show, in PEM, and its private key.
    #[serde(default)]
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Why there is no encryption.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read or is not PEM.
    #[error("cannot read {what} from {}: {problem}; it must be a readable PEM file", .path.display())]
    File {
        /// What should have been in it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// A file has nothing of that kind in it.
    #[error("there is no certificate in {}; it must hold at least one block BEGIN CERTIFICATE", .path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not fit, or are of a kind that is not supported.
    #[error("the certificate in {} and its key do not work: {problem}; are they a pair?", .path.display())]
    Identity {
        /// The file of the certificate.
        path: PathBuf,
        /// What rustls says.
        problem: String,
    },
    /// The signing certificates are not usable.
    #[error("the signing certificates in {} do not work: {problem}", .path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// What rustls says.
        problem: String,
    },
    /// The server name is neither a DNS name nor an address.
    #[error("{name:?} is neither a DNS name nor an IP address, so no certificate can be for it")]
    ServerName {
        /// What was given.
        name: String,
        /// What is wrong with it.
        source: InvalidDnsNameError,
    },
    /// rustls refuses the combination.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl TlsSettings {
    /// Reads the files, and says what is wrong with them.
    pub fn check(&self) -> Result<(), TlsError> {
        self.load().map(drop)
    }

    /// Reads the files, for [`Door::renew`](crate::Door::renew).
    ///
    /// # Errors
    /// When a file cannot be read, or certificate and key are no pair.
    pub fn load(&self) -> Result<Certificates, TlsError> {
        let chain = certificates(&self.cert_pem_path)?;
        let key = private_key(&self.key_pem_path)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_ca_pem_path {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(authorities(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().map_err(
                    |error| TlsError::Authority { path: path.clone(), problem: error.to_string() },
                )?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder
            .with_single_cert(chain, key)
            .map_err(|error| identity_error(&self.cert_pem_path, &error))?;
        Ok(Certificates(TlsAcceptor::from(Arc::new(config))))
    }
}

impl ClientTlsSettings {
    /// Reads the files.
    pub(crate) fn connector(&self) -> Result<(TlsConnector, ServerName<'static>), TlsError> {
        let name = ServerName::try_from(self.server_name.clone())
            .map_err(|source| TlsError::ServerName { name: self.server_name.clone(), source })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(authorities(&self.ca_pem_path)?);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => builder
                .with_client_auth_cert(certificates(cert)?, private_key(key)?)
                .map_err(|error| identity_error(cert, &error))?,
        };
        Ok((TlsConnector::from(Arc::new(config)), name))
    }
}

fn identity_error(path: &Path, error: &rustls::Error) -> TlsError {
    TlsError::Identity { path: path.to_owned(), problem: error.to_string() }
}

fn file_error(what: &'static str, path: &Path, problem: &impl ToString) -> TlsError {
    TlsError::File { what, path: path.to_owned(), problem: problem.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let fail = |error| file_error("certificates", path, &error);
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: path.to_owned() });
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| file_error("a private key", path, &error))
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::Authority { path: path.to_owned(), problem: error.to_string() })?;
    }
    Ok(roots)
}
