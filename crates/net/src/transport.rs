//! The socket of a connection, in the clear or encrypted: reads and writes that never wait.

use crate::backlog::{Backlog, SLICES};
use bytes::{BufMut, BytesMut};
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncReadExt, AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// One socket.
#[derive(Debug)]
pub(crate) enum Transport {
    Clear(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// Reads once, up to `most` bytes, behind what `input` holds; 0 is the end.
    ///
    /// Ask until it says `Pending`: after a read that left room tokio knows that the socket is empty, and says so without a
    /// system call.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        input: &mut BytesMut,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let mut room = input.limit(most);
        match self {
            Self::Clear(stream) => pin!(stream.read_buf(&mut room)).poll(context),
            Self::Encrypted(stream) => pin!(stream.read_buf(&mut room)).poll(context),
        }
    }

    /// True when the peer sends no more, whatever of it lies unread.
    pub(crate) fn is_read_closed(&self) -> bool {
        let stream = match self {
            Self::Clear(stream) => stream,
            Self::Encrypted(stream) => stream.get_ref().0,
        };
        // Asks what the driver knows, and leaves no waker behind.
        let ready = pin!(stream.ready(Interest::READABLE)).poll(&mut Context::from_waker(Waker::noop()));
        matches!(ready, Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }

    /// Writes as much of `backlog` as one system call takes.
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        backlog: &Backlog,
    ) -> Poll<io::Result<usize>> {
        if let Some(single) = backlog.single() {
            return match self {
                Self::Clear(stream) => Pin::new(stream).poll_write(context, single),
                Self::Encrypted(stream) => Pin::new(stream).poll_write(context, single),
            };
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let filled = backlog.fill(&mut slices);
        match self {
            Self::Clear(stream) => Pin::new(stream).poll_write_vectored(context, &slices[..filled]),
            Self::Encrypted(stream) => Pin::new(stream).poll_write_vectored(context, &slices[..filled]),
        }
    }

    /// Hands to the system what encryption still holds; in the clear there is nothing.
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Clear(_) => Poll::Ready(Ok(())),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// Says good-bye, as far as that goes without waiting.
    pub(crate) fn shut_down(&mut self, context: &mut Context<'_>) {
        let _ = match self {
            Self::Clear(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        };
    }
}
