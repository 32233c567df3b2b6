//! Cuts a stream of received bytes into messages.
//!
//! The splitter remembers how far into the message at the front of the buffer it has walked, so a large message that arrives in many
//! reads is walked once. A length is checked as soon as its four bytes are there: the bytes that it announces are never waited for,
//! nor is room made for them, when they are too many.
//!
//! A message in fragments is put together within the same limits. Rejected: handing fragments up one by one, which would give every
//! decoder a second shape of input.

use super::fragments::{Fragment, Fragments};
use super::{FRAME_HEADER, Flags, header};
use bytes::{Bytes, BytesMut};

/// What a connection may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one frame.
    pub frame_bytes: usize,
    /// Bytes of one message, and of all unfinished fragments together.
    pub message_bytes: usize,
    /// Messages that may be arriving in fragments at one time.
    pub open_fragments: usize,
}

impl Limits {
    /// Before login: what an authentication needs, and no more.
    pub const BEFORE_LOGIN: Self = Self { frame_bytes: 4 << 10, message_bytes: 4 << 10, open_fragments: 0 };

    /// After login, unless the settings say otherwise.
    pub const AFTER_LOGIN: Self = Self { frame_bytes: 16 << 20, message_bytes: 16 << 20, open_fragments: 8 };
}

/// Bytes that are no messages, or too large ones. The stream cannot be followed any further: the connection is to be closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A length that not even the frame's own header fits into.
    #[error(
        "a frame says it is {length} bytes long; {FRAME_HEADER} is the least: this is not the client protocol"
    )]
    FrameTooShort {
        /// What the frame says.
        length: i32,
    },
    /// A frame over the limit.
    #[error("a frame of {length} bytes is over the limit of {limit}; raise the limit or send less at once")]
    FrameTooLong {
        /// What the frame says.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// A message, or all unfinished fragments together, over the limit.
    #[error(
        "a message of at least {length} bytes is over the limit of {limit}; raise the limit or send less at once"
    )]
    MessageTooLong {
        /// Its bytes so far.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// A fragment whose first frame holds no fragment id.
    #[error("a fragment begins with a frame of {length} bytes; it takes 8 for the fragment's id")]
    FragmentWithoutId {
        /// The payload's bytes.
        length: usize,
    },
    /// A fragment of a message whose first fragment was never seen.
    #[error("fragment {id} goes on, but never began")]
    UnknownFragment {
        /// The fragment id.
        id: i64,
    },
    /// A first fragment with the id of one that has not ended.
    #[error("fragment {id} begins a second time before it ended")]
    FragmentTwice {
        /// The fragment id.
        id: i64,
    },
    /// Too many messages arrive in fragments at one time.
    #[error("more than {limit} messages arrive in fragments at one time")]
    TooManyFragments {
        /// The most that may be open.
        limit: usize,
    },
}

/// Cuts the bytes of one connection into messages.
///
/// ```
/// use bytes::BytesMut;
/// use filbert_wire::frame::{Limits, Splitter};
/// use filbert_wire::message::Request;
/// use filbert_wire::messages::client::Ping;
///
/// let mut sent = BytesMut::new();
/// Ping {}.encode(7, -1, &mut sent);
/// let (mut received, mut splitter) = (BytesMut::new(), Splitter::new(Limits::BEFORE_LOGIN));
/// received.extend_from_slice(&sent[..10]);
/// assert_eq!(splitter.split(&mut received).unwrap(), None);
/// received.extend_from_slice(&sent[10..]);
/// assert_eq!(splitter.split(&mut received).unwrap().unwrap(), sent);
/// ```
#[derive(Debug)]
pub struct Splitter {
    limits: Limits,
    /// Bytes at the front of the buffer that are whole frames of the message at hand.
    walked: usize,
    /// The first frame of the message at hand, once seen: its flags, and where its payload ends.
    first: Option<(Flags, usize)>,
    fragments: Fragments,
}

impl Splitter {
    /// For a new connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, walked: 0, first: None, fragments: Fragments::default() }
    }

    /// From now on other limits hold; for a message that is arriving too.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The next whole message at the front of `buffer`, or `None` until more bytes are appended to it. Between calls the caller only
    /// appends. After an error the stream cannot be followed any further.
    pub fn split(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, SplitError> {
        while let Some((length, flags)) = header(&buffer[self.walked..]) {
            let length = self.checked(length, flags)?;
            if buffer.len() - self.walked < length {
                return Ok(None);
            }
            self.walked += length;
            let &mut (first, first_end) = self.first.get_or_insert((flags, length));
            if !flags.contains(Flags::FINAL) {
                continue;
            }
            let frames = buffer.split_to(self.walked);
            (self.walked, self.first) = (0, None);
            if first.contains(Flags::UNFRAGMENTED) {
                return Ok(Some(frames.freeze()));
            }
            let fragment = Fragment { flags: first, frames, id_end: first_end };
            if let Some(message) = self.fragments.add(fragment, self.limits.open_fragments)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// How many bytes the buffer has to hold, at least, before [`split`](Self::split) can get on.
    pub fn wanted(&self, buffer: &[u8]) -> usize {
        let length =
            buffer.get(self.walked..).and_then(header).map_or(0, |(length, _)| length.max(0) as usize);
        self.walked + length.clamp(FRAME_HEADER, self.limits.frame_bytes.max(FRAME_HEADER))
    }

    /// The length of the frame at hand, if the limits allow it.
    fn checked(&self, length: i32, flags: Flags) -> Result<usize, SplitError> {
        let size = usize::try_from(length).unwrap_or(0);
        if size < FRAME_HEADER {
            return Err(SplitError::FrameTooShort { length });
        }
        if size > self.limits.frame_bytes {
            return Err(SplitError::FrameTooLong { length: size, limit: self.limits.frame_bytes });
        }
        let (first, _) = self.first.unwrap_or((flags, 0));
        let held = if first.contains(Flags::UNFRAGMENTED) { 0 } else { self.fragments.bytes() };
        let total = held + self.walked + size;
        if total > self.limits.message_bytes {
            return Err(SplitError::MessageTooLong { length: total, limit: self.limits.message_bytes });
        }
        Ok(size)
    }
}
