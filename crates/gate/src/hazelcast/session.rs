//! One connection: a state machine from the preamble over the login to requests. Runs on the io loop that the connection lives on.
//!
//! ```text
//! preamble "CP2" --> login: authentication only, 4 KB --> ready: every message that is served; too long a one is answered and skipped
//!      |                     |                                 |
//!      +-- anything else, too many failures, bytes that are no messages: closed
//! ```

use super::call::Desk;
use super::connect;
use super::dispatch::{Guest, dispatch};
use super::failure::Failure;
use super::host::Host;
use super::login::{Credentials, Status};
use super::skip::{Skip, Skipped, correlation};
use crate::guesses::Turn;
use bytes::{Buf, Bytes, BytesMut};
use filbert_net::{Close, CloseReason, ConnectionInfo, Outbound, Outlet, Protocol};
use filbert_wire::frame::{Limits, PREAMBLE, SplitError, Splitter};
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::client::{Authentication, AuthenticationCustom};
use filbert_wire::messages::error::ErrorCode;
use std::sync::Arc;
use std::time::Duration;

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// One connection of a Hazelcast client.
#[derive(Debug)]
pub(super) struct Session {
    host: Arc<Host>,
    info: ConnectionInfo,
    outlet: Outlet,
    splitter: Splitter,
    phase: Phase,
    /// A message that is too long and is thrown away.
    skip: Option<Skip>,
}

#[derive(Debug)]
enum Phase {
    Preamble,
    Login { failures: u32, held: Option<Held> },
    Ready(Box<Guest>),
}

/// A login that waits for its turn: logins of its user from its address failed before.
#[derive(Debug)]
struct Held {
    message: Bytes,
    until: Duration,
}

impl Session {
    pub(super) fn new(host: &Arc<Host>, info: &ConnectionInfo, outlet: Outlet) -> Self {
        let (host, info, splitter) = (Arc::clone(host), info.clone(), Splitter::new(Limits::BEFORE_LOGIN));
        Self { host, info, outlet, splitter, phase: Phase::Preamble, skip: None }
    }

    /// Passes the preamble; true when it is behind us.
    fn pass_preamble(&mut self, input: &mut BytesMut) -> Result<bool, Close> {
        let got = &input[..input.len().min(PREAMBLE.len())];
        if !PREAMBLE.starts_with(got) {
            self.host.counters.malformed.add();
            return Err(Close::because(match got.first() {
                Some(&TLS_HANDSHAKE) => {
                    "it begins like TLS, and this door has none: set [hazelcast.tls], or have the client connect without"
                }
                _ => "it does not begin with CP2: this is no Hazelcast client",
            }));
        }
        if got.len() < PREAMBLE.len() {
            return Ok(false);
        }
        input.advance(PREAMBLE.len());
        self.phase = Phase::Login { failures: 0, held: None };
        Ok(true)
    }

    #[inline]
    fn message(&mut self, message: Bytes, out: &mut Outbound) -> Result<(), Close> {
        // Without a correlation there is nobody to answer.
        let is_login = !matches!(self.phase, Phase::Ready(_));
        let held = is_login.then(|| message.clone());
        let reader = MessageReader::new(message).map_err(|error| {
            self.host.counters.malformed.add();
            Close::because(error.to_string())
        })?;
        match (&mut self.phase, held) {
            (Phase::Ready(guest), _) => {
                dispatch(guest, &reader, out);
                Ok(())
            }
            (_, Some(message)) => self.log_in_at_its_turn(&reader, &message, out),
            (Phase::Preamble | Phase::Login { .. }, None) => Ok(()),
        }
    }

    /// A login is checked when its turn has come: see [`crate::guesses`].
    #[cold]
    fn log_in_at_its_turn(
        &mut self,
        reader: &MessageReader,
        message: &[u8],
        out: &mut Outbound,
    ) -> Result<(), Close> {
        let user = match reader.id() {
            Authentication::ID => Authentication::decode(reader).ok().and_then(|request| request.username),
            _ => None,
        };
        let user = user.as_deref().unwrap_or_default();
        let turn = self.host.guesses.turn(self.info.peer.ip(), user, self.now());
        match (turn, &mut self.phase) {
            (Turn::At(until), Phase::Login { held, .. }) => {
                // A copy: a slice of the input would keep all of it alive.
                *held = Some(Held { message: Bytes::copy_from_slice(message), until });
                Ok(())
            }
            (Turn::Never, _) => {
                self.host.counters.failed_logins.add();
                tracing::warn!(peer = %self.info.peer, "a login was refused unread: too many of its user and address wait already");
                let text =
                    "too many logins of this user failed from this address; try again in a few seconds";
                Failure::new(ErrorCode::Authentication, text).encode(reader.correlation(), out.buffer());
                Err(Close::because("too many logins failed"))
            }
            _ => self.log_in(reader, out),
        }
    }

