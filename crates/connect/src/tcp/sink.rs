//! A sink that sends lines to a server.

use crate::file::{Encode, LinesOut};
use crate::offload::Offload;
use bytes::BytesMut;
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use filbert_net::{Close, CloseReason, ConnectError, Connector, NetSettings, Outbound, Outlet, Protocol};
use filbert_pool::TaskFuture;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// Items that are sent at once.
const PORTION: usize = 512;

/// Connects to a server and sends every item as a line; closes the connection when all is sent. One processor; a connection that breaks
/// fails the job. What the server sends is read and dropped.
pub fn write_lines<T: AsRef<[u8]> + Send + 'static>(server: SocketAddr) -> TcpSink<T> {
    TcpSink { server, item: PhantomData }
}

/// The vertex of [`write_lines`].
#[derive(Debug, Clone)]
pub struct TcpSink<T> {
    server: SocketAddr,
    item: PhantomData<fn(T)>,
}

impl<T: AsRef<[u8]> + Send + 'static> MetaSupplier for TcpSink<T> {
    type Processor = WriteTcp<T>;
    type Supplier = TcpSink<T>;

    fn supplier(&self, _: Share) -> Result<TcpSink<T>, Failure> {
        Ok(TcpSink { server: self.server, item: PhantomData })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Supplier for TcpSink<T> {
    type Processor = WriteTcp<T>;

    fn processor(&mut self, _: Share) -> Result<WriteTcp<T>, Failure> {
        Ok(WriteTcp {
            server: self.server,
            format: LinesOut::new(),
            connecting: None,
            outlet: None,
            is_draining: false,
            progress: Arc::default(),
            offload: None,
        })
    }
}

/// What the processor and the connection know of each other.
#[derive(Default)]
struct Progress {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A portion is on its way.
    is_busy: bool,
    closed: Option<CloseReason>,
    waker: Option<Waker>,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let waker = state.waker.clone();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The connection's side.
struct LineWriter {
    progress: Arc<Progress>,
}

impl Protocol for LineWriter {
    fn received(&mut self, input: &mut BytesMut, _: &mut Outbound) -> Result<(), Close> {
        input.clear();
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        64 << 10
    }

    fn idle(&mut self, _: &mut Outbound) -> Result<(), Close> {
        Ok(())
    }

    fn sent(&mut self) {
        self.progress.change(|state| state.is_busy = false);
    }

    fn closed(&mut self, reason: CloseReason) {
        self.progress.change(|state| state.closed = Some(reason));
    }
}

/// The processor of [`write_lines`].
pub struct WriteTcp<T> {
    server: SocketAddr,
    format: LinesOut<T>,
    connecting: Option<TaskFuture<Result<Outlet, ConnectError>>>,
    outlet: Option<Outlet>,
    is_draining: bool,
    progress: Arc<Progress>,
    offload: Option<Offload>,
}

impl<T: AsRef<[u8]> + Send + 'static> WriteTcp<T> {
    /// The connection, when it is there and has room. Otherwise the processor is woken when it has.
    fn poll_ready(&mut self) -> Poll<Result<Outlet, Failure>> {
        if let (Some(connecting), Some(offload)) = (&mut self.connecting, &self.offload) {
            match offload.poll(connecting) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(connected) => {
                    self.outlet = Some(connected??);
                    self.connecting = None;
                }
            }
        }
        let state = self.progress.lock();
        if let Some(reason) = state.closed {
            let message = format!("the connection to {} ended: {reason}; not all was sent", self.server);
            return Poll::Ready(Err(message.into()));
        }
        match &self.outlet {
            Some(outlet) if !state.is_busy => Poll::Ready(Ok(outlet.clone())),
            _ => Poll::Pending,
        }
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Processor for WriteTcp<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        self.progress.lock().waker = Some(context.waker().clone());
        let stages = context.stages().upgrade().ok_or("the stages have ended")?;
        let progress = Arc::clone(&self.progress);
        let connector = Connector::new(NetSettings::default(), None)?;
        self.connecting = Some(connector.connect(&stages, self.server, move |_, _| LineWriter { progress })?);
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let Poll::Ready(outlet) = self.poll_ready()? else { return Ok(Step::Wait) };
        let mut bytes = Vec::new();
        self.format.encode(&mut inbox.take(PORTION), &mut bytes)?;
        // Before it is sent: it may be taken at once.
        self.progress.lock().is_busy = true;
        outlet.send(bytes)?;
        Ok(Step::Again)
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        if self.is_draining {
            return Ok(match self.progress.lock().closed {
                None => Step::Wait,
                Some(_) => Step::Done,
            });
        }
        let Poll::Ready(outlet) = self.poll_ready()? else { return Ok(Step::Wait) };
        outlet.drain();
        self.is_draining = true;
        Ok(Step::Again)
    }
}

impl<T> Drop for WriteTcp<T> {
    fn drop(&mut self) {
        if let Some(outlet) = &self.outlet {
            outlet.close();
        }
    }
}
