//! Gets a page of a member over HTTP: one connection each, which the member closes behind its answer.

use super::client::resolved;
use bytes::BytesMut;
use filbert::Stages;
use filbert_net::{
    ClientTlsSettings, Close, CloseReason, Connector, NetSettings, Outbound, Protocol, is_loopback,
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
    token: Option<String>,
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

impl Source {
    pub(super) fn new(stages: &Stages, at: &At) -> Result<Self, Box<dyn Error>> {
        let host = at.address.clone();
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = at.ca.as_ref().map(|ca| ClientTlsSettings {
            ca_pem_path: ca.clone(),
            server_name: at.server_name.clone().unwrap_or(name),
            identity: None,
        });
        let (addresses, token) = (resolved(&host)?, std::env::var("FILBERT_TOKEN").ok());
        if token.is_some() && tls.is_none() && !addresses.iter().all(|address| is_loopback(*address)) {
            return Err(
                "the token would go over the network in the clear; give --ca, so that it is encrypted".into(),
            );
        }
        let connector = Connector::new(NetSettings::default(), tls.as_ref())?;
        Ok(Self { stages: stages.clone(), connector, addresses, host, token })
    }

    /// Gets the page `/status`: all that the member says of itself.
    pub(super) fn status(&self) -> Result<String, Box<dyn Error>> {
        body(&self.answer("/status")?)
    }

    /// Gets a page that needs no login: whether its status is 200, and its text.
    pub(super) fn health(&self, path: &str) -> Result<(bool, String), Box<dyn Error>> {
        let answer = self.answer(path)?;
        let (status, text) = parts(&answer)?;
        match status.as_str() {
            "200" | "503" => Ok((status == "200", text)),
            _ => body(&answer).map(|text| (true, text)),
        }
    }

    /// Gets the whole answer to a request for a path.
    fn answer(&self, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        let (tell, told) = channel();
        let mut last: Box<dyn Error> = "the host has no address".into();
        for address in &self.addresses {
            let whole = Whole { answer: Vec::new(), tell: tell.clone() };
            match self.connector.connect(&self.stages, *address, |_, _| whole)?.wait()? {
                Err(error) => {
                    last = format!("{error}; does the member have its door for metrics there (http.address)?")
                        .into()
                }
                Ok(outlet) => {
                    let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
                    let request = format!(
                        "GET {path} HTTP/1.1\r\nHost: {}\r\n{}Connection: close\r\n\r\n",
                        self.host,
                        token.unwrap_or_default()
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
fn body(answer: &[u8]) -> Result<String, Box<dyn Error>> {
    let (status, body) = parts(answer)?;
    match status.as_str() {
        "200" => Ok(body),
        "401" => {
            Err("the member wants to know who asks: set FILBERT_TOKEN to the token of a user with all rights"
                .into())
        }
        _ => Err(format!("the member says {status}: {}", body.trim()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn only_a_good_answer_is_a_page() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}").unwrap(), "{}");
        assert!(
            body(b"HTTP/1.1 401 Unauthorized\r\n\r\n").unwrap_err().to_string().contains("FILBERT_TOKEN")
        );
        assert!(body(b"HTTP/1.1 404 Not Found\r\n\r\nnone\n").unwrap_err().to_string().contains("404: none"));
        assert!(body(b"SSH-2.0").is_err() && body(b"").is_err());
    }
}
