//! A member with its door open, and a small client that speaks with the encoders of `wire`.

use bytes::BytesMut;
use filbert_gate::hazelcast::{Door, HazelcastSettings, OpenDoor};
use filbert_grid::{Grid, GridSettings, Registry};
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlSettings};
use filbert_wire::Data;
use filbert_wire::frame::{Flags, Limits, PREAMBLE, Splitter};
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::client::{Authenticated, Authentication};
use filbert_wire::messages::error::{ERROR_ID, ErrorCode, ErrorResponse};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How long a test waits for what must come.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A member with its door open on a port that the system chose.
pub(crate) struct Member {
    pub(crate) door: OpenDoor,
    pub(crate) grid: Grid,
    sql: Option<Sql>,
    _stages: Stages,
}

impl Member {
    pub(crate) fn start() -> Self {
        Self::with(HazelcastSettings::default())
    }

    pub(crate) fn with(settings: HazelcastSettings) -> Self {
        Self::with_both(settings, GridSettings::default())
    }

    /// One whose structures are set.
    pub(crate) fn with_grid(settings: GridSettings) -> Self {
        Self::with_both(HazelcastSettings::default(), settings)
    }

    /// One on stages that are set.
    pub(crate) fn on(stages: Stages) -> Self {
        Self::with_all(stages, HazelcastSettings::default(), GridSettings::default())
    }

    fn with_both(settings: HazelcastSettings, of_grid: GridSettings) -> Self {
        Self::with_all(Stages::start().unwrap(), settings, of_grid)
    }

    fn with_all(stages: Stages, settings: HazelcastSettings, of_grid: GridSettings) -> Self {
        let grid = Grid::with(&stages, of_grid, Registry::new());
        let door = Door::new(&grid, on_any_port(settings)).open().unwrap();
        Self { door, grid, sql: None, _stages: stages }
    }

    /// One whose maps are tables.
    pub(crate) fn with_sql() -> Self {
        Self::with_sql_and(HazelcastSettings::default())
    }

    pub(crate) fn with_sql_and(settings: HazelcastSettings) -> Self {
        let stages = Stages::start().unwrap();
        let grid = Grid::new(&stages);
        let sql = Sql::start(&stages, SqlSettings::default()).unwrap();
        sql.attach(&grid).unwrap();
        let door = Door::new(&grid, on_any_port(settings)).sql(&sql).open().unwrap();
        Self { door, grid, sql: Some(sql), _stages: stages }
    }

    pub(crate) fn sql(&self) -> &Sql {
        self.sql.as_ref().expect("a member with SQL")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.door.local_addr()
    }

    /// A client that is logged in.
    pub(crate) fn client(&self) -> Client {
        self.client_named(None)
    }

    pub(crate) fn client_named(&self, uuid: Option<Uuid>) -> Client {
        let mut client = Client::connect(self.address());
        let answer = client.call(&Authentication { uuid, ..authentication() }).unwrap();
        assert_eq!(answer.status, 0);
        client
    }
}

fn on_any_port(settings: HazelcastSettings) -> HazelcastSettings {
    HazelcastSettings { address: "127.0.0.1:0".parse().unwrap(), ..settings }
}

/// A login with the default cluster name and no credentials.
pub(crate) fn authentication() -> Authentication {
    Authentication {
        cluster_name: "dev".into(),
        username: None,
        password: None,
        uuid: None,
        client_type: "TST".into(),
        serialization_version: 1,
        client_hazelcast_version: "5.5.0".into(),
        client_name: "test".into(),
        labels: Vec::new(),
        routing_mode: 0,
        cp_direct_to_leader_routing: false,
    }
}

/// A number as `Data`.
pub(crate) fn int(number: i32) -> Data {
    Data::new(-7, &number.to_be_bytes())
}

/// Bytes as `Data`.
pub(crate) fn blob(length: usize) -> Data {
    let mut payload = (length as i32).to_be_bytes().to_vec();
    payload.resize(4 + length, 7);
    Data::new(-12, &payload)
}

/// One connection.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    splitter: Splitter,
    buffer: BytesMut,
    next: i64,
    /// What came while something else was awaited.
    others: VecDeque<MessageReader>,
}

