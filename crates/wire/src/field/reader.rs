//! Where fields are read from: the fixed-size ones of a message or structure, and the frames behind them.

use super::Field;
use crate::frame::FrameCursor;
use crate::message::{Fault, What};

/// Reads the fields of a message or structure, one after the other.
#[derive(Debug)]
pub struct FieldReader<'c, 'm> {
    /// The fixed-size fields.
    fixed: &'m [u8],
    /// How many of their bytes have been read. Constant at each call when the record's reading is inlined.
    at: usize,
    /// The byte of the message that they begin at.
    base: usize,
    frames: &'c mut FrameCursor<'m>,
}

impl<'c, 'm> FieldReader<'c, 'm> {
    /// Fixed-size fields that begin at byte `base` of the message, and the frames behind.
    pub fn new(fixed: &'m [u8], base: usize, frames: &'c mut FrameCursor<'m>) -> Self {
        Self { fixed, at: 0, base, frames }
    }

    /// The next field.
    #[inline]
    pub fn read<T: Field>(&mut self) -> Result<T, Fault> {
        T::decode(self)
    }

    /// The next field, or what holds when the sender's version did not have it.
    #[inline]
    pub fn read_or<T: Field>(&mut self, absent: impl FnOnce() -> T) -> Result<T, Fault> {
        let here = if T::FIXED > 0 {
            self.at + T::FIXED <= self.fixed.len()
        } else {
            self.frames.peek().is_some() && !self.frames.at_end()
        };
        if here {
            return T::decode(self);
        }
        // What follows is absent too, even if it were small enough for the bytes that are left.
        self.at += T::FIXED;
        Ok(absent())
    }

    /// The next bytes of the fixed-size fields.
    #[inline]
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.fixed.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or_else(|| self.fault(What::Missing))?;
        self.at += N;
        Ok(bytes)
    }

    /// The frames behind.
    #[inline]
    pub fn frames(&mut self) -> &mut FrameCursor<'m> {
        self.frames
    }

    /// A fault at the fixed-size field that is read.
    #[cold]
    pub fn fault(&self, what: What) -> Fault {
        Fault::new(self.base + self.at.min(self.fixed.len()), what)
    }
}
