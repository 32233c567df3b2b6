//! The URL of a database: what the driver is told, and whether the way there is safe.
//!
//! A password and rows go over the wire, so a server elsewhere is spoken to through TLS, with its certificate checked, unless the URL says
//! `sslmode=disable` itself. Nothing of the URL is ever part of a message: it may hold a password.

use super::tls::Tls;
use crate::error::CubeError;
use postgres::Config;
use postgres::config::{Host, SslMode};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A server that does not answer is given up after this long, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
        let (url, safety, roots) = split(url).map_err(invalid)?;
        // What the driver says about a text that it cannot read may have a part of the password in it.
        let mut config: Config = url.parse().map_err(|_| {
            invalid(
                "its place cannot be read; write postgres://user:password@host:port/database?sslmode=..., with \
                 letters such as @ : / ? # and % of the password as %40 %3A %2F %3F %23 and %25"
                    .to_owned(),
            )
        })?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("filbert");
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
        config.ssl_mode(if is_safe { SslMode::Require } else { SslMode::Disable });
        let tls = if is_safe { Tls::verified(roots.as_deref()).map_err(invalid)? } else { Tls::none() };
        Ok(Self { config, tls })
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
        match option.split_once('=') {
            Some(("sslmode", mode)) => {
                safety = match mode {
                    "disable" => Safety::Disable,
                    "allow" | "prefer" => Safety::Perhaps,
                    "require" | "verify-ca" | "verify-full" => Safety::Verify,
                    _ => return Err("sslmode is none of disable, require and verify-full".to_owned()),
                }
            }
            Some(("sslrootcert", path)) => roots = Some(unescaped(path)?.into()),
            _ => rest.push(option),
        }
    }
    let options = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{place}{options}"), safety, roots))
}

/// A text of a URL in which `%2F` is a slash.
fn unescaped(text: &str) -> Result<String, String> {
    let told = || "sslrootcert is not a path in the form of a URL; write % as %25".to_owned();
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
        Place::of_url(url, "t").map(|place| place.config.get_ssl_mode()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_elsewhere_is_spoken_to_through_tls_unless_the_url_says_otherwise() {
        assert_eq!(mode("postgres://me@localhost/db"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@127.0.0.1:5433/db?sslmode=prefer"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://me@db.example/db?sslmode=disable"), Ok(SslMode::Disable));
        assert!(mode("postgres://me@db.example/db?sslmode=prefer").unwrap_err().contains("sslmode=require"));
        assert!(mode("postgres://me@localhost/db?sslmode=maybe").is_err());
        assert_eq!(mode("postgres://me:a?b@db.example/db?sslmode=disable"), Ok(SslMode::Disable));
        let missing = "postgres://me@db.example/db?sslrootcert=%2Fno%2Fsuch.pem";
        let told = mode(missing).unwrap_err();
        assert!(told.contains("/no/such.pem"), "{told}");
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