impl Client {
    /// Connects and says the preamble.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let mut client = Self::silent(address);
        client.stream.write_all(&PREAMBLE).unwrap();
        client
    }

    /// Connects and says nothing.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self::over(stream)
    }
}

impl<S: Read + Write> Client<S> {
    /// Speaks over a stream, and has said nothing.
    pub(crate) fn over(stream: S) -> Self {
        let limits = Limits { frame_bytes: 1 << 30, message_bytes: 1 << 30, open_fragments: 0 };
        let splitter = Splitter::new(limits);
        Self { stream, splitter, buffer: BytesMut::new(), next: 1, others: VecDeque::new() }
    }

    pub(crate) fn log_in(&mut self, request: &Authentication) -> Authenticated {
        self.call(request).unwrap()
    }

    /// Sends a request; what joins the answer to it.
    pub(crate) fn send<R: Request>(&mut self, request: &R) -> i64 {
        self.send_to(-1, request)
    }

    /// The same for a request that says its partition.
    pub(crate) fn send_to<R: Request>(&mut self, partition: i32, request: &R) -> i64 {
        let correlation = self.next;
        self.next += 1;
        let mut out = BytesMut::new();
        request.encode(correlation, partition, &mut out);
        self.stream.write_all(&out).unwrap();
        correlation
    }

    /// The answer to a request that was sent.
    pub(crate) fn answer<R: Request>(&mut self, correlation: i64) -> Result<R::Response, ErrorResponse> {
        let reader = self.answer_to(correlation);
        match reader.id() {
            ERROR_ID => Err(ErrorResponse::decode(&reader).unwrap()),
            _ => Ok(R::decode_response(&reader).unwrap()),
        }
    }

    /// The answer to a request that was sent, whatever it is.
    pub(crate) fn answer_to(&mut self, correlation: i64) -> MessageReader {
        let fits = |reader: &MessageReader| {
            reader.correlation() == correlation && !reader.flags().contains(Flags::EVENT)
        };
        self.find(fits)
    }

    /// The next event.
    pub(crate) fn event(&mut self) -> MessageReader {
        self.find(|reader| reader.flags().contains(Flags::EVENT))
    }

    fn find(&mut self, fits: impl Fn(&MessageReader) -> bool) -> MessageReader {
        if let Some(at) = self.others.iter().position(&fits) {
            return self.others.remove(at).unwrap();
        }
        loop {
            let reader = self.receive().expect("the connection was closed");
            if fits(&reader) {
                return reader;
            }
            self.others.push_back(reader);
        }
    }

    pub(crate) fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, ErrorResponse> {
        let correlation = self.send(request);
        self.answer::<R>(correlation)
    }

    /// The same for a request that says its partition.
    pub(crate) fn call_on<R: Request>(
        &mut self,
        partition: i32,
        request: &R,
    ) -> Result<R::Response, ErrorResponse> {
        let correlation = self.send_to(partition, request);
        self.answer::<R>(correlation)
    }

    /// The code of the error that a request is answered with.
    pub(crate) fn refused<R: Request>(&mut self, request: &R) -> ErrorCode {
        self.refused_on(-1, request)
    }

    /// The same for a request that says its partition.
    pub(crate) fn refused_on<R: Request>(&mut self, partition: i32, request: &R) -> ErrorCode {
        let error = self.call_on(partition, request).err().expect("an answer where an error was due");
        ErrorCode::from_code(error.errors[0].code).unwrap()
    }

    /// The next message; `None` when the member closed the connection.
    pub(crate) fn receive(&mut self) -> Option<MessageReader> {
        loop {
            if let Some(message) = self.splitter.split(&mut self.buffer).unwrap() {
                return Some(MessageReader::new(message).unwrap());
            }
            let mut chunk = [0; 64 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(length) => self.buffer.extend_from_slice(&chunk[..length]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof) =>
                {
                    return None;
                }
                // A read with a deadline is not begun again by itself when the process was stopped meanwhile.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    /// True when the member closes the connection, after whatever it still says.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.receive().is_some() {}
        true
    }
}

/// Waits for a condition.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < DEADLINE, "{what}");
        // sleeps because the condition is in another thread that tells nobody, and that needs the processor meanwhile
        std::thread::sleep(Duration::from_millis(1));
    }
}
