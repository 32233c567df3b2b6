//! The head of a request: read by hand, since three facts of it matter.

use crate::hazelcast::Credentials;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::net::IpAddr;

/// Lines of a head; a client that has more is none of ours.
const LINES: usize = 100;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Without what stands behind a `?`.
    pub(super) path: String,
    /// `HEAD`: everything but the page itself.
    pub(super) is_head: bool,
    /// More requests may come on this connection.
    pub(super) stays: bool,
    /// Whom the request is for, as the client calls it, without the port; none when it does not say.
    pub(super) host: Option<String>,
    shown: Option<Shown>,
}

/// What a client shows to be let in.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Password { name: String, password: String },
    Token(String),
}

/// Why a request gets no page: the status, and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) &'static str, pub(super) &'static str);

const BAD: &str = "400 Bad Request";

/// Where the head of a request ends: behind its empty line.
pub(super) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

impl Request {
    /// Of a whole head.
    pub(super) fn parse(head: &[u8]) -> Result<Self, Refused> {
        let head = std::str::from_utf8(head).map_err(|_| Refused(BAD, "the head is no text"))?;
        let mut lines = head.trim_end().split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Refused(BAD, "a request begins with method, path and version"));
        };
        let is_new = match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return Err(Refused("505 HTTP Version Not Supported", "this is HTTP/1.1")),
        };
        if method != "GET" && method != "HEAD" {
            return Err(Refused("405 Method Not Allowed", "there are only pages to read, with GET or HEAD"));
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        if !path.starts_with('/') {
            return Err(Refused(BAD, "a path begins with /"));
        }
        let mut request =
            Self { path: path.to_owned(), is_head: method == "HEAD", stays: is_new, host: None, shown: None };
        for (number, line) in lines.enumerate() {
            if number >= LINES {
                return Err(Refused("431 Request Header Fields Too Large", "too many lines in the head"));
            }
            // Others may read a name with spaces, or a line that goes on, in another way than we do.
            let (name, value) = match line.split_once(':') {
                Some((name, value)) if !name.is_empty() && !name.contains([' ', '\t']) => (name, value),
                _ => return Err(Refused(BAD, "a line of the head is name: value")),
            };
            request.take(name, value.trim())?;
        }
        Ok(request)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        match name.to_ascii_lowercase().as_str() {
            "connection" => {
                let says = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
                self.stays = (self.stays || says("keep-alive")) && !says("close");
            }
            // Bytes behind the head would be taken for the next request.
            "content-length" if value != "0" => {
                return Err(Refused("413 Content Too Large", "a request has no body"));
            }
            "transfer-encoding" => return Err(Refused("413 Content Too Large", "a request has no body")),
            // Two of them are a trick: which one counts is not told.
            "host" if self.host.is_some() => return Err(Refused(BAD, "a request is for one host")),
            "host" => self.host = Some(without_port(value).to_owned()),
            "authorization" => self.shown = Shown::read(value),
            _ => {}
        }
        Ok(())
    }

    /// True when the request is for this member by a name that no stranger can give it: an address, localhost, or one of `known`. A page from
    /// elsewhere can have its own name lead here, and would read what it likes.
    pub(super) fn is_for_us(&self, known: &[String]) -> bool {
        let Some(host) = &self.host else { return true };
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || known.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }

    /// What was shown, in the words of the doors.
    pub(super) fn credentials(&self) -> Option<Credentials<'_>> {
        Some(match self.shown.as_ref()? {
            Shown::Password { name, password } => {
                Credentials::Password { name: Some(name), password: Some(password) }
            }
            Shown::Token(token) => Credentials::Token(token.as_bytes()),
        })
    }
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An address of IPv6 has colons of its own, and stands in brackets where it has a port.
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) && !name.contains(':') => name,
        Some((name, _)) if name.ends_with(']') => name,
        _ => host,
    }
}

