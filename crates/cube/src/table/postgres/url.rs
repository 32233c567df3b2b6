//! The URL of a database: what the driver is told, and whether the way there is safe.
//!
//! A password and rows go over the wire, so a server elsewhere is spoken to through TLS, with its certificate checked, unless the URL says
//! `sslmode=disable` itself. Of the URL nothing but the path of `sslrootcert` is ever part of a message: it may hold a password.

use super::rope::Rope;
use super::tls::{Knot, Tls};
use crate::error::CubeError;
use postgres::Config;
use postgres::config::{Host, SslMode, SslNegotiation};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server that does not answer is given up after this long, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A network that is dead is noticed while a query waits: by asking after so long without a byte, so often, and by bytes that nobody
/// confirms.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
const UNCONFIRMED: Duration = Duration::from_secs(60);

/// What the driver has for a URL that does not say how long a connection may be idle.
const DRIVER_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

const UNREADABLE: &str = "its place cannot be read; write postgres://user:password@host:port/database?sslmode=..., \
                          with letters such as @ : / ? # and % of the password as %40 %3A %2F %3F %23 and %25";

/// How a database is reached.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

/// What `sslmode` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Safety {
    Unsaid,
    Disable,
    /// By TLS if the server has it: somebody on the way could say that it has not.
    Perhaps,
    Verify,
}

impl Place {
    /// Reads a URL; `table` is for messages.
    pub(super) fn of_url(url: &str, table: &str) -> Result<Self, CubeError> {
        let invalid = |problem: String| CubeError::InvalidTable { table: table.to_owned(), problem };
        // A string of keywords may say something about TLS that is not looked at here.
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(invalid(UNREADABLE.to_owned()));
        }
        let (url, safety, roots) = split(url).map_err(invalid)?;
        // What the driver says about a text that it cannot read may have a part of the password in it.
        let mut config: Config = url.parse().map_err(|_| invalid(UNREADABLE.to_owned()))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("filbert");
        }
        if config.get_keepalives_idle() == DRIVER_IDLE {
            config.keepalives_idle(KEEPALIVE_IDLE);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNCONFIRMED);
        }
        let is_near = !config.get_hosts().is_empty()
            && config.get_hosts().iter().all(is_loopback)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let is_safe = match (safety, is_near) {
            (Safety::Disable, _) | (Safety::Unsaid | Safety::Perhaps, true) => false,
            (Safety::Verify, _) | (Safety::Unsaid, false) => true,
            (Safety::Perhaps, false) => {
                return Err(invalid(
                    "sslmode=prefer and sslmode=allow may fall back to a connection that anyone can read; set \
                     sslmode=require, or sslmode=disable if the way to the server is safe"
                        .to_owned(),
                ));
            }
        };
        let is_direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        let tls =
            if is_safe { Tls::verified(roots.as_deref(), is_direct).map_err(invalid)? } else { Tls::none() };
        // So that the driver hands over its streams at once, safe or not. It does not where a host has no name.
        let has_names = !config.get_hosts().is_empty()
            && config.get_hosts().iter().all(|host| matches!(host, Host::Tcp(_)));
        config.ssl_mode(if is_safe || has_names { SslMode::Require } else { SslMode::Disable });
        config.ssl_negotiation(SslNegotiation::Direct);
        Ok(Self { config, tls })
    }

    /// How streams to it are made, each on its rope.
    pub(super) fn knot(&self, rope: &Arc<Rope>) -> Knot {
        let patience = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        Knot { tls: self.tls.clone(), rope: Arc::clone(rope), patience }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").field("hosts", &self.config.get_hosts()).finish_non_exhaustive()
    }
}

/// The URL without what is said about TLS, for a driver that knows less about it.
fn split(url: &str) -> Result<(String, Safety, Option<PathBuf>), String> {
    // A password may have a question mark in it.
    let server = url.find('@').map_or(0, |end| end + 1);
    let mark = url[server..].find('?').map_or(url.len(), |mark| server + mark);
    let (place, options) = (&url[..mark], url[mark..].trim_start_matches('?'));
    let (mut rest, mut safety, mut roots) = (Vec::new(), Safety::Unsaid, None);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        // The driver reads `ssl%6Dode` as well.
        match unescaped(key)?.as_str() {
            "sslmode" => {
                safety = match unescaped(value)?.as_str() {
                    "disable" => Safety::Disable,
                    "allow" | "prefer" => Safety::Perhaps,
                    "require" | "verify-ca" | "verify-full" => Safety::Verify,
                    _ => return Err("sslmode is none of disable, require and verify-full".to_owned()),
                }
            }
            "sslrootcert" => roots = Some(unescaped(value)?.into()),
            _ => rest.push(option),
        }
    }
    let options = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{place}{options}"), safety, roots))
}

/// A text of a URL in which `%2F` is a slash.
fn unescaped(text: &str) -> Result<String, String> {
    let told = || "an option behind the ? is not in the form of a URL; write % as %25".to_owned();
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(told)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| told())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| told())
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> Result<SslMode, String> {
        let place = Place::of_url(url, "t").map_err(|error| error.to_string())?;
        Ok(if place.tls.is_safe() { SslMode::Require } else { SslMode::Disable })
    }

    #[test]
    fn a_server_elsewhere_is_spoken_to_through_tls_unless_the_url_says_otherwise() {
        assert_eq!(mode("postgres://me@localhost/db"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@127.0.0.1:5433/db?sslmode=prefer"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@db.example/db?sslmode=disable"), Ok(SslMode::Disable));
        assert!(mode("postgres://me@db.example/db?sslmode=prefer").unwrap_err().contains("sslmode=require"));
        assert!(mode("postgres://me@localhost/db?sslmode=maybe").is_err());
        assert_eq!(mode("postgres://me:a?b@db.example/db?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@db.example/db?ssl%6Dode=disable"), Ok(SslMode::Disable));
        assert!(mode("postgres://me@db.example/db?ssl%6Dode=prefer").is_err());
        assert!(mode("host=db.example user=me sslmode=disable").unwrap_err().contains("postgres://"));
        let missing = "postgres://me@db.example/db?sslrootcert=%2Fno%2Fsuch.pem";
        let told = mode(missing).unwrap_err();
        assert!(told.contains("/no/such.pem"), "{told}");
    }

    #[test]
    fn a_dead_network_is_noticed_as_soon_as_the_url_wants_it() {
        let config = Place::of_url("postgres://me@localhost/db", "t").unwrap().config;
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE_IDLE);
        assert_eq!(config.get_keepalives_retries(), Some(KEEPALIVE_RETRIES));
        assert_eq!(config.get_tcp_user_timeout(), Some(&UNCONFIRMED));
        let config = Place::of_url("postgres://me@localhost/db?keepalives_idle=7", "t").unwrap().config;
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
    }

    #[test]
    fn no_part_of_a_password_is_told() {
        for url in
            ["postgres://me:x@sec?ret=x@host/db", "postgres://me:sec/ret@host:x/db", "nonsense sec ret"]
        {
            let told = mode(url).unwrap_err();
            assert!(!told.contains("sec") && !told.contains("ret=") && told.contains("%40"), "{told}");
        }
        let place = Place::of_url("postgres://me:secret@localhost/db", "t").unwrap();
        assert!(!format!("{place:?}").contains("secret"));
    }
}
