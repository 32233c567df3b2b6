//! The bytes of a connection as messages: read whole within a limit, written in one go.
//!
//! A message is taken only when it is there, and its length is judged before its bytes are awaited. What is written gathers in one buffer
//! and leaves when the client must wait for it or when it is long enough; whoever adds more waits until the system took it. So one
//! connection holds a message, a buffer, and no more.

use super::failure::Failure;
use bytes::{Buf, Bytes, BytesMut};
use filbert_net::{Close, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes to send that leave at once.
const SEND_AT: usize = 64 << 10;

/// Room to read into.
const READ_BYTES: usize = 8 << 10;

/// Room that an idle connection keeps.
const KEPT_BYTES: usize = 64 << 10;

/// One connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) stream: Stream,
    input: BytesMut,
    pub(super) out: BytesMut,
    limit: usize,
}

/// Why there is no next message.
#[derive(Debug)]
pub(super) enum Ended {
    /// The client is gone, or the door drains.
    Gone,
    /// The connection broke.
    Broken(Close),
    /// What came is no message; the client is told, then it ends.
    Refused(Failure),
}

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(Close::because(error.to_string()))
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

impl Line {
    pub(super) fn new(stream: Stream) -> Self {
        let limit = stream.settings().before_login_bytes;
        Self { stream, input: BytesMut::new(), out: BytesMut::new(), limit }
    }

    /// How many bytes a message may have.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// From now on, messages of up to `limit` bytes.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// A packet of the opening, which says its length and no kind.
    pub(super) async fn opening(&mut self) -> Result<Bytes, Ended> {
        self.whole(0).await
    }

    /// The next message: its kind, and what is in it.
    pub(super) async fn message(&mut self) -> Result<(u8, Bytes), Ended> {
        let body = self.whole(1).await?;
        Ok((body[0], body.slice(1..)))
    }

    /// True when the next message is here, so that answers may wait for those to it.
    fn has_whole(&self, before_length: usize) -> Result<Option<usize>, Failure> {
        let Some(length) = self.input.get(before_length..before_length + 4) else { return Ok(None) };
        let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        let length = usize::try_from(length).ok().filter(|length| *length >= 4);
        let length = length.ok_or_else(|| Failure::malformed("a length that cannot be"))?;
        if length > self.limit {
            return Err(Failure::fatal(
                "54000",
                format!(
                    "a message has {length} bytes, more than the {} allowed here; send less, or raise postgres.message_bytes \
                     (before login postgres.connections.before_login_bytes)",
                    self.limit
                ),
            ));
        }
        Ok(Some(before_length + length).filter(|whole| self.input.len() >= *whole))
    }

    /// `before_length` bytes, a length (which is left out), and as many bytes as it says.
    async fn whole(&mut self, before_length: usize) -> Result<Bytes, Ended> {
        let whole = loop {
            match self.has_whole(before_length)? {
                Some(whole) => break whole,
                None => self.receive().await?,
            }
        };
        let mut message = self.input.split_to(whole);
        if self.input.is_empty() && whole > KEPT_BYTES {
            self.input = BytesMut::new();
        }
        // The kind stands before the length, and follows it now.
        if before_length == 1 {
            message[4] = message[0];
        }
        message.advance(4);
        Ok(message.freeze())
    }

    async fn receive(&mut self) -> Result<(), Ended> {
        self.flush().await?;
        self.input.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(Ended::Gone),
            _ => Ok(()),
        }
    }

    /// True when the client sent more than was taken: before TLS begins, that must not be.
    pub(super) fn has_more(&self) -> bool {
        !self.input.is_empty()
    }

    /// Sends all, and waits until the system took it.
    pub(super) async fn flush(&mut self) -> Result<(), Ended> {
        if !self.out.is_empty() {
            self.stream.write_all(&self.out).await?;
            self.stream.flush().await?;
            if self.out.capacity() > KEPT_BYTES * 2 {
                self.out = BytesMut::new();
            }
            self.out.clear();
        }
        Ok(())
    }

    /// Sends all when it is long enough; for who has more.
    pub(super) async fn relieve(&mut self) -> Result<(), Ended> {
        if self.is_full() { self.flush().await } else { Ok(()) }
    }

    /// True when what is there should leave before there is more.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= SEND_AT
    }
}
