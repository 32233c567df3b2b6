//! A protocol of lines for the tests, and a client for it.

use bytes::BytesMut;
use filbert_net::{
    Close, CloseReason, ConnectionInfo, Door, Listener, NetSettings, Outbound, Outlet, Owed, Protocol,
};
use filbert_pool::Stages;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the test sees of all connections.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) handled: AtomicUsize,
    pub(crate) held: Mutex<Vec<Owed>>,
    pub(crate) outlets: Mutex<Vec<Outlet>>,
    pub(crate) closed: Mutex<Vec<CloseReason>>,
    pub(crate) needs_login: bool,
    pub(crate) pings: bool,
}

pub(crate) struct Line {
    stages: Stages,
    seen: Arc<Seen>,
    logged_in: bool,
}

impl Protocol for Line {
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        while !out.is_congested() {
            let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return Ok(()) };
            let line = String::from_utf8_lossy(&input.split_to(end + 1)).trim().to_owned();
            self.seen.handled.fetch_add(1, Ordering::SeqCst);
            self.handle(&line, out)?;
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        1 << 20
    }

    fn is_authenticated(&self) -> bool {
        self.logged_in || !self.seen.needs_login
    }

    fn idle(&mut self, out: &mut Outbound) -> Result<(), Close> {
        if !self.seen.pings {
            return Err(Close::because("silence"));
        }
        out.buffer().extend_from_slice(b"ping\n");
        Ok(())
    }

    fn draining(&mut self, out: &mut Outbound) {
        out.buffer().extend_from_slice(b"draining\n");
    }

    fn closed(&mut self, reason: CloseReason) {
        self.seen.closed.lock().unwrap().push(reason);
    }
}

impl Line {
    fn handle(&mut self, line: &str, out: &mut Outbound) -> Result<(), Close> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "login" => self.logged_in = true,
            "echo" => {
                out.buffer().extend_from_slice(rest.as_bytes());
                out.buffer().extend_from_slice(b"\n");
            }
            "later" => {
                let (owed, answer) = (out.owe(), format!("{rest}\n"));
                self.stages.generic().submit("later", move || drop(owed.send(answer))).unwrap().detach();
            }
            "big" => out.push(big(rest)),
            "big-later" => {
                let (owed, rest) = (out.owe(), rest.to_owned());
                self.stages.generic().submit("big", move || drop(owed.send(big(&rest)))).unwrap().detach();
            }
            "hold" => self.seen.held.lock().unwrap().push(out.owe_for(rest.parse().unwrap_or(0))),
            "wait" => {
                let mut owed = out.owe();
                owed.let_wait();
                self.seen.held.lock().unwrap().push(owed);
            }
            "inside" => {
                out.buffer().extend_from_slice(b"first\n");
                out.outlet().send_slice(b"third\n").map_err(|error| Close::because(error.to_string()))?;
                out.buffer().extend_from_slice(b"second\n");
            }
            "quit" => {
                out.buffer().extend_from_slice(b"bye\n");
                return Err(Close::because("it said quit"));
            }
            "panic" => panic!("as asked"),
            other => return Err(Close::because(format!("no such verb: {other}"))),
        }
        Ok(())
    }
}

fn big(len: &str) -> Vec<u8> {
    let mut bytes = vec![b'x'; len.parse().unwrap()];
    if let Some(last) = bytes.last_mut() {
        *last = b'\n';
    }
    bytes
}

pub(crate) fn lines(stages: &Stages, seen: &Arc<Seen>) -> impl Fn(&ConnectionInfo, Outlet) -> Line + use<> {
    let (stages, seen) = (stages.clone(), Arc::clone(seen));
    move |_, outlet| {
        seen.outlets.lock().unwrap().push(outlet);
        Line { stages: stages.clone(), seen: Arc::clone(&seen), logged_in: false }
    }
}

pub(crate) fn open(settings: NetSettings, seen: Seen) -> (Stages, Door, Arc<Seen>) {
    let stages = Stages::start().unwrap();
    let seen = Arc::new(seen);
    let listener = Listener::new("127.0.0.1:0".parse().unwrap()).settings(settings);
    let door = listener.listen(&stages, lines(&stages, &seen)).unwrap();
    (stages, door, seen)
}

pub(crate) struct Client {
    pub(crate) reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(door: &Door) -> Self {
        let stream = TcpStream::connect(door.local_addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Everything until the other side closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut all = Vec::new();
        // A reset is an end too.
        let _ = self.reader.read_to_end(&mut all);
        String::from_utf8(all).unwrap()
    }
}

/// Waits until `what` holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        // sleeps because a condition in another thread is looked at again and again.
        std::thread::sleep(Duration::from_millis(1));
    }
}
