//! Walks over the frames of one message.
//!
//! The message is one `Bytes`; a field that is kept is a slice of it, so nothing is copied. The lengths are checked again here,
//! although a [`Splitter`](super::Splitter) has seen them: a cursor takes any bytes.

use super::{FRAME_HEADER, Flags, header};
use crate::message::{Fault, What};
use bytes::Bytes;

/// How deep unknown structures may be nested inside each other where they are skipped.
const MAX_DEPTH: u32 = 32;

/// A place between two frames of a message.
#[derive(Debug, Clone)]
pub struct FrameCursor<'m> {
    message: &'m Bytes,
    at: usize,
}

/// One frame of a message.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'m> {
    message: &'m Bytes,
    /// What it is.
    pub flags: Flags,
    start: usize,
    end: usize,
}

impl<'m> Frame<'m> {
    /// What comes after its header.
    pub fn payload(&self) -> &'m [u8] {
        &self.message[self.start..self.end]
    }

    /// The payload, to keep: a slice of the message.
    pub fn bytes(&self) -> Bytes {
        self.message.slice(self.start..self.end)
    }

    /// Where in the message its payload begins.
    pub fn offset(&self) -> usize {
        self.start
    }
}

impl<'m> FrameCursor<'m> {
    /// Before the first frame.
    pub fn new(message: &'m Bytes) -> Self {
        Self { message, at: 0 }
    }

    /// Where in the message the next frame begins.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// How many bytes of the message are ahead.
    pub fn remaining(&self) -> usize {
        self.message.len() - self.at
    }

    /// The next frame, whatever it is.
    #[expect(clippy::should_implement_trait, reason = "it fails at the end instead of answering None")]
    pub fn next(&mut self) -> Result<Frame<'m>, Fault> {
        let rest = self.message.get(self.at..).unwrap_or_default();
        let Some((length, flags)) = header(rest) else {
            return Err(Fault::new(self.at, if rest.is_empty() { What::Missing } else { What::Truncated }));
        };
        let size = usize::try_from(length).unwrap_or(0);
        if size < FRAME_HEADER {
            return Err(Fault::new(self.at, What::FrameLength { length }));
        }
        if size > rest.len() {
            return Err(Fault::new(self.at, What::Truncated));
        }
        let frame =
            Frame { message: self.message, flags, start: self.at + FRAME_HEADER, end: self.at + size };
        // The last frame ends the message, whatever bytes follow.
        self.at = if flags.contains(Flags::FINAL) { self.message.len() } else { frame.end };
        Ok(frame)
    }

    /// The flags of the next frame, if there is one.
    pub fn peek(&self) -> Option<Flags> {
        header(self.message.get(self.at..)?).map(|(_, flags)| flags)
    }

    /// The next frame, which has to be a plain one: no null, no begin or end of a structure.
    pub fn plain(&mut self) -> Result<Frame<'m>, Fault> {
        let frame = self.next()?;
        if frame.flags.contains(Flags::NULL) {
            return Err(Fault::new(frame.start, What::Null));
        }
        if frame.flags.intersects(Flags::BEGIN_DATA.with(Flags::END_DATA)) {
            return Err(Fault::new(frame.start, What::Structure { flags: frame.flags }));
        }
        Ok(frame)
    }

    /// Passes the frame that begins a structure.
    pub fn begin(&mut self) -> Result<(), Fault> {
        let frame = self.next()?;
        if frame.flags.contains(Flags::NULL) {
            return Err(Fault::new(frame.start, What::Null));
        }
        if !frame.flags.contains(Flags::BEGIN_DATA) {
            return Err(Fault::new(frame.start, What::NoStructure { flags: frame.flags }));
        }
        Ok(())
    }

    /// Whether the next frame ends a structure.
    pub fn at_end(&self) -> bool {
        self.peek().is_some_and(|flags| flags.contains(Flags::END_DATA))
    }

    /// Passes a null frame, if that is next.
    pub fn take_null(&mut self) -> Result<bool, Fault> {
        let null = self.peek().is_some_and(|flags| flags.contains(Flags::NULL));
        if null {
            self.next()?;
        }
        Ok(null)
    }

    /// Passes everything up to and with the end of the structure that the cursor is in: fields that a newer sender added.
    pub fn skip_to_end(&mut self) -> Result<(), Fault> {
        let mut depth = 1;
        while depth > 0 {
            let frame = self.next()?;
            if frame.flags.contains(Flags::END_DATA) {
                depth -= 1;
            } else if frame.flags.contains(Flags::BEGIN_DATA) {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Fault::new(frame.start, What::TooDeep { limit: MAX_DEPTH }));
                }
            }
        }
        Ok(())
    }
}
