//! A member with its door open, and a small client: what drivers hide (every byte, every message) is what these tests are about.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, BytesMut};
use filbert_gate::postgres::{Door, OpenDoor, PostgresSettings};
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlSettings};
use ring::{digest, hmac, pbkdf2};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A member with its door open on a port that the system chose.
pub(crate) struct Member {
    pub(crate) door: OpenDoor,
    pub(crate) grid: Grid,
    pub(crate) sql: Sql,
    _stages: Stages,
}

impl Member {
    pub(crate) fn start() -> Self {
        Self::with(PostgresSettings::default())
    }

    pub(crate) fn with(settings: PostgresSettings) -> Self {
        Self::with_both(settings, SqlSettings::default())
    }

    pub(crate) fn with_both(settings: PostgresSettings, engine: SqlSettings) -> Self {
        Self::of(Stages::start().unwrap(), settings, engine)
    }

    /// On stages that the test has made.
    pub(crate) fn of(stages: Stages, settings: PostgresSettings, engine: SqlSettings) -> Self {
        let grid = Grid::new(&stages);
        let sql = Sql::start(&stages, engine).unwrap();
        sql.attach(&grid).unwrap();
        let settings = PostgresSettings { address: "127.0.0.1:0".parse().unwrap(), ..settings };
        let door = Door::new(&stages, &sql, settings).open().unwrap();
        Self { door, grid, sql, _stages: stages }
    }

    /// With a map `cities` of names to numbers.
    pub(crate) fn with_cities() -> Self {
        let member = Self::start();
        member.add_cities();
        member
    }

    pub(crate) fn add_cities(&self) {
        let cities = self.grid.typed_map::<String, i64>("cities");
        for (name, people) in [("Oslo", 709_000), ("Bergen", 289_000), ("Tromsø", 77_000)] {
            cities.set(name, &people).wait().unwrap();
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.door.local_addr()
    }

    pub(crate) fn client(&self) -> Client {
        let mut client = Client::connect(self.address());
        client.start(&[("user", "ann")]);
        client.until_ready().ok();
        client
    }
}

/// Says what is not tested here; fails in CI, where everything is.
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "in CI nothing is left out: {why}");
    eprintln!("SKIPPED: {why}");
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < DEADLINE, "not in time: {what}");
        // sleeps because the condition is in another thread that tells nobody
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

/// One connection.
pub(crate) struct Client {
    pub(crate) wire: Box<dyn Wire>,
    input: BytesMut,
    /// The number and the key that cancel what runs here.
    pub(crate) process: i32,
    pub(crate) key: Vec<u8>,
    pub(crate) parameters: Vec<(String, String)>,
}

/// A message from the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: char,
    pub(crate) body: Vec<u8>,
}

/// All that came up to `ReadyForQuery`.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) columns: Vec<(String, u32)>,
    pub(crate) rows: Vec<Vec<Option<Vec<u8>>>>,
    pub(crate) tags: Vec<String>,
    pub(crate) errors: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
    pub(crate) parameter_oids: Vec<u32>,
    pub(crate) kinds: String,
    pub(crate) status: char,
}

impl Reply {
    /// Fails the test when the statement did.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.errors.is_empty(), "{:?}", self.errors);
        self
    }

    #[track_caller]
    pub(crate) fn code(&self) -> &str {
        assert_eq!(self.errors.len(), 1, "{:?}", self.errors);
        &self.errors[0].0
    }

    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        let text = |value: &Option<Vec<u8>>| {
            value.as_ref().map_or("NULL".to_owned(), |value| String::from_utf8_lossy(value).into_owned())
        };
        self.rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }
}