    fn now(&self) -> Duration {
        self.host.grid.stages().clock().now()
    }

    /// Goes on with a login whose turn has come; false when it has not.
    fn go_on(&mut self, out: &mut Outbound) -> Result<bool, Close> {
        let now = self.now();
        let Phase::Login { held, .. } = &mut self.phase else { return Ok(true) };
        match held.take_if(|held| held.until <= now) {
            None => Ok(held.is_none()),
            Some(login) => {
                let reader =
                    MessageReader::new(login.message).map_err(|error| Close::because(error.to_string()))?;
                self.log_in(&reader, out)?;
                Ok(true)
            }
        }
    }

    /// What to do about bytes that are no message: one that is only too long is answered, and thrown away.
    #[cold]
    fn broken(&mut self, error: &SplitError, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        self.host.counters.malformed.add();
        let is_long = matches!(error, SplitError::FrameTooLong { .. } | SplitError::MessageTooLong { .. });
        let limit = self.host.settings.message_bytes;
        if let (Phase::Ready(guest), true) = (&self.phase, is_long) {
            let client = guest.desk.identity.client;
            tracing::warn!(peer = %self.info.peer, %client, limit, "a message is longer than hazelcast.message_bytes");
        }
        let (Phase::Ready(_), true, Some(correlation)) = (&self.phase, is_long, correlation(input)) else {
            return Err(Close::because(error.to_string()));
        };
        Failure::too_long(limit).encode(correlation, out.buffer());
        self.splitter = Splitter::new(self.host.settings.limits());
        self.skip = Some(Skip::default());
        self.skip(input).map(drop)
    }

    /// Throws away what has come of a message that is too long; true when the next one may be read.
    fn skip(&mut self, input: &mut BytesMut) -> Result<bool, Close> {
        let Some(skip) = &mut self.skip else { return Ok(true) };
        match skip.go_on(input) {
            Skipped::All => {
                self.skip = None;
                Ok(true)
            }
            Skipped::Part => Ok(false),
            Skipped::Hopeless => {
                Err(Close::because("a message is far too long, or its frames do not add up"))
            }
        }
    }

    /// Before login: authentication, or the end.
    #[cold]
    fn log_in(&mut self, reader: &MessageReader, out: &mut Outbound) -> Result<(), Close> {
        let (mut asked, mut user) = (String::new(), String::new());
        let users = self.host.users.now();
        let decided = match reader.id() {
            Authentication::ID => Authentication::decode(reader).map(|request| {
                asked = shortened(&request.cluster_name);
                user = request.username.as_deref().unwrap_or_default().to_owned();
                let credentials = Credentials::Password {
                    name: request.username.as_deref(),
                    password: request.password.as_deref(),
                };
                self.host.log_in(
                    &users,
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
                    &users,
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
                self.host.guesses.succeeded(self.info.peer.ip(), &user);
                let user_name = identity.user.as_deref();
                if let Some(user) = user_name {
                    self.outlet.logged_in_as(user);
                }
                tracing::info!(peer = %self.info.peer, client = %identity.client, user = user_name, "a client logged in");
                let desk = Desk::new(&self.host, &self.info, identity);
                self.splitter.set_limits(self.host.settings.limits());
                self.phase = Phase::Ready(Box::new(Guest::new(desk)));
                // A reload that came in between has not seen whose connection this is.
                if !self.host.users.are_still(&users) {
                    return Err(Close::because("the users were changed during the login"));
                }
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
        self.count_failure(status, &asked, &user)
    }

    fn count_failure(&mut self, status: Status, asked: &str, user: &str) -> Result<(), Close> {
        let now = self.now();
        let Phase::Login { failures, .. } = &mut self.phase else { return Ok(()) };
        debug_assert_ne!(status, Status::Authenticated);
        self.host.counters.failed_logins.add();
        self.host.guesses.failed(self.info.peer.ip(), user, now);
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
        if !matches!(self.phase, Phase::Ready(_)) && !self.go_on(out)? {
            return Ok(());
        }
        while !out.is_congested() {
            if !self.skip(input)? {
                return Ok(());
            }
            match self.splitter.split(input) {
                Ok(Some(message)) => self.message(message, out)?,
                Ok(None) => return Ok(()),
                Err(error) => self.broken(&error, input, out)?,
            }
            if self.rests_until().is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn rests_until(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Login { held: Some(held), .. } => Some(held.until),
            _ => None,
        }
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

    fn closed(&mut self, reason: CloseReason) {
        if let Phase::Ready(guest) = &mut self.phase {
            tracing::info!(peer = %self.info.peer, client = %guest.desk.identity.client, %reason, "a client left");
            guest.desk.leave();
        }
    }
}
