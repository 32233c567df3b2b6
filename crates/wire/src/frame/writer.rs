//! Appends frames to an output buffer.
//!
//! A message is written straight into the buffer that the connection sends: lengths are patched in when a frame ends, the mark of the
//! last frame when the message does. There is no buffer per frame and none per message.

use super::{FRAME_HEADER, Flags};
use crate::message::Version;
use bytes::BytesMut;

/// A message that is being appended to a buffer.
#[derive(Debug)]
pub struct FrameWriter<'o> {
    out: &'o mut BytesMut,
    /// Where the frame that was begun last starts.
    frame: usize,
    as_of: Version,
}

impl<'o> FrameWriter<'o> {
    /// Writes to the end of `out`, in the layout of version `as_of`: fields that came later are left out.
    pub fn new(out: &'o mut BytesMut, as_of: Version) -> Self {
        let frame = out.len();
        Self { out, frame, as_of }
    }

    /// Whether fields that came with `since` are written.
    pub fn writes(&self, since: Version) -> bool {
        since <= self.as_of
    }

    /// Begins a frame; [`put`](Self::put) fills it, [`end`](Self::end) ends it.
    pub fn begin(&mut self, flags: Flags) {
        self.header(FRAME_HEADER, flags);
    }

    /// Appends to the frame that was begun.
    pub fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Ends the frame that was begun: its length is known now.
    pub fn end(&mut self) {
        let length = wire_length(self.out.len() - self.frame);
        self.out[self.frame..self.frame + 4].copy_from_slice(&length);
    }

    /// A whole frame.
    pub fn frame(&mut self, flags: Flags, payload: &[u8]) {
        self.header(FRAME_HEADER + payload.len(), flags);
        self.out.extend_from_slice(payload);
    }

    /// A frame without payload.
    pub fn mark(&mut self, flags: Flags) {
        self.header(FRAME_HEADER, flags);
    }

    /// Marks the last frame as the last: the message is whole.
    pub fn finish(self) {
        let high = self.frame + 5;
        self.out[high] |= (Flags::FINAL.0 >> 8) as u8;
    }

    fn header(&mut self, length: usize, flags: Flags) {
        self.frame = self.out.len();
        let mut header = [0; FRAME_HEADER];
        header[..4].copy_from_slice(&wire_length(length));
        header[4..].copy_from_slice(&flags.0.to_le_bytes());
        self.out.extend_from_slice(&header);
    }
}

fn wire_length(length: usize) -> [u8; 4] {
    i32::try_from(length)
        .expect("a frame is shorter than 2 GB, as is every value that a member holds")
        .to_le_bytes()
}
