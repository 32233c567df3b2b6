//! A received message whose header has been read.

use super::{Fault, MessageError, Record, What, read_custom};
use crate::frame::{Flags, FrameCursor};
use bytes::Bytes;

/// Type and correlation: what every message begins with.
const LEAST: usize = 12;

/// A whole message, before its fields are decoded: enough to decide who decodes it.
#[derive(Debug, Clone)]
pub struct MessageReader {
    bytes: Bytes,
    id: u32,
    correlation: i64,
    partition: i32,
    flags: Flags,
}

impl MessageReader {
    /// Reads the header of a message; the bytes are all its frames.
    pub fn new(bytes: Bytes) -> Result<Self, MessageError> {
        let (id, correlation, partition, flags) =
            header(&bytes).map_err(|fault| fault.in_field("header").of("message"))?;
        Ok(Self { bytes, id, correlation, partition, flags })
    }

    /// The type: 0 for an error, else service, method, and 0 for a request, 1 for a response, 2 and more for an event.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Joins an answer, or an event, to its request.
    pub fn correlation(&self) -> i64 {
        self.correlation
    }

    /// The partition that the sender believes the request belongs to; -1 when it names none.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// The flags of the first frame.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// All frames.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The text of the first frame behind the fixed-size fields: in a request for a structure, its name. `None` when something else is there.
    pub fn first_text(&self) -> Option<&str> {
        let mut frames = FrameCursor::new(&self.bytes);
        frames.next().ok()?;
        std::str::from_utf8(frames.plain().ok()?.payload()).ok()
    }

    /// The structure and the text behind the fixed-size fields: in a request of the CP subsystem, group and name. `None` when something else
    /// is there.
    pub fn first_structure_and_text<R: Record>(&self) -> Option<(R, &str)> {
        let mut frames = FrameCursor::new(&self.bytes);
        frames.next().ok()?;
        let structure = read_custom(&mut frames).ok()?;
        Some((structure, std::str::from_utf8(frames.plain().ok()?.payload()).ok()?))
    }

    /// The fixed-size fields with the byte they begin at, and the frames behind them.
    pub(super) fn split(
        &self,
        header: usize,
        name: &'static str,
    ) -> Result<((&[u8], usize), FrameCursor<'_>), MessageError> {
        let mut frames = FrameCursor::new(&self.bytes);
        let fault = |fault: Fault| fault.in_field("header").of(name);
        let first = frames.next().map_err(fault)?;
        let payload = first.payload();
        let end = first.offset() + payload.len();
        let fixed = payload.get(header..).ok_or_else(|| fault(Fault::new(end, What::Truncated)))?;
        Ok(((fixed, first.offset() + header), frames))
    }
}

fn header(bytes: &Bytes) -> Result<(u32, i64, i32, Flags), Fault> {
    let first = FrameCursor::new(bytes).next()?;
    let &[a, b, c, d, ref rest @ ..] =
        first.payload().first_chunk::<LEAST>().ok_or(Fault::new(first.offset(), What::Truncated))?;
    // A response has one byte here; it names no partition.
    let partition = first.payload()[LEAST..].first_chunk::<4>().map_or(-1, |four| i32::from_le_bytes(*four));
    Ok((u32::from_le_bytes([a, b, c, d]), i64::from_le_bytes(*rest), partition, first.flags))
}
