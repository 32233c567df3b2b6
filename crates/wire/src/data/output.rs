//! `Output`: writes the payload of one [`Data`], big-endian, header included, into one buffer.

use super::{Data, EncodeError, MAX_DEPTH};

/// Collects the bytes of one value. Types write themselves into it by [`ToData`](crate::ToData).
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    depth: u32,
}

impl Output {
    /// An output that begins with the header; when the payload has exactly `payload_size` bytes, this is the only allocation.
    pub(crate) fn of_type(type_id: i32, payload_size: usize) -> Self {
        let mut bytes = Vec::with_capacity(super::HEADER.saturating_add(payload_size));
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&type_id.to_be_bytes());
        Self { bytes, depth: 0 }
    }

    /// The value whose payload has been written.
    pub(crate) fn finish(self) -> Data {
        // A buffer with room to spare would cost a second allocation for its bookkeeping, and the room.
        Data { bytes: self.bytes.into_boxed_slice().into() }
    }

    /// Appends a number, a boolean, in its big-endian form.
    pub fn put<T: Fixed>(&mut self, value: T) {
        value.append(&mut self.bytes);
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the payload of another value, so that it can be read as a part of this one: offsets of Portable objects count from the
    /// first byte of the whole.
    pub fn payload_of(&mut self, data: &Data) {
        crate::portable::append(data, self);
    }

    /// Appends a length or a count.
    pub fn length(&mut self, length: usize) -> Result<(), EncodeError> {
        self.put(to_length(length)?);
        Ok(())
    }

    /// Appends a length and that many bytes: a byte array, or a string's UTF-8.
    pub fn prefixed(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.length(bytes.len())?;
        self.bytes(bytes);
        Ok(())
    }

    /// Appends a length and numbers.
    pub fn array<T: Fixed>(&mut self, items: &[T]) -> Result<(), EncodeError> {
        self.length(items.len())?;
        self.bytes.reserve(items.len() * T::SIZE);
        items.iter().for_each(|item| item.append(&mut self.bytes));
        Ok(())
    }

    /// Appends what `write` appends, one level deeper.
    pub fn nested(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if self.depth == MAX_DEPTH {
            return Err(EncodeError::TooDeep { limit: MAX_DEPTH });
        }
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// How many bytes there are, header included.
    pub(crate) fn position(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Writes a number over bytes that are there already.
    pub(crate) fn overwrite<T: Fixed>(&mut self, position: usize, value: T) {
        value.store(&mut self.bytes[position..position + T::SIZE]);
    }

    pub(crate) fn set_bit(&mut self, position: usize, bit: u8) {
        self.bytes[position] |= 1 << bit;
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// A length as the wire has it.
pub(crate) fn to_length(length: usize) -> Result<i32, EncodeError> {
    i32::try_from(length).map_err(|_| EncodeError::TooLong { length })
}

/// What always takes the same number of bytes: numbers and booleans.
pub trait Fixed: Copy {
    /// How many bytes.
    const SIZE: usize;
    /// What it is called in messages.
    const NAME: &'static str;
    /// Appends the big-endian form.
    fn append(self, bytes: &mut Vec<u8>);
    /// Writes the big-endian form over [`Fixed::SIZE`] bytes.
    fn store(self, bytes: &mut [u8]);
    /// Reads the big-endian form; `bytes` are [`Fixed::SIZE`] many.
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! fixed {
    ($($type:ty, $name:literal;)*) => {$(
        impl Fixed for $type {
            const SIZE: usize = size_of::<$type>();
            const NAME: &'static str = $name;

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_be_bytes());
            }

            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_be_bytes());
            }

            fn load(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(bytes);
                Self::from_be_bytes(array)
            }
        }
    )*};
}

fixed! {
    i8, "a byte";
    u8, "a byte";
    i16, "a short";
    u16, "a char";
    i32, "an int";
    i64, "a long";
    f32, "a float";
    f64, "a double";
}

impl Fixed for bool {
    const SIZE: usize = 1;
    const NAME: &'static str = "a boolean";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }

    fn store(self, bytes: &mut [u8]) {
        bytes[0] = u8::from(self);
    }

    fn load(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}
