//! One connection: a state machine from the preamble over the login to requests. Runs on the io loop that the connection lives on.
//!
//! ```text
//! preamble "CP2" --> login: authentication only, 4 KB --> ready: every message that is served
//!      |                     |                                 |
//!      +-- anything else, too many failures, bytes that are no messages: closed
//! ```

use super::call::Desk;
use super::connect;
use super::dispatch::{Guest, dispatch};
use super::failure::Failure;
use super::host::Host;
use super::login::{Credentials, Status};
use bytes::{Buf, Bytes, BytesMut};
use filbert_net::{Close, CloseReason, ConnectionInfo, Outbound, Protocol};
use filbert_wire::frame::{Limits, PREAMBLE, Splitter};
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::client::{Authentication, AuthenticationCustom};
use filbert_wire::messages::error::ErrorCode;
use std::sync::Arc;

/// One connection of a Hazelcast client.
#[derive(Debug)]
pub(super) struct Session {
    host: Arc<Host>,
    info: ConnectionInfo,
    splitter: Splitter,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Preamble,
    Login { failures: u32 },
    Ready(Box<Guest>),
}

impl Session {
    pub(super) fn new(host: &Arc<Host>, info: &ConnectionInfo) -> Self {
        let (host, info) = (Arc::clone(host), info.clone());
        Self { host, info, splitter: Splitter::new(Limits::BEFORE_LOGIN), phase: Phase::Preamble }
    }

    /// Passes the preamble; true when it is behind us.
    fn pass_preamble(&mut self, input: &mut BytesMut) -> Result<bool, Close> {
        let got = &input[..input.len().min(PREAMBLE.len())];
        if !PREAMBLE.starts_with(got) {
            self.host.counters.malformed.add();
            return Err(Close::because("it does not begin with CP2: this is no Hazelcast client"));
        }
        if got.len() < PREAMBLE.len() {
            return Ok(false);
        }
        input.advance(PREAMBLE.len());
        self.phase = Phase::Login { failures: 0 };
        Ok(true)
    }

    #[inline]
    fn message(&mut self, message: Bytes, out: &mut Outbound) -> Result<(), Close> {
        // Without a correlation there is nobody to answer.
        let reader = MessageReader::new(message).map_err(|error| {
            self.host.counters.malformed.add();
            Close::because(error.to_string())
        })?;
        match &mut self.phase {
            Phase::Ready(guest) => {
                dispatch(guest, &reader, out);
                Ok(())
            }
            Phase::Preamble | Phase::Login { .. } => self.log_in(&reader, out),
        }
    }

    /// Before login: authentication, or the end.
    #[cold]
    fn log_in(&mut self, reader: &MessageReader, out: &mut Outbound) -> Result<(), Close> {
        let mut asked = String::new();
        let decided = match reader.id() {
            Authentication::ID => Authentication::decode(reader).map(|request| {
                asked = shortened(&request.cluster_name);
                let credentials = Credentials::Password {
                    name: request.username.as_deref(),
                    password: request.password.as_deref(),
                };
                self.host.log_in(
                    &request.cluster_name,
                    &credentials,
                    request.uuid,
                    request.serialization_version,
                )
            }),
            AuthenticationCustom::ID => AuthenticationCustom::decode(reader).map(|request| {
                asked = shortened(&request.cluster_name);
                let credentials = Credentials::Token(&request.credentials);
                self.host.log_in(
                    &request.cluster_name,
                    &credentials,
                    request.uuid,
                    request.serialization_version,
                )
            }),
            other => {
                let text = format!("message {other:#08x} came before the login; log in first");
                let failure = Failure::new(ErrorCode::Authentication, text);
                failure.encode(reader.correlation(), out.buffer());
                return Err(Close::because("a message other than a login came first"));
            }
        };
        let status = match decided {
            Ok(Ok(identity)) => {
                self.host.counters.logins.add();
                let desk = Desk::new(&self.host, &self.info, identity);
                self.splitter.set_limits(self.host.settings.limits());
                self.phase = Phase::Ready(Box::new(Guest::new(desk)));
                Status::Authenticated
            }
            Ok(Err(status)) => status,
            Err(error) => {
                self.host.counters.malformed.add();
                let close = Close::because(error.to_string());
                Failure::from(error).encode(reader.correlation(), out.buffer());
                return Err(close);
            }
        };
        connect::answer_login(&self.host, &self.info, status, reader, out.buffer());
        self.count_failure(status, &asked)
    }

    fn count_failure(&mut self, status: Status, asked: &str) -> Result<(), Close> {
        let Phase::Login { failures } = &mut self.phase else { return Ok(()) };
        debug_assert_ne!(status, Status::Authenticated);
        self.host.counters.failed_logins.add();
        *failures += 1;
        // For those who read the log alone: the client is not told what was wrong. No name and no secret: either may be the password.
        let cluster = &*self.host.settings.cluster_name;
        let why = match status {
            Status::OtherSerialization => "its version of the serialization is another",
            _ if asked != shortened(cluster) => "it asked for another cluster",
            _ => "its user, password or token is wrong",
        };
        tracing::warn!(peer = %self.info.peer, failures, asked_for = asked, cluster, why, "a login failed");
        if *failures >= self.host.settings.failed_logins {
            return Err(Close::because("too many logins failed"));
        }
        Ok(())
    }
}

/// The begin of a name that a stranger made up.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

impl Protocol for Session {
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        if matches!(self.phase, Phase::Preamble) && !self.pass_preamble(input)? {
            return Ok(());
        }
        while !out.is_congested() {
            let next = self.splitter.split(input).map_err(|error| {
                self.host.counters.malformed.add();
                Close::because(error.to_string())
            })?;
            let Some(message) = next else { return Ok(()) };
            self.message(message, out)?;
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        // The splitter refuses what is longer; so whatever it waits for is shorter than this.
        match self.phase {
            Phase::Preamble | Phase::Login { .. } => Limits::BEFORE_LOGIN.message_bytes + PREAMBLE.len() + 1,
            Phase::Ready(_) => self.host.settings.message_bytes + 1,
        }
    }

    fn is_authenticated(&self) -> bool {
        matches!(self.phase, Phase::Ready(_))
    }

    fn draining(&mut self, _out: &mut Outbound) {
        if let Phase::Ready(guest) = &self.phase {
            guest.desk.waiters.give_up();
        }
    }

    fn closed(&mut self, _reason: CloseReason) {
        if let Phase::Ready(guest) = &mut self.phase {
            guest.desk.leave();
        }
    }
}
