//! What a connection hangs by: its stream, which can be cut from elsewhere, and which a server that is silent while it connects does not
//! keep for ever.
//!
//! The driver's time-out ends when TCP is connected. But it hands its stream to whoever makes TLS, at once if it is told that the server
//! needs no question first (`SslNegotiation::Direct`): there the stream is taken hold of, whether it is made safe or not.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Cuts a stream. Shared by the stream and by those who may want it to end.
#[derive(Default)]
pub(super) struct Rope {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    /// The server has answered: from here on it may take its time.
    is_fast: bool,
    /// The driver's task, which alone reads and writes.
    waker: Option<Waker>,
}

impl Rope {
    /// The connection is there.
    pub(super) fn fasten(&self) {
        self.state().is_fast = true;
    }

    /// Whatever waits for the server fails, now and from now on.
    pub(super) fn cut(&self) {
        let waker = {
            let mut state = self.state();
            state.is_cut = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// A stream on its rope.
pub(super) struct Held<S> {
    stream: S,
    rope: Arc<Rope>,
    /// The end of patience with a server that has not answered yet.
    patience: Pin<Box<Sleep>>,
}

impl<S> Held<S> {
    /// Takes hold of a stream. Called on the driver's runtime, which has the timer.
    pub(super) fn new(stream: S, rope: Arc<Rope>, patience: Duration) -> Self {
        Self { stream, rope, patience: Box::pin(sleep(patience)) }
    }

    /// The stream, unless it was cut or patience is at its end.
    fn stream(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut S>>
    where
        S: Unpin,
    {
        let mut state = self.rope.state();
        if state.is_cut {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it was given up"));
        }
        if !state.is_fast && self.patience.as_mut().poll(context).is_ready() {
            state.is_cut = true;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time"));
        }
        state.waker = Some(context.waker().clone());
        drop(state);
        Ok(Pin::new(&mut self.stream))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Held<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.stream(context) {
            Ok(stream) => stream.poll_read(context, buffer),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Held<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.stream(context) {
            Ok(stream) => stream.poll_write(context, bytes),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream(context) {
            Ok(stream) => stream.poll_flush(context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream(context) {
            Ok(stream) => stream.poll_shutdown(context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
