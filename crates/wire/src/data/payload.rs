//! `Payload`: the one form that a plain value has, whether it is a `Data` of its own, an item of a list or a field of a Compact object.

use super::{BigInteger, Decimal, DecodeError, EncodeError, Input, MAX_NUMBER_BYTES, Output, output::Fixed};

/// A plain value with one form of bytes.
pub trait Payload: Sized {
    /// What it is called in messages.
    const NAME: &'static str;
    /// How many bytes [`Payload::write`] appends.
    fn size(&self) -> usize;
    /// Appends the bytes.
    fn write(&self, out: &mut Output) -> Result<(), EncodeError>;
    /// Reads the bytes. A string or number whose length says null is an error.
    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError>;
}

macro_rules! fixed_payload {
    ($($type:ty)*) => {$(
        impl Payload for $type {
            const NAME: &'static str = <Self as Fixed>::NAME;

            fn size(&self) -> usize {
                Self::SIZE
            }

            fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
                out.put(*self);
                Ok(())
            }

            fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
                input.get()
            }
        }
    )*};
}

fixed_payload! { bool i8 i16 u16 i32 i64 f32 f64 }

impl Payload for String {
    const NAME: &'static str = "a string";

    fn size(&self) -> usize {
        4 + self.len()
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.prefixed(self.as_bytes())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        input.text()?.map(str::to_owned).ok_or(DecodeError::UnexpectedNull { expected: Self::NAME })
    }
}

impl Payload for Decimal {
    const NAME: &'static str = "a decimal number";

    fn size(&self) -> usize {
        self.unscaled().size() + 4
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        self.unscaled().write(out)?;
        out.put(self.scale());
        Ok(())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_parts(BigInteger::read(input)?, input.get()?))
    }
}

impl Payload for BigInteger {
    const NAME: &'static str = "a whole number";

    fn size(&self) -> usize {
        4 + self.as_be_bytes().len()
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.prefixed(self.as_be_bytes())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let bytes =
            input.prefixed(Self::NAME)?.ok_or(DecodeError::UnexpectedNull { expected: Self::NAME })?;
        Self::from_be_bytes(bytes)
            .map_err(|error| DecodeError::NumberTooLong { length: error.length, limit: MAX_NUMBER_BYTES })
    }
}

impl Payload for uuid::Uuid {
    const NAME: &'static str = "a UUID";

    fn size(&self) -> usize {
        16
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.bytes(self.as_bytes());
        Ok(())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(input.bytes(Self::NAME, 16)?);
        Ok(Self::from_bytes(bytes))
    }
}
