//! `Input`: reads the payload of one [`Data`](crate::Data), big-endian, and trusts nothing in it.
//!
//! Three bounds keep hostile bytes harmless. A length is compared with what is left before anything is allocated for it. Values within
//! values are counted, so that no stack overflows. And every byte that is read is paid from a budget of about the payload's
//! length: the offsets of Compact may point anywhere, also many times at the same bytes, and a few hundred of them could
//! otherwise unfold into gigabytes.

use super::{DecodeError, MAX_DEPTH, output::Fixed, type_id};
use crate::compact::{NO_SCHEMAS, SchemaSource};

/// A reader over one payload.
#[derive(Clone)]
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    budget: usize,
    depth: u32,
    schemas: &'a dyn SchemaSource,
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Input({} of {} bytes read, depth {})", self.at, self.end, self.depth)
    }
}

impl<'a> Input<'a> {
    /// Reads from the first of `bytes`, without schemas: Compact values are read only by the structs that bring theirs.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_schemas(bytes, NO_SCHEMAS)
    }

    /// Reads from the first of `bytes`, and finds the schemas of Compact values in `schemas`.
    pub fn with_schemas(bytes: &'a [u8], schemas: &'a dyn SchemaSource) -> Self {
        // Twice: a legal reader looks at a few bytes again (the positions of items, before the items).
        let budget = bytes.len().saturating_mul(2).saturating_add(64);
        Self { bytes, at: 0, end: bytes.len(), budget, depth: 0, schemas }
    }

    /// Where the next byte stands, from the start of the payload.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// Where schemas are found.
    pub fn schemas(&self) -> &'a dyn SchemaSource {
        self.schemas
    }

    /// The next `length` bytes.
    pub fn bytes(&mut self, what: &'static str, length: usize) -> Result<&'a [u8], DecodeError> {
        if length > self.left() {
            return Err(DecodeError::Truncated { what, offset: self.at, needed: length, left: self.left() });
        }
        let Some(budget) = self.budget.checked_sub(length) else {
            return Err(DecodeError::Overlap { length: self.bytes.len() });
        };
        self.budget = budget;
        let found = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(found)
    }

    /// The next number or boolean.
    pub fn get<T: Fixed>(&mut self) -> Result<T, DecodeError> {
        self.bytes(T::NAME, T::SIZE).map(T::load)
    }

    /// A length or count, of items that take at least `item_size` bytes each; `None` is Hazelcast's null (-1).
    pub fn length(&mut self, what: &'static str, item_size: usize) -> Result<Option<usize>, DecodeError> {
        let offset = self.at;
        let length: i32 = self.get()?;
        if length == -1 {
            return Ok(None);
        }
        match usize::try_from(length) {
            Ok(length) if length <= self.left() / item_size.max(1) => Ok(Some(length)),
            _ => Err(DecodeError::BadLength { what, offset, length: length.into(), left: self.left() }),
        }
    }

    /// Length and bytes.
    pub fn prefixed(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.length(what, 1)? {
            Some(length) => self.bytes(what, length).map(Some),
            None => Ok(None),
        }
    }

    /// Length and UTF-8.
    pub fn text(&mut self) -> Result<Option<&'a str>, DecodeError> {
        let Some(bytes) = self.prefixed("a string")? else { return Ok(None) };
        let offset = self.at - bytes.len();
        std::str::from_utf8(bytes).map(Some).map_err(|_| DecodeError::NotUtf8 { offset })
    }

    /// Length and numbers.
    pub fn array<T: Fixed>(&mut self, what: &'static str) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(length) = self.length(what, T::SIZE)? else { return Ok(None) };
        let bytes = self.bytes(what, length * T::SIZE)?;
        Ok(Some(bytes.chunks_exact(T::SIZE).map(T::load).collect()))
    }

    /// What `read` reads, one level deeper.
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth == MAX_DEPTH {
            return Err(DecodeError::TooDeep { offset: self.at, limit: MAX_DEPTH });
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Length and objects that begin with their type id; `read` reads one, given that id.
    pub fn objects<T>(
        &mut self,
        mut read: impl FnMut(i32, &mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(length) = self.length("a list", size_of_val(&type_id::NULL))? else { return Ok(None) };
        self.nested(|input| {
            let mut items = Vec::with_capacity(length);
            for _ in 0..length {
                let type_id = input.get()?;
                items.push(read(type_id, input)?);
            }
            Ok(Some(items))
        })
    }

    /// Nothing must be left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeError::TrailingBytes { offset: self.at, left }),
        }
    }

    /// What `read` reads from `start`, bounded by `end`; afterwards the reader stands where it stood.
    pub(crate) fn within<T>(
        &mut self,
        start: usize,
        end: usize,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if start > end || end > self.end {
            let left = self.end.saturating_sub(start);
            return Err(DecodeError::Truncated {
                what: "a part",
                offset: start,
                needed: end.saturating_sub(start),
                left,
            });
        }
        let before = (self.at, self.end);
        (self.at, self.end) = (start, end);
        let found = read(self);
        (self.at, self.end) = before;
        found
    }

    /// Goes on at `position`, which is at most the end.
    pub(crate) fn seek(&mut self, position: usize) -> Result<(), DecodeError> {
        if position > self.end {
            let needed = position.saturating_sub(self.at);
            return Err(DecodeError::Truncated {
                what: "a Compact value",
                offset: self.at,
                needed,
                left: self.left(),
            });
        }
        self.at = position;
        Ok(())
    }

    /// A reader at `offset` of the same payload, with a budget of its own: for records whose fields are read one by one.
    pub(crate) fn again_at(&self, offset: usize, end: usize) -> Self {
        let mut again = Self::with_schemas(self.bytes, self.schemas);
        (again.at, again.end, again.depth) = (offset.min(end), end.min(self.bytes.len()), self.depth);
        again
    }
}