impl Client {
    /// Connects and says nothing.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self::over(Box::new(stream))
    }

    pub(crate) fn over(wire: Box<dyn Wire>) -> Self {
        Self { wire, input: BytesMut::new(), process: 0, key: Vec::new(), parameters: Vec::new() }
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.wire.write_all(bytes).unwrap();
    }

    pub(crate) fn packet(&mut self, code: i32, body: &[u8]) {
        let mut out = BytesMut::new();
        out.put_i32(8 + body.len() as i32);
        out.put_i32(code);
        out.put_slice(body);
        self.raw(&out);
    }

    /// The first message of a session.
    pub(crate) fn start(&mut self, parameters: &[(&str, &str)]) {
        let mut body = Vec::new();
        for (name, value) in parameters {
            body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        body.push(0);
        self.packet(196_608, &body);
    }

    pub(crate) fn send(&mut self, kind: char, body: &[u8]) {
        let mut out = BytesMut::new();
        out.put_u8(kind as u8);
        out.put_i32(4 + body.len() as i32);
        out.put_slice(body);
        self.raw(&out);
    }

    /// The next message; `None` when the door has closed.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        loop {
            if self.input.len() >= 5 {
                let length = i32::from_be_bytes(self.input[1..5].try_into().unwrap()) as usize;
                if self.input.len() > length {
                    let kind = self.input.get_u8() as char;
                    self.input.advance(4);
                    return Some(Message { kind, body: self.input.split_to(length - 4).to_vec() });
                }
            }
            let mut buffer = [0; 16 << 10];
            match self.wire.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// One byte, as the answer to a request for encryption.
    pub(crate) fn byte(&mut self) -> u8 {
        let mut one = [0];
        self.wire.read_exact(&mut one).unwrap();
        one[0]
    }

    /// What comes up to `ReadyForQuery` or the end of the connection.
    pub(crate) fn until_ready(&mut self) -> Reply {
        let mut reply = Reply::default();
        while let Some(message) = self.receive() {
            reply.kinds.push(message.kind);
            let mut body = bytes::Bytes::from(message.body);
            match message.kind {
                'Z' => {
                    reply.status = body[0] as char;
                    return reply;
                }
                'T' => {
                    let count = body.get_u16();
                    for _ in 0..count {
                        let name = text(&mut body);
                        body.advance(6);
                        let oid = body.get_u32();
                        body.advance(8);
                        reply.columns.push((name, oid));
                    }
                }
                't' => {
                    let count = body.get_u16();
                    reply.parameter_oids = (0..count).map(|_| body.get_u32()).collect();
                }
                'D' => {
                    let count = body.get_u16();
                    let value = |_| match body.get_i32() {
                        -1 => None,
                        length => Some(body.split_to(length as usize).to_vec()),
                    };
                    let row = (0..count).map(value).collect();
                    reply.rows.push(row);
                }
                'C' => reply.tags.push(text(&mut body)),
                'E' => reply.errors.push(fields(&mut body)),
                'N' => reply.warnings.push(fields(&mut body).1),
                'K' => {
                    self.process = body.get_i32();
                    self.key = body.to_vec();
                }
                'S' => {
                    let name = text(&mut body);
                    self.parameters.push((name, text(&mut body)));
                }
                _ => {}
            }
        }
        reply
    }

    /// Runs a text by the simple protocol.
    pub(crate) fn query(&mut self, sql: &str) -> Reply {
        self.send('Q', format!("{sql}\0").as_bytes());
        self.until_ready()
    }

    pub(crate) fn parse(&mut self, name: &str, sql: &str, types: &[u32]) {
        let mut body = BytesMut::from(format!("{name}\0{sql}\0").as_bytes());
        body.put_u16(types.len() as u16);
        types.iter().for_each(|oid| body.put_u32(*oid));
        self.send('P', &body);
    }

    /// Binds values in one format to the unnamed portal, or another.
    pub(crate) fn bind(
        &mut self,
        portal: &str,
        name: &str,
        format: i16,
        values: &[Option<&[u8]>],
        results: i16,
    ) {
        let mut body = BytesMut::from(format!("{portal}\0{name}\0").as_bytes());
        body.put_u16(1);
        body.put_i16(format);
        body.put_u16(values.len() as u16);
        for value in values {
            match value {
                None => body.put_i32(-1),
                Some(value) => {
                    body.put_i32(value.len() as i32);
                    body.put_slice(value);
                }
            }
        }
        body.put_u16(1);
        body.put_i16(results);
        self.send('B', &body);
    }

    pub(crate) fn execute(&mut self, portal: &str, rows: i32) {
        let mut body = BytesMut::from(format!("{portal}\0").as_bytes());
        body.put_i32(rows);
        self.send('E', &body);
    }

    pub(crate) fn sync(&mut self) -> Reply {
        self.send('S', &[]);
        self.until_ready()
    }

    /// Proves that it knows the password; what the door says at the end.
    pub(crate) fn scram(&mut self, user: &str, password: &str) -> Reply {
        self.start(&[("user", user)]);
        let asked = self.receive().unwrap();
        assert_eq!((asked.kind, &asked.body[..]), ('R', &b"\0\0\0\x0aSCRAM-SHA-256\0\0"[..]));
        let bare = "n=,r=fyko+d2lbbFgONRv9qkxdawL";
        let first = format!("n,,{bare}");
        let mut body = BytesMut::from(&b"SCRAM-SHA-256\0"[..]);
        body.put_i32(first.len() as i32);
        body.put_slice(first.as_bytes());
        self.send('p', &body);
        let challenge = self.receive().unwrap();
        assert_eq!((challenge.kind, &challenge.body[..4]), ('R', &[0, 0, 0, 11][..]));
        let challenge = String::from_utf8(challenge.body[4..].to_vec()).unwrap();
        let part = |name: &str| challenge.split(',').find_map(|part| part.strip_prefix(name)).unwrap();
        let salt = STANDARD.decode(part("s=")).unwrap();
        let rounds: NonZeroU32 = part("i=").parse().unwrap();
        let mut salted = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
        let client_key = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, client_key.as_ref());
        let last = format!("c=biws,r={}", part("r="));
        let said = format!("{bare},{challenge},{last}");
        let signature = sign(stored.as_ref(), said.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        self.send('p', format!("{last},p={}", STANDARD.encode(proof)).as_bytes());
        let reply = self.until_ready();
        if reply.errors.is_empty() {
            assert!(reply.kinds.starts_with("RR"), "{}", reply.kinds);
        }
        reply
    }
}

pub(crate) fn text(body: &mut bytes::Bytes) -> String {
    let length = body.iter().position(|byte| *byte == 0).unwrap();
    let text = body.split_to(length);
    body.advance(1);
    String::from_utf8(text.to_vec()).unwrap()
}

/// The code and the sentence of an error.
fn fields(body: &mut bytes::Bytes) -> (String, String) {
    let (mut code, mut message) = (String::new(), String::new());
    loop {
        match body.get_u8() {
            0 => return (code, message),
            b'C' => code = text(body),
            b'M' => message = text(body),
            _ => drop(text(body)),
        }
    }
}
