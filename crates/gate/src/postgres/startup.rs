//! From the first byte to a session: encryption, who it is, and what clients want to know first.
//!
//! ```text
//! SSLRequest? -> S, TLS handshake, or N
//! CancelRequest -> done
//! StartupMessage -> SCRAM when there are users -> parameters, key, ready
//! ```

use super::answer::{Answer, Transaction};
use super::failure::Failure;
use super::host::{Access, Host, Place};
use super::line::{Ended, Line};
use super::request::{Fields, Opening, Request};
use super::scram::{self, Refused};
use super::variables::{Variables, options};
use crate::hazelcast::Rights;
use bytes::{BufMut, Bytes};
use std::sync::Arc;

/// Someone who was let in.
pub(super) struct Guest {
    pub(super) user: String,
    pub(super) rights: Rights,
    pub(super) variables: Variables,
    pub(super) place: Place,
}

/// Warnings of the variables that a client sets as it connects: it may name the same one hundreds of times.
const MOST_WARNINGS: usize = 8;

const AUTHENTICATED: i32 = 0;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

/// Lets a client in, or not; `None` when it came for something else than a session.
pub(super) async fn start(host: &Arc<Host>, line: &mut Line) -> Result<Option<Guest>, Ended> {
    let (mut asked_tls, mut asked_gss) = (false, false);
    let (minor, parameters) = loop {
        match Opening::read(line.opening().await?)? {
            Opening::Encrypt if !std::mem::replace(&mut asked_tls, true) => encrypt(line).await?,
            Opening::EncryptGss if !std::mem::replace(&mut asked_gss, true) => line.out.put_u8(b'N'),
            Opening::Encrypt | Opening::EncryptGss => {
                return Err(Failure::malformed("encryption was asked for twice").into());
            }
            Opening::Cancel { process, key } => {
                host.cancel(process, &key);
                return Ok(None);
            }
            Opening::Start { minor, parameters } => break (minor, parameters),
        }
    };
    if line.stream.can_encrypt() && !line.stream.is_encrypted() {
        return Err(Failure::fatal(
            "28000",
            "this door is encrypted; connect with TLS, such as sslmode=require",
        )
        .into());
    }
    let parameter =
        |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if parameter("replication").is_some_and(|value| !matches!(value, "false" | "off" | "no" | "0")) {
        return Err(Failure::fatal("0A000", "there is no replication; connect without it").into());
    }
    let user = match parameter("user") {
        Some(user) if !user.is_empty() => user.to_owned(),
        _ => return Err(Failure::fatal("28000", "no user is named; name one").into()),
    };
    let unknown: Vec<&str> =
        parameters.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !unknown.is_empty() {
        line.out.negotiate_version(0, &unknown);
    }
    let access = host.access();
    if access.asks() {
        authenticate(host, &access, line, &user).await?;
        line.stream.logged_in_as(&user);
    }
    // A reload that came in between has not seen whose connection this is.
    if !host.is_current(&access) {
        let text = "the users of the member were changed during the login; connect again";
        return Err(Failure::fatal("57P01", text).into());
    }
    line.out.authentication(AUTHENTICATED, &[]);
    line.stream.authenticated();
    line.set_limit(host.settings.message_bytes);
    host.counters.logins.add();
    // Any text may be named where nobody proves who he is.
    let named: String = user.chars().take(64).collect();
    tracing::info!(peer = %line.stream.info().peer, user = named, "a client logged in");

    let mut variables = Variables::new(&user);
    let wanted = parameter("options").map(options).unwrap_or_default();
    let mut warnings = Vec::new();
    for (name, value) in parameters.iter().chain(&wanted) {
        let set = variables.set_at_start(name, value);
        let warning = set.map_err(|wrong| Failure::fatal(wrong.code, wrong.message))?;
        warnings.extend(warning.filter(|_| warnings.len() < MOST_WARNINGS));
    }
    variables.started();
    for warning in &warnings {
        tracing::debug!(peer = %line.stream.info().peer, why = %warning.message, "a variable keeps its default");
        if variables.tells_warnings() {
            line.out.failure(warning);
        }
    }
    for (name, value) in variables.reported() {
        line.out.parameter_status(name, value);
    }
    let place = Place::take(host).map_err(|Refused(why)| Failure::fatal("53000", why))?;
    line.out.key_data(place.process, place.key());
    line.out.ready(Transaction::None);
    let rights = access.rights(&user);
    Ok(Some(Guest { user, rights, variables, place }))
}

async fn encrypt(line: &mut Line) -> Result<(), Ended> {
    if !line.stream.can_encrypt() {
        line.out.put_u8(b'N');
        return Ok(());
    }
    // Whoever stands between could have put it there, to be taken for what the client says under encryption.
    if line.has_more() {
        return Err(Failure::malformed("bytes before the TLS handshake").into());
    }
    line.out.put_u8(b'S');
    line.flush().await?;
    line.stream.encrypt().await?;
    Ok(())
}

/// Asks for a proof of the password.
async fn authenticate(host: &Host, access: &Access, line: &mut Line, user: &str) -> Result<(), Ended> {
    line.out.authentication(SASL, format!("{}\0\0", scram::MECHANISM).as_bytes());
    let (mechanism, first) = initial(password(line).await?)?;
    let (peer, clock) = (line.stream.info().peer.ip(), &host.clock);
    // Its turn is taken before the secret is looked at, or many connections side by side would guess faster.
    if !host.guesses.wait(peer, user, clock).await {
        host.counters.failed_logins.add();
        tracing::warn!(%peer, "a login was refused unread: too many of its user and address wait already");
        let text = "too many logins of this user failed from this address; try again in a few seconds";
        return Err(Failure::fatal("28000", text).into());
    }
    let checked = if mechanism == scram::MECHANISM {
        access.passwords.begin(user, &first)
    } else {
        Err(Refused("it knows another mechanism"))
    };
    let proven = match checked {
        Ok(exchange) => {
            line.out.authentication(SASL_CONTINUE, exchange.challenge.as_bytes());
            let last = password(line).await?;
            exchange.finish(&last)
        }
        Err(refused) => Err(refused),
    };
    match proven {
        Ok(proof) => {
            host.guesses.succeeded(peer, user);
            line.out.authentication(SASL_FINAL, proof.as_bytes());
            Ok(())
        }
        Err(Refused(why)) => {
            host.counters.failed_logins.add();
            host.guesses.failed(peer, user, clock.now());
            // For those who read the log alone. No name: it may be the password.
            tracing::warn!(peer = %line.stream.info().peer, why, "a login failed");
            let user: String = user.chars().take(64).collect();
            Err(Failure::fatal("28P01", format!("password authentication failed for user {user:?}")).into())
        }
    }
}

/// What came in answer to a question about the password.
async fn password(line: &mut Line) -> Result<Bytes, Ended> {
    let (kind, body) = line.message().await?;
    match Request::read(kind, body)? {
        Request::Password(answer) => Ok(answer),
        Request::Terminate => Err(Ended::Gone),
        _ => Err(Failure::malformed("a message other than a password came before the login").into()),
    }
}

/// The mechanism that a client chose, and its first message.
fn initial(answer: Bytes) -> Result<(String, Bytes), Failure> {
    let mut fields = Fields(answer);
    let mechanism = fields.text()?;
    let first = fields.value()?.ok_or_else(|| Failure::malformed("no first SASL message"))?;
    Ok((mechanism, first))
}
