//! A small client of a running member, for commands: one connection, one request at a time, in the protocol of Hazelcast's clients.

use super::form::escaped;
use super::interruption::Interruption;
use super::progress::EVERY;
use bytes::{Bytes, BytesMut};
use filbert::{Shutdown, Stages};
use filbert_net::{
    ClientTlsSettings, Close, CloseReason, Connector, NetSettings, Outbound, Outlet, Protocol, is_loopback,
};
use filbert_wire::frame::{Flags, Limits, PREAMBLE, Splitter};
use filbert_wire::message::{MessageReader, Raises, Record, Request};
use filbert_wire::messages::client::{Authentication, Ping};
use filbert_wire::messages::error::{ERROR_ID, ErrorResponse};
use std::collections::VecDeque;
use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;
use uuid::Uuid;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A member closes a connection on which it hears nothing for minutes; who only listens says something that often.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The partition of a request that finds its partition by its key, or needs none.
const ANY_PARTITION: i32 = -1;

/// What an answer may have: more than a member gives unless it is set so.
const LIMITS: Limits = Limits { frame_bytes: 1 << 30, message_bytes: 1 << 30, ..Limits::AFTER_LOGIN };

/// Whom to talk to, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Whom {
    /// Where the member listens.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5701", global = true)]
    pub(super) address: String,
    #[command(flatten)]
    pub(super) login: Login,
}

/// As whom to talk to a member, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Login {
    /// What the cluster is called.
    #[arg(long, value_name = "NAME", default_value = "dev", global = true)]
    cluster_name: String,
    /// Who you are; the password comes from the environment variable FILBERT_PASSWORD.
    #[arg(long, value_name = "NAME", global = true)]
    user: Option<String>,
    /// Encrypts: the certificates that sign the member's, in PEM.
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,
    /// The name that the member's certificate is for, when it is not its host.
    #[arg(long, value_name = "NAME", requires = "ca", global = true)]
    server_name: Option<String>,
    /// The certificate to show to the member, in PEM, where it asks for one.
    #[arg(long, value_name = "FILE", requires_all = ["ca", "cert_key"], global = true)]
    cert: Option<PathBuf>,
    /// The private key of --cert, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert", global = true)]
    cert_key: Option<PathBuf>,
}

/// All addresses of a host.
pub(super) fn resolved(address: &str) -> Result<Vec<SocketAddr>, String> {
    let wrong = |error| format!("{address}: {error}; write host and port, such as 127.0.0.1:5701");
    address.to_socket_addrs().map(Iterator::collect).map_err(wrong)
}

impl Login {
    fn tls(&self, address: &str) -> Option<ClientTlsSettings> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        self.ca.as_ref().map(|ca| ClientTlsSettings {
            ca_pem_path: ca.clone(),
            server_name: self.server_name.clone().unwrap_or_else(|| host.to_owned()),
            identity: self.cert.clone().zip(self.cert_key.clone()),
        })
    }
}

impl Login {
    /// Explains a refused login. The member does not say what is wrong, so that nobody can try things one by one.
    fn refused(&self, is_password_set: bool) -> String {
        let refused = format!(
            "the member refuses the login: its cluster is not called {:?} (--cluster-name), or the user (--user) or the password \
             (environment variable FILBERT_PASSWORD) is wrong",
            self.cluster_name
        );
        match (is_password_set, &self.user) {
            (true, Some(_)) => refused,
            (true, None) => format!("{refused}; no user is named: --user"),
            (false, Some(_)) => format!("{refused}; FILBERT_PASSWORD is not set"),
            (false, None) => format!("{refused}; no user is named, and FILBERT_PASSWORD is not set"),
        }
    }
}

/// A connection to a member, logged in.
pub(super) struct Client {
    stages: Stages,
    outlet: Outlet,
    answers: Receiver<Answer>,
    correlation: i64,
    /// Events that came while an answer was waited for.
    events: VecDeque<MessageReader>,
    /// Correlation of the request that asked for events last.
    subscribed: i64,
    /// The number of partitions that keys are spread over.
    partitions: i32,
    /// Time of the last request, by the clock of the stages.
    sent_at: Duration,
    /// Gives up a request or a wait for events, where signals are heeded.
    interruption: Option<Interruption>,
}

