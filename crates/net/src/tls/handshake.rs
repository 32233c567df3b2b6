//! Explains in words why a TLS handshake failed, for the log of a member and for the messages of its commands.
//!
//! The library's own texts name its types, such as `Other(OtherError(CaUsedAsEndEntity))`. They say neither which side is meant nor what to
//! do. Rejected: passing them on behind a sentence of ours, since the reader would still have to look them up.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use std::io;
use std::net::SocketAddr;

/// Writes to the log why the handshake of a client failed. `left_out` counts the complaints that were not written before this one; without
/// it, this one is not either, but for those who look for faults.
pub(crate) fn log_failure(peer: SocketAddr, error: &io::Error, left_out: Option<u64>) {
    let why = problem(error, "the client");
    match left_out {
        Some(left_out) => tracing::warn!(%peer, why, left_out, "a TLS handshake failed"),
        None => tracing::debug!(%peer, why, "a TLS handshake failed"),
    }
}

/// Describes what went wrong in a handshake, seen from this side. `peer` names the other side, such as "the client".
pub(crate) fn problem(error: &io::Error, peer: &str) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => tls_problem(error, peer),
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                format!(
                    "{peer} ended the connection during the handshake: it may not use TLS, or not trust this certificate"
                )
            }
            _ => error.to_string(),
        },
    }
}

fn tls_problem(error: &Error, peer: &str) -> String {
    match error {
        Error::InvalidCertificate(wrong) => certificate_problem(wrong, peer),
        Error::NoCertificatesPresented => format!("{peer} shows no certificate, and one is required"),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => format!("{peer} does not use TLS"),
        Error::InvalidMessage(_) => format!("{peer} sent what is no TLS message"),
        Error::AlertReceived(alert) => alert_problem(*alert, peer),
        Error::PeerIncompatible(_) => {
            format!("{peer} has no version of TLS, or no cipher, that is allowed here (1.2 and 1.3 are)")
        }
        other => format!("{peer} does not follow TLS: {other}"),
    }
}

fn certificate_problem(wrong: &CertificateError, peer: &str) -> String {
    use CertificateError as Wrong;
    match wrong {
        Wrong::Expired | Wrong::ExpiredContext { .. } => format!("the certificate of {peer} has expired"),
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            format!("the certificate of {peer} is not valid yet; compare the clocks of both machines")
        }
        Wrong::UnknownIssuer => {
            format!("the certificate of {peer} is signed by another authority than the one given")
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            format!("the certificate of {peer} is for another name than the one connected to")
        }
        Wrong::Revoked => format!("the certificate of {peer} was revoked"),
        Wrong::InvalidPurpose | Wrong::InvalidPurposeContext { .. } => {
            format!("the certificate of {peer} is not meant for this side of a connection")
        }
        // The verifier has no variant of its own for this frequent mistake.
        Wrong::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => format!(
            "the certificate of {peer} is that of an authority (CA:TRUE) and cannot be used by a member or client itself; \
             make one that an authority signs, as `filbert config certificates` does"
        ),
        Wrong::BadEncoding => format!("the certificate of {peer} cannot be read"),
        _ => format!("the certificate of {peer} does not hold"),
    }
}

fn alert_problem(alert: AlertDescription, peer: &str) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::UnknownCA
        | Alert::BadCertificate
        | Alert::CertificateUnknown
        | Alert::UnsupportedCertificate => {
            format!(
                "{peer} does not accept the certificate of this side: it trusts another authority, or wants another name"
            )
        }
        Alert::CertificateExpired => format!("{peer} says that the certificate of this side has expired"),
        Alert::CertificateRevoked => format!("{peer} says that the certificate of this side was revoked"),
        Alert::CertificateRequired | Alert::NoCertificate => {
            format!("{peer} requires a certificate, and none was shown")
        }
        Alert::ProtocolVersion => {
            format!("{peer} allows no version of TLS that is allowed here (1.2 and 1.3 are)")
        }
        Alert::HandshakeFailure | Alert::InsufficientSecurity => {
            format!("{peer} allows no cipher that is allowed here, or requires a certificate")
        }
        _ => format!("{peer} broke the handshake off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(error: Error) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    #[test]
    fn no_explanation_shows_a_type_of_the_library() {
        use CertificateError as Wrong;
        let certificate = |wrong| wrapped(Error::InvalidCertificate(wrong));
        let alert = |alert| wrapped(Error::AlertReceived(alert));
        for (error, words) in [
            (certificate(Wrong::Expired), "has expired"),
            (certificate(Wrong::UnknownIssuer), "another authority"),
            (certificate(Wrong::NotValidForName), "another name"),
            (wrapped(Error::NoCertificatesPresented), "shows no certificate"),
            (wrapped(Error::InvalidMessage(InvalidMessage::InvalidContentType)), "does not use TLS"),
            (alert(AlertDescription::UnknownCA), "does not accept the certificate"),
            (alert(AlertDescription::InternalError), "broke the handshake off"),
            (io::Error::from(io::ErrorKind::UnexpectedEof), "ended the connection"),
        ] {
            let said = problem(&error, "the client");
            assert!(said.contains(words) && said.contains("the client"), "{error:?}: {said}");
            assert!(!said.contains('(') || said.contains("(1.2"), "{said}");
        }
    }
}
