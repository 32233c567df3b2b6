//! Frames: the unit that the client protocol's messages are made of.
//!
//! ```text
//! | i32 length (with these six bytes) | u16 flags | payload ...      all little-endian
//! ```
//!
//! A message is a run of frames whose last one carries [`Flags::FINAL`]. [`Splitter`] cuts a stream of received bytes into messages,
//! [`FrameCursor`] walks the frames of one message without copying them, [`FrameWriter`] appends frames to an output buffer.
//! All of it runs on whichever thread has the bytes, usually a loop of stage `io`.

mod cursor;
mod flags;
mod fragments;
mod splitter;
mod writer;

pub use cursor::{Frame, FrameCursor};
pub use flags::Flags;
pub use splitter::{Limits, SplitError, Splitter};
pub use writer::FrameWriter;

/// What a client writes once, before its first message: "client protocol, version 2".
pub const PREAMBLE: [u8; 3] = *b"CP2";

/// The bytes of a frame before its payload: length and flags.
pub const FRAME_HEADER: usize = 6;

/// Length and flags of the frame that begins with `bytes`, as they stand there; `None` while fewer than six bytes are there.
fn header(bytes: &[u8]) -> Option<(i32, Flags)> {
    let &[a, b, c, d, e, f] = bytes.first_chunk::<FRAME_HEADER>()?;
    Some((i32::from_le_bytes([a, b, c, d]), Flags(u16::from_le_bytes([e, f]))))
}