/// Hands whole messages over to the command.
struct Messages {
    splitter: Splitter,
    answers: Option<Sender<Answer>>,
}

/// A message, or why there is none.
type Answer = Result<Bytes, String>;

impl Protocol for Messages {
    fn received(&mut self, input: &mut BytesMut, _: &mut Outbound) -> Result<(), Close> {
        loop {
            let (answer, then) = match self.splitter.split(input) {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => (Ok(Bytes::copy_from_slice(&message)), Ok(())),
                Err(error) => (Err(error.to_string()), Err(Close::because(error.to_string()))),
            };
            let told = self.answers.as_ref().map(|answers| answers.send(answer));
            if !matches!(told, Some(Ok(()))) {
                return Err(Close::because("the command has ended"));
            }
            then?;
        }
    }

    fn receive_limit(&self) -> usize {
        LIMITS.message_bytes + 1
    }

    fn closed(&mut self, _: CloseReason) {
        self.answers = None;
    }
}

/// Connects to the first of these addresses that takes it.
fn connect(
    stages: &Stages,
    connector: &Connector,
    addresses: &[SocketAddr],
    answers: Sender<Answer>,
) -> Result<Outlet, Box<dyn Error>> {
    let mut last = "the host has no address".into();
    for address in addresses {
        let messages = Messages { splitter: Splitter::new(LIMITS), answers: Some(answers.clone()) };
        match connector.connect(stages, *address, |_, _| messages)?.wait()? {
            Ok(outlet) => return Ok(outlet),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// The connection is gone: noticed by the next send or while waiting, whichever comes first.
fn closed(at: &str) -> String {
    format!("the member closed the connection at {at}; if it wants TLS, give --ca")
}

impl Client {
    /// Connects and logs in.
    pub(super) fn connect(address: &str, login: &Login) -> Result<Self, Box<dyn Error>> {
        let stages = Stages::builder().set("io.threads", 1).start()?;
        let (sender, answers) = channel();
        let connector = Connector::new(NetSettings::default(), login.tls(address).as_ref())?;
        let (addresses, password) = (resolved(address)?, std::env::var("FILBERT_PASSWORD").ok());
        if password.is_some() && login.ca.is_none() && !addresses.iter().all(|address| is_loopback(*address))
        {
            return Err(
                "the password would go over the network in the clear; give --ca, so that it is encrypted"
                    .into(),
            );
        }
        let outlet = connect(&stages, &connector, &addresses, sender)?;
        outlet.send_slice(&PREAMBLE).map_err(|_| closed("the begin"))?;
        let sent_at = stages.clock().now();
        let mut client = Self {
            stages,
            outlet,
            answers,
            correlation: 0,
            events: VecDeque::new(),
            subscribed: 0,
            partitions: 0,
            sent_at,
            interruption: None,
        };
        let is_password_set = password.is_some();
        let request = Authentication {
            cluster_name: login.cluster_name.as_str().into(),
            username: login.user.as_deref().map(Into::into),
            password: password.map(Into::into),
            uuid: Some(Uuid::new_v4()),
            client_type: "CLI".into(),
            serialization_version: 1,
            client_hazelcast_version: env!("CARGO_PKG_VERSION").into(),
            client_name: "filbert".into(),
            labels: Vec::new(),
            routing_mode: 0,
            cp_direct_to_leader_routing: false,
        };
        let authenticated = client.call(&request)?;
        client.partitions = authenticated.partition_count;
        match authenticated.status {
            0 => Ok(client),
            1 => Err(login.refused(is_password_set).into()),
            other => {
                Err(format!("the member refuses the login with status {other}: is it of another version?")
                    .into())
            }
        }
    }

    /// Returns how many partitions keys are spread over.
    pub(super) fn partitions(&self) -> i32 {
        self.partitions
    }

    /// Returns the milliseconds since 1970, as this machine tells them.
    pub(super) fn unix_ms(&self) -> u64 {
        self.stages.clock().unix_ms()
    }

    /// Gives up what waits when this interruption says so.
    pub(super) fn heed(&mut self, interruption: &Interruption) {
        self.interruption = Some(interruption.clone());
    }

    /// Goes on after an interruption.
    pub(super) fn forget_interruption(&self) {
        if let Some(interruption) = &self.interruption {
            interruption.forget();
        }
    }

    /// Returns whether the member has closed the connection; what it sent before is read.
    pub(super) fn is_closed(&mut self) -> bool {
        loop {
            match self.answers.try_recv() {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => return false,
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, Box<dyn Error>> {
        self.call_within(request, ANY_PARTITION, PATIENCE)
    }

    /// Sends a request for a partition and waits for its answer.
    pub(super) fn call_at<R: Request>(
        &mut self,
        partition: i32,
        request: &R,
    ) -> Result<R::Response, Box<dyn Error>> {
        self.call_within(request, partition, PATIENCE)
    }

    /// Sends a request that the member may hold for that long, and waits for its answer.
    pub(super) fn call_held<R: Request>(
        &mut self,
        held: Duration,
        request: &R,
    ) -> Result<R::Response, Box<dyn Error>> {
        self.call_within(request, ANY_PARTITION, PATIENCE.saturating_add(held))
    }

    fn call_within<R: Request>(
        &mut self,
        request: &R,
        partition: i32,
        patience: Duration,
    ) -> Result<R::Response, Box<dyn Error>> {
        self.check_interruption()?;
        self.send_to(partition, request)?;
        self.wait_for::<R>(patience)
    }

    /// Waits for the answer to the last request, until it is interrupted or out of patience.
    fn wait_for<R: Request>(&mut self, patience: Duration) -> Result<R::Response, Box<dyn Error>> {
        let until = self.sent_at.saturating_add(patience);
        loop {
            let interrupted = self.check_interruption();
            let left = until.saturating_sub(self.stages.clock().now());
            let wait = match &interrupted {
                // An answer that is here already counts: it may hold an item that no queue has any longer.
                Err(_) => Duration::ZERO,
                // Nobody looks for signals unless they are heeded.
                Ok(()) if self.interruption.is_some() => EVERY.min(left),
                Ok(()) => left,
            };
            if let Some(answer) = self.answer::<R>(wait)? {
                return Ok(answer);
            }
            interrupted?;
            if left.is_zero() {
                return Err(format!("no answer to {} within {} s", R::NAME, patience.as_secs()).into());
            }
        }
    }

    fn check_interruption(&self) -> Result<(), Box<dyn Error>> {
        let interrupted = self.interruption.as_ref().and_then(Interruption::interrupted);
        interrupted.map_or(Ok(()), |interrupted| Err(interrupted.into()))
    }

    /// Sends a request; answers to those before it are no longer waited for.
    pub(super) fn send<R: Request>(&mut self, request: &R) -> Result<(), Box<dyn Error>> {
        self.send_to(ANY_PARTITION, request)
    }

    fn send_to<R: Request>(&mut self, partition: i32, request: &R) -> Result<(), Box<dyn Error>> {
        self.correlation += 1;
        self.sent_at = self.stages.clock().now();
        let mut bytes = BytesMut::new();
        request.encode(self.correlation, partition, &mut bytes);
        self.outlet.send(bytes.freeze()).map_err(|_| closed(R::NAME).into())
    }

    /// The answer to the last request; none when it has not come in time.
    pub(super) fn answer<R: Request>(
        &mut self,
        patience: Duration,
    ) -> Result<Option<R::Response>, Box<dyn Error>> {
        loop {
            let Some(reader) = self.receive(R::NAME, patience)? else { return Ok(None) };
            if reader.flags().contains(Flags::EVENT) {
                if reader.correlation() == self.subscribed {
                    self.events.push_back(reader);
                }
                continue;
            }
            if reader.correlation() != self.correlation {
                continue;
            }
            if reader.id() == ERROR_ID {
                let errors = ErrorResponse::decode(&reader)?.errors;
                let first =
                    errors.first().and_then(|error| error.message.as_deref()).unwrap_or("without a text");
                return Err(format!("{}: {}", R::NAME, escaped(first)).into());
            }
            return Ok(Some(R::decode_response(&reader)?));
        }
    }

    /// The next message; none when it has not come in time.
    fn receive(
        &self,
        name: &'static str,
        patience: Duration,
    ) -> Result<Option<MessageReader>, Box<dyn Error>> {
        match self.answers.recv_timeout(patience) {
            Ok(Ok(message)) => Ok(Some(MessageReader::new(message)?)),
            Ok(Err(why)) => Err(format!("{name}: {why}").into()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(closed(name).into()),
        }
    }

    /// Asks for events; [`Self::event`] gives them.
    pub(super) fn subscribe<R: Request>(&mut self, request: &R) -> Result<R::Response, Box<dyn Error>> {
        self.events.clear();
        // Events may come before the answer.
        self.subscribed = self.correlation + 1;
        self.call(request)
    }

    /// Waits for the next event of a subscription; fails when it is interrupted.
    pub(super) fn event<R: Raises<E>, E: Record>(&mut self) -> Result<E, Box<dyn Error>> {
        loop {
            self.check_interruption()?;
            let next = match self.events.pop_front() {
                Some(event) => Some(event),
                None => self.receive(R::NAME, EVERY)?,
            };
            let is_meant = |reader: &MessageReader| {
                reader.id() == R::EVENT_ID && reader.correlation() == self.subscribed
            };
            if let Some(reader) = next.filter(is_meant) {
                return Ok(R::decode_event(&reader)?);
            }
            if self.stages.clock().now().saturating_sub(self.sent_at) > KEEP_ALIVE {
                self.send(&Ping {})?;
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.outlet.close();
        let _ = self.stages.shutdown(Shutdown::Cancel);
    }
}

#[cfg(test)]
mod tests {
    use super::super::interruption::Interrupted;
    use super::*;
    use filbert_wire::messages::queue::Size;
    use std::net::TcpListener;

    /// Makes a client of a peer that is silent: answers come through the sender instead.
    fn client_and_member() -> (Client, Sender<Answer>, TcpListener) {
        let stages = Stages::builder().set("io.threads", 1).start().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connector = Connector::new(NetSettings::default(), None).unwrap();
        let (member, answers) = channel();
        let address = listener.local_addr().unwrap();
        let outlet = connect(&stages, &connector, &[address], channel().0).unwrap();
        let client = Client {
            sent_at: stages.clock().now(),
            stages,
            outlet,
            answers,
            correlation: 1,
            events: VecDeque::new(),
            subscribed: 0,
            partitions: 0,
            interruption: Some(Interruption::default()),
        };
        (client, member, listener)
    }

    /// An item that a poll of a queue has taken is in its answer and nowhere else.
    #[test]
    fn an_answer_that_came_is_taken_in_spite_of_an_interruption() {
        let (mut client, member, _listener) = client_and_member();
        client.interruption.as_ref().unwrap().tell("SIGINT");
        let wait = |client: &mut Client| client.wait_for::<Size>(PATIENCE).map(|answer| answer.value);
        let mut answer = BytesMut::new();
        Size::respond(&filbert_wire::messages::answers::Count { value: 7 }, 1, &mut answer);
        member.send(Ok(answer.freeze())).unwrap();
        assert_eq!(wait(&mut client).unwrap(), 7);
        assert!(wait(&mut client).unwrap_err().is::<Interrupted>());
        let sent = client.correlation;
        let refused = client.call(&Size { name: "jobs".into() }).unwrap_err();
        assert!(refused.is::<Interrupted>() && client.correlation == sent, "{refused}");
    }
}