impl Shown {
    fn read(value: &str) -> Option<Self> {
        let (kind, rest) = value.split_once(' ')?;
        if kind.eq_ignore_ascii_case("bearer") {
            return Some(Self::Token(rest.trim().to_owned()));
        }
        let decoded = kind.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(rest.trim()).ok())??;
        let (name, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
        Some(Self::Password { name: name.to_owned(), password: password.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &[&str]) -> Result<Request, &'static str> {
        let head = lines.join("\r\n") + "\r\n\r\n";
        assert_eq!(head_end(head.as_bytes()), Some(head.len()));
        Request::parse(head.as_bytes()).map_err(|refused| refused.0)
    }

    #[test]
    fn a_request_is_a_path_and_whether_more_come() {
        let request = parsed(&["GET /metrics?x=1 HTTP/1.1", "Host: a"]).unwrap();
        assert_eq!((request.path.as_str(), request.is_head, request.stays), ("/metrics", false, true));
        assert!(parsed(&["HEAD / HTTP/1.1"]).unwrap().is_head);
        assert!(!parsed(&["GET / HTTP/1.0"]).unwrap().stays);
        assert!(parsed(&["GET / HTTP/1.0", "connection: Keep-Alive"]).unwrap().stays);
        assert!(!parsed(&["GET / HTTP/1.1", "Connection: foo, close"]).unwrap().stays);
    }

    #[test]
    fn what_is_no_request_for_a_page_is_refused() {
        let many: Vec<String> = (0..=LINES).map(|n| format!("x{n}: 1")).collect();
        let many: Vec<&str> =
            std::iter::once("GET / HTTP/1.1").chain(many.iter().map(String::as_str)).collect();
        for (lines, status) in [
            (&["POST / HTTP/1.1"][..], "405 Method Not Allowed"),
            (&["GET /"], BAD),
            (&["GET  / HTTP/1.1"], BAD),
            (&["GET http://a/ HTTP/1.1"], BAD),
            (&["GET / HTTP/2"], "505 HTTP Version Not Supported"),
            (&["GET / HTTP/1.1", "no colon"], BAD),
            (&["GET / HTTP/1.1", "Transfer-Encoding : chunked"], BAD),
            (&["GET / HTTP/1.1", "X: 1", " goes: on"], BAD),
            (&["GET / HTTP/1.1", "Content-Length: 5"], "413 Content Too Large"),
            (&["GET / HTTP/1.1", "Transfer-Encoding: chunked"], "413 Content Too Large"),
            (&many, "431 Request Header Fields Too Large"),
        ] {
            assert_eq!(parsed(lines).unwrap_err(), status, "{lines:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1\r\n\r\n").unwrap_err().0, BAD);
    }

    #[test]
    fn only_names_that_lead_here_by_themselves_are_ours() {
        let is_ours = |host: &str| {
            let request = parsed(&["GET / HTTP/1.1", &format!("Host: {host}")]).unwrap();
            request.is_for_us(&["member.example.org".to_owned()])
        };
        for ours in [
            "localhost",
            "LOCALHOST:8080",
            "a.localhost.",
            "127.0.0.1:8080",
            "10.0.0.7",
            "[::1]:8080",
            "[::1]",
            "::1",
            "Member.example.org:80",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for strange in
            ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", ""]
        {
            assert!(!is_ours(strange), "{strange}");
        }
        assert!(parsed(&["GET / HTTP/1.0"]).unwrap().is_for_us(&[]), "no browser leaves it out");
        assert_eq!(parsed(&["GET / HTTP/1.1", "Host: a", "Host: localhost"]).unwrap_err(), BAD);
    }

    #[test]
    fn passwords_and_tokens_are_read() {
        let shown =
            |value: &str| parsed(&["GET / HTTP/1.1", &format!("Authorization: {value}")]).unwrap().shown;
        let ann = Shown::Password { name: "ann".into(), password: "a:b".into() };
        assert_eq!(shown(&format!("Basic {}", STANDARD.encode("ann:a:b"))), Some(ann));
        assert_eq!(shown("bearer t1"), Some(Shown::Token("t1".into())));
        for nothing in ["Basic ???", "Digest x", "Bearer", ""] {
            assert_eq!(shown(nothing), None, "{nothing}");
        }
    }
}
