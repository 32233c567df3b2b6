//! Sources of lines over TCP.

use super::reader::{Arrived, Ended, LineReader};
use crate::channel::{self, ReadChannel, Sender};
use crate::offload::Offload;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_net::{CloseReason, ConnectError, Connector, Door, Listener, NetSettings, Outlet};
use filbert_pool::TaskFuture;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Connects to a server and emits every line that it sends, until it closes the connection. One processor.
pub fn lines_from(server: SocketAddr) -> ConnectSource {
    ConnectSource { server }
}

/// Listens on an address and emits every line of everyone who connects, until the job is cancelled. One processor. A peer that sends
/// what is no text, or a line that is too long, is disconnected; the job goes on.
///
/// ```
/// use filbert_connect::{channel, tcp};
/// use filbert_flow::DagBuilder;
/// use std::io::Write;
///
/// let lines = tcp::lines_of_peers("127.0.0.1:0".parse()?);
/// let address = lines.address();
/// let mut dag = DagBuilder::new("listen");
/// let lines = dag.vertex("lines", lines);
/// let (sink, receiver) = channel::sink(16);
/// let sink = dag.vertex("sink", sink);
/// dag.edge(lines.output().to(sink.input()));
/// let stages = filbert_pool::Stages::start()?;
/// let job = dag.build()?.submit(&stages)?;
///
/// std::net::TcpStream::connect(address.wait())?.write_all(b"hello\n")?;
/// assert_eq!(receiver.recv().as_deref(), Some("hello"));
/// job.cancel();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lines_of_peers(address: SocketAddr) -> ListenSource {
    ListenSource { address, opened: Arc::new(Opened::default()) }
}

/// The vertex of [`lines_from`].
#[derive(Debug, Clone)]
pub struct ConnectSource {
    server: SocketAddr,
}

/// The vertex of [`lines_of_peers`].
#[derive(Debug, Clone)]
pub struct ListenSource {
    address: SocketAddr,
    opened: Arc<Opened>,
}

/// Where a [`ListenSource`] listens, with the port that the system chose; known when its job runs.
#[derive(Debug, Default)]
pub struct Opened {
    address: Mutex<Option<SocketAddr>>,
    known: std::sync::Condvar,
}

impl Opened {
    /// The address, if it is known.
    pub fn get(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The address; sleeps until the source listens.
    pub fn wait(&self) -> SocketAddr {
        let mut address = self.address.lock().unwrap_or_else(|broken| broken.into_inner());
        loop {
            match *address {
                Some(known) => return known,
                None => address = self.known.wait(address).unwrap_or_else(|broken| broken.into_inner()),
            }
        }
    }

    fn set(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(address);
        self.known.notify_all();
    }
}

impl ListenSource {
    /// Where it listens, once it does.
    pub fn address(&self) -> Arc<Opened> {
        Arc::clone(&self.opened)
    }
}

fn only_one(share: Share, what: &str) -> Result<(), Failure> {
    match share.global_count() {
        1 => Ok(()),
        _ => Err(format!("{what} has one reader; leave the parallelism at 1").into()),
    }
}

impl MetaSupplier for ConnectSource {
    type Processor = ReadTcp;
    type Supplier = ConnectSource;

    fn supplier(&self, share: Share) -> Result<ConnectSource, Failure> {
        only_one(share, "a connection")?;
        Ok(self.clone())
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl Supplier for ConnectSource {
    type Processor = ReadTcp;

    fn processor(&mut self, share: Share) -> Result<ReadTcp, Failure> {
        ReadTcp::new(share, Way::ToConnect(self.server))
    }
}

impl MetaSupplier for ListenSource {
    type Processor = ReadTcp;
    type Supplier = ListenSource;

    fn supplier(&self, share: Share) -> Result<ListenSource, Failure> {
        only_one(share, "an address")?;
        Ok(self.clone())
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl Supplier for ListenSource {
    type Processor = ReadTcp;

    fn processor(&mut self, share: Share) -> Result<ReadTcp, Failure> {
        ReadTcp::new(share, Way::ToListen(self.address, Arc::clone(&self.opened)))
    }
}

/// How lines come.
enum Way {
    ToConnect(SocketAddr),
    ToListen(SocketAddr, Arc<Opened>),
    Connecting(SocketAddr, TaskFuture<Result<Outlet, ConnectError>>),
    Connected(SocketAddr, Outlet),
    Listening(#[expect(dead_code, reason = "dropped, it closes")] Door),
}

/// The processor of [`lines_from`] and [`lines_of_peers`].
pub struct ReadTcp {
    way: Way,
    input: ReadChannel<Arrived>,
    /// For connections to come.
    lines: Option<Sender<Arrived>>,
    /// Lines that are being emitted, and how far.
    current: Option<(Arrived, usize)>,
    ended: Arc<Mutex<Option<Ended>>>,
    offload: Option<Offload>,
}

impl ReadTcp {
    fn new(share: Share, way: Way) -> Result<Self, Failure> {
        // Bounded by what connections may be owed, not by the channel.
        let (lines, mut source) = channel::source(usize::MAX);
        let input = source.processor(share)?;
        let ended = Arc::default();
        Ok(Self { way, input, lines: Some(lines), current: None, ended, offload: None })
    }

    /// What is to be said when no more lines come.
    fn end(&self) -> Result<Step, Failure> {
        let ended = self.ended.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        let (Some(ended), Way::Connected(server, _)) = (ended, &self.way) else { return Ok(Step::Done) };
        match ended {
            Ended { problem: Some(problem), .. } => Err(format!("{server}: {problem}").into()),
            Ended { reason: CloseReason::PeerClosed, .. } => Ok(Step::Done),
            Ended { reason, .. } => Err(format!("the connection to {server} ended: {reason}").into()),
        }
    }
}

impl Processor for ReadTcp {
    type In = ();
    type Out = Many<String>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        self.input.init(context)?;
        let stages = context.stages().upgrade().ok_or("the stages have ended")?;
        let Some(lines) = self.lines.take() else { return Ok(()) };
        match &self.way {
            Way::ToConnect(server) => {
                let connector = Connector::new(NetSettings::default(), None)?;
                let ended = Arc::clone(&self.ended);
                let connecting =
                    connector.connect(&stages, *server, move |_, _| LineReader::new(lines, ended))?;
                self.way = Way::Connecting(*server, connecting);
            }
            Way::ToListen(address, opened) => {
                let listener = Listener::new(*address);
                let door =
                    listener.listen(&stages, move |_, _| LineReader::new(lines.clone(), Arc::default()))?;
                opened.set(door.local_addr());
                self.way = Way::Listening(door);
            }
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<String>>) -> Result<Step, Failure> {
        if let (Way::Connecting(server, connecting), Some(offload)) = (&mut self.way, &self.offload) {
            match offload.poll(connecting) {
                Poll::Pending => return Ok(Step::Wait),
                Poll::Ready(connected) => self.way = Way::Connected(*server, connected??),
            }
        }
        let Some((arrived, at)) = &mut self.current else {
            let current = &mut self.current;
            return match self.input.receive(1, |arrived| *current = Some((arrived, 0))) {
                Step::Done => self.end(),
                step => Ok(step),
            };
        };
        while !outbox.is_full() {
            let rest = &arrived.text[*at..];
            let Some(line) = rest.lines().next() else {
                self.current = None;
                break;
            };
            outbox.emit(line.to_owned());
            *at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        }
        Ok(Step::Again)
    }
}

impl Drop for ReadTcp {
    fn drop(&mut self) {
        if let Way::Connected(_, outlet) = &self.way {
            outlet.close();
        }
    }
}
