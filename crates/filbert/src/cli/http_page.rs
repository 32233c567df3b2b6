//! Gets a page of a member over HTTP: one connection each, which the member closes behind its answer.

use super::client::resolved;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use filbert::Stages;
use filbert_net::{
    ClientTlsSettings, Close, CloseReason, ConnectError, Connector, NetSettings, Outbound, Protocol,
    is_loopback,
};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The time that a page may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The bytes that a page may have.
const PAGE_BYTES: usize = 64 << 20;

/// The address of a member's door for metrics, and its certificates.
#[derive(Debug, clap::Args)]
pub(super) struct At {
    /// Address of the member's door for metrics. A token for it comes from the environment variable FILBERT_TOKEN.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub(super) address: String,
    /// Encrypts: the certificates that sign the member's, in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name that the member's certificate is for, when it is not its host.
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
}

/// The door of a member from which pages come.
pub(super) struct Source {
    stages: Stages,
    connector: Connector,
    addresses: Vec<SocketAddr>,
    host: String,
    /// The header `Authorization`, without its name.
    authorization: Option<String>,
}

/// Gathers an answer until its end.
struct Whole {
    answer: Vec<u8>,
    tell: Sender<Vec<u8>>,
}

impl Protocol for Whole {
    fn received(&mut self, input: &mut BytesMut, _: &mut Outbound) -> Result<(), Close> {
        if self.answer.len() + input.len() > PAGE_BYTES {
            return Err(Close::because("the page is too long"));
        }
        self.answer.extend_from_slice(input);
        input.clear();
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        PAGE_BYTES
    }

    fn closed(&mut self, _: CloseReason) {
        // Nobody waits any more when the command has ended.
        let _ = self.tell.send(std::mem::take(&mut self.answer));
    }
}

/// Makes the header of a login: by a name with its password, else by a token, else none.
fn authorization(
    user: Option<&str>,
    password: Option<String>,
    token: Option<String>,
) -> Result<Option<String>, String> {
    match (user, password) {
        (Some(user), _) if user.contains(':') => Err(format!("--user {user}: a name has no colon")),
        (Some(user), Some(password)) => {
            Ok(Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))))
        }
        (Some(user), None) => Err(format!(
            "--user {user}: set the environment variable FILBERT_PASSWORD to the password of this user"
        )),
        (None, _) => Ok(token.map(|token| format!("Bearer {token}"))),
    }
}

impl Source {
    /// Finds the door of a member; `user` is who logs in there, with the password of the environment.
    pub(super) fn new(stages: &Stages, at: &At, user: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let host = at.address.clone();
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = at.ca.as_ref().map(|ca| ClientTlsSettings {
            ca_pem_path: ca.clone(),
            server_name: at.server_name.clone().unwrap_or(name),
            identity: None,
        });
        let said = |name| std::env::var(name).ok();
        let addresses = resolved(&host)?;
        let authorization = authorization(user, said("FILBERT_PASSWORD"), said("FILBERT_TOKEN"))?;
        if authorization.is_some() && tls.is_none() && !addresses.iter().all(|address| is_loopback(*address))
        {
            let what = if user.is_some() { "password" } else { "token" };
            return Err(format!(
                "the {what} would go over the network in the clear; give --ca, so that it is encrypted"
            )
            .into());
        }
        let connector = Connector::new(NetSettings::default(), tls.as_ref())?;
        Ok(Self { stages: stages.clone(), connector, addresses, host, authorization })
    }

    /// Gets the page `/status`: all that the member says of itself.
    pub(super) fn status(&self) -> Result<String, Box<dyn Error>> {
        body(&self.answer("/status")?, self.authorization.is_some())
    }

    /// Gets a page that needs no login: whether its status is 200, and its text.
    pub(super) fn health(&self, path: &str) -> Result<(bool, String), Box<dyn Error>> {
        let answer = self.answer(path)?;
        let (status, text) = parts(&answer)?;
        match status.as_str() {
            "200" | "503" => Ok((status == "200", text)),
            _ => body(&answer, self.authorization.is_some()).map(|text| (true, text)),
        }
    }

    /// Gets the whole answer to a request for a path.
    fn answer(&self, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        let (tell, told) = channel();
        let mut last: Box<dyn Error> = "the host has no address".into();
        for address in &self.addresses {
            let whole = Whole { answer: Vec::new(), tell: tell.clone() };
            match self.connector.connect(&self.stages, *address, |_, _| whole)?.wait()? {
                Err(ConnectError::Unreachable { address, source }) => {
                    last = format!(
                        "cannot connect to {address}: {source}; does a member have its door for metrics there (http.address)?"
                    )
                    .into()
                }
                Err(error) => last = error.into(),
                Ok(outlet) => {
                    let login = self.authorization.as_ref();
                    let login = login.map(|login| format!("Authorization: {login}\r\n"));
                    let request = format!(
                        "GET {path} HTTP/1.1\r\nHost: {}\r\n{}Connection: close\r\n\r\n",
                        self.host,
                        login.unwrap_or_default()
                    );
                    outlet.send_slice(request.as_bytes()).map_err(|_| "the member closed the connection")?;
                    return Ok(told.recv_timeout(PATIENCE).map_err(|_| "the member does not answer")?);
                }
            }
        }
        Err(last)
    }
}

/// Splits an answer into its status and its text.
fn parts(answer: &[u8]) -> Result<(String, String), Box<dyn Error>> {
    let answer = String::from_utf8_lossy(answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("what answers there does not speak HTTP")?;
    Ok((head.split(' ').nth(1).unwrap_or_default().to_owned(), body.to_owned()))
}

/// Takes the text out of an answer with status 200.
fn body(answer: &[u8], has_login: bool) -> Result<String, Box<dyn Error>> {
    let (status, body) = parts(answer)?;
    match status.as_str() {
        "200" => Ok(body),
        "401" if has_login => {
            Err("the member does not know this user with this password, or this token".into())
        }
        "401" => Err(
            "the member wants to know who asks: give --user and set FILBERT_PASSWORD, or set FILBERT_TOKEN, \
                      for a user with all rights"
                .into(),
        ),
        "403" => Err("this user may not look at the member: that needs all rights (may = [\"*\"])".into()),
        _ => Err(format!("the member says {status}: {}", body.trim()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{authorization, body};

    #[test]
    fn only_a_good_answer_is_a_page() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}", false).unwrap(), "{}");
        let said = |answer: &[u8], has_login| body(answer, has_login).unwrap_err().to_string();
        let unknown = b"HTTP/1.1 401 Unauthorized\r\n\r\n";
        assert!(said(unknown, false).contains("FILBERT_TOKEN") && said(unknown, false).contains("--user"));
        assert!(said(unknown, true).contains("does not know this user"));
        assert!(said(b"HTTP/1.1 403 Forbidden\r\n\r\n", true).contains("all rights"));
        assert!(said(b"HTTP/1.1 404 Not Found\r\n\r\nnone\n", false).contains("404: none"));
        assert!(body(b"SSH-2.0", false).is_err() && body(b"", false).is_err());
    }

    #[test]
    fn a_login_is_a_password_or_a_token() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            authorization(Some("ann"), text("pass"), text("t")),
            Ok(text("Basic YW5uOnBhc3M=")),
            "who is named comes first"
        );
        assert_eq!(authorization(None, text("pass"), text("t")), Ok(text("Bearer t")));
        assert_eq!(authorization(None, text("pass"), None), Ok(None));
        assert!(authorization(Some("ann"), None, text("t")).unwrap_err().contains("FILBERT_PASSWORD"));
        assert!(authorization(Some("a:b"), text("p"), None).is_err());
    }
}
