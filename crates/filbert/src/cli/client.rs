//! A small client of a running member, for commands: one connection, one request at a time, in the protocol of Hazelcast's clients.

use bytes::{Bytes, BytesMut};
use filbert::{Shutdown, Stages};
use filbert_net::{Close, CloseReason, Connector, NetSettings, Outbound, Outlet, Protocol};
use filbert_wire::frame::{Limits, PREAMBLE, Splitter};
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::client::Authentication;
use filbert_wire::messages::error::{ERROR_ID, ErrorResponse};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use uuid::Uuid;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whom to talk to, and as whom.
#[derive(Debug, clap::Args)]
pub(super) struct Whom {
    /// Where the member listens.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5701", global = true)]
    address: SocketAddr,
    /// What the cluster is called.
    #[arg(long, value_name = "NAME", default_value = "dev", global = true)]
    cluster_name: String,
    /// Who you are; the password comes from the environment variable FILBERT_PASSWORD.
    #[arg(long, value_name = "NAME", global = true)]
    user: Option<String>,
}

/// A connection to a member, logged in.
pub(super) struct Client {
    stages: Stages,
    outlet: Outlet,
    answers: Receiver<Bytes>,
    correlation: i64,
}

/// Hands whole messages over to the command.
struct Messages {
    splitter: Splitter,
    answers: Option<Sender<Bytes>>,
}

impl Protocol for Messages {
    fn received(&mut self, input: &mut BytesMut, _: &mut Outbound) -> Result<(), Close> {
        while let Some(message) =
            self.splitter.split(input).map_err(|error| Close::because(error.to_string()))?
        {
            let told = self.answers.as_ref().map(|answers| answers.send(Bytes::copy_from_slice(&message)));
            if !matches!(told, Some(Ok(()))) {
                return Err(Close::because("the command has ended"));
            }
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        Limits::AFTER_LOGIN.message_bytes
    }

    fn closed(&mut self, _: CloseReason) {
        self.answers = None;
    }
}

impl Client {
    /// Connects and logs in.
    pub(super) fn connect(whom: &Whom) -> Result<Self, Box<dyn Error>> {
        let stages = Stages::builder().set("io.threads", 1).start()?;
        let (sender, answers) = channel();
        let messages = Messages { splitter: Splitter::new(Limits::AFTER_LOGIN), answers: Some(sender) };
        let connector = Connector::new(NetSettings::default(), None)?;
        let outlet = connector.connect(&stages, whom.address, |_, _| messages)?.wait()??;
        outlet.send_slice(&PREAMBLE)?;
        let mut client = Self { stages, outlet, answers, correlation: 0 };
        let login = Authentication {
            cluster_name: whom.cluster_name.as_str().into(),
            username: whom.user.as_deref().map(Into::into),
            password: std::env::var("FILBERT_PASSWORD").ok().map(Into::into),
            uuid: Some(Uuid::new_v4()),
            client_type: "CLI".into(),
            serialization_version: 1,
            client_hazelcast_version: env!("CARGO_PKG_VERSION").into(),
            client_name: "filbert".into(),
            labels: Vec::new(),
            routing_mode: 0,
            cp_direct_to_leader_routing: false,
        };
        match client.call(&login)?.status {
            0 => Ok(client),
            1 => Err("the member does not know this user or password; give --user, and the password in FILBERT_PASSWORD".into()),
            _ => Err(format!("the member's cluster is not called {:?}; give --cluster-name", whom.cluster_name).into()),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, Box<dyn Error>> {
        self.correlation += 1;
        let mut bytes = BytesMut::new();
        request.encode(self.correlation, -1, &mut bytes);
        self.outlet.send(bytes.freeze())?;
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).map_err(|error| match error {
                RecvTimeoutError::Timeout => {
                    format!("no answer to {} within {} s", R::NAME, PATIENCE.as_secs())
                }
                RecvTimeoutError::Disconnected => format!("the member closed the connection at {}", R::NAME),
            })?;
            let reader = MessageReader::new(answer)?;
            if reader.correlation() != self.correlation {
                continue;
            }
            if reader.id() == ERROR_ID {
                let errors = ErrorResponse::decode(&reader)?.errors;
                let first =
                    errors.first().and_then(|error| error.message.as_deref()).unwrap_or("without a text");
                return Err(format!("{}: {first}", R::NAME).into());
            }
            return Ok(R::decode_response(&reader)?);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.outlet.close();
        let _ = self.stages.shutdown(Shutdown::Cancel);
    }
}
