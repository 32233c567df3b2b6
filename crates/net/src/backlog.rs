//! Bytes that wait to be written: a list of shared pieces and one buffer at its end that small pieces are copied into.
//!
//! Small answers are copied, so that a batch of them is one contiguous write; large ones keep their memory, which a value in a map
//! shares. Copying all was rejected (a megabyte twice per answer), sharing all too (a vector entry per 30 bytes).

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Pieces of at least that many bytes are not copied.
const SHARED_FROM: usize = 16 << 10;

/// How many pieces one write takes at most.
pub(crate) const SLICES: usize = 32;

/// Bytes in the order they are to be written.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    pieces: VecDeque<Bytes>,
    pieces_len: usize,
    tail: BytesMut,
}

impl Backlog {
    pub(crate) fn len(&self) -> usize {
        self.pieces_len + self.tail.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty()
    }

    /// Where the next bytes are appended.
    pub(crate) fn tail(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    pub(crate) fn push_slice(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    pub(crate) fn push(&mut self, bytes: Bytes) {
        if bytes.len() < SHARED_FROM {
            self.push_slice(&bytes);
        } else {
            self.seal();
            self.pieces_len += bytes.len();
            self.pieces.push_back(bytes);
        }
    }

    /// Moves everything of `other` behind what is here.
    pub(crate) fn append(&mut self, other: Backlog) {
        if other.pieces.is_empty() && other.tail.len() < SHARED_FROM {
            self.push_slice(&other.tail);
            return;
        }
        self.seal();
        self.pieces_len += other.pieces_len;
        self.pieces.extend(other.pieces);
        self.tail = other.tail;
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.pieces_len += self.tail.len();
            self.pieces.push_back(std::mem::take(&mut self.tail).freeze());
        }
    }

    /// The bytes to write next, if they lie in one piece.
    pub(crate) fn single(&self) -> Option<&[u8]> {
        match self.pieces.len() {
            0 => Some(&self.tail),
            1 if self.tail.is_empty() => Some(&self.pieces[0]),
            _ => None,
        }
    }

    /// The first pieces; the rest of `slices` stays empty. Returns how many are filled.
    pub(crate) fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES]) -> usize {
        let last = (!self.tail.is_empty()).then_some(&self.tail[..]);
        let all = self.pieces.iter().map(|piece| &piece[..]).chain(last);
        let mut filled = 0;
        for (slot, piece) in slices.iter_mut().zip(all) {
            *slot = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    /// Forgets the first `count` bytes: they are written.
    pub(crate) fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.pieces.front_mut() {
            if count < first.len() {
                first.advance(count);
                self.pieces_len -= count;
                return;
            }
            count -= first.len();
            self.pieces_len -= first.len();
            self.pieces.pop_front();
        }
        if count >= self.tail.len() {
            self.tail.clear();
        } else {
            self.tail.advance(count);
        }
    }

    /// Takes the empty buffer out, to be used elsewhere, or puts one in.
    pub(crate) fn swap_tail(&mut self, with: BytesMut) -> BytesMut {
        debug_assert!(self.tail.is_empty());
        std::mem::replace(&mut self.tail, with)
    }

    /// Forgets everything and its memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(mut backlog: Backlog, step: usize) -> Vec<u8> {
        let mut written = Vec::new();
        while !backlog.is_empty() {
            let before = backlog.len();
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = backlog.fill(&mut slices);
            let flat: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
            if let Some(single) = backlog.single() {
                assert_eq!(single, &flat[..]);
            }
            let taken = step.min(flat.len());
            written.extend_from_slice(&flat[..taken]);
            backlog.advance(taken);
            assert_eq!(backlog.len(), before - taken);
        }
        written
    }

    #[test]
    fn bytes_leave_in_the_order_they_came() {
        for step in [1_000, 20_000, usize::MAX] {
            let (mut first, mut second, mut expected) = (Backlog::default(), Backlog::default(), Vec::new());
            for (number, len) in [10, SHARED_FROM, 3, 0, 2 * SHARED_FROM, 1].into_iter().enumerate() {
                let piece = vec![number as u8; len];
                expected.extend_from_slice(&piece);
                first.push(piece.into());
            }
            for (number, len) in [7, SHARED_FROM + 1, 9].into_iter().enumerate() {
                let piece = vec![100 + number as u8; len];
                expected.extend_from_slice(&piece);
                second.push(piece.into());
            }
            first.append(second);
            let mut small = Backlog::default();
            small.push_slice(b"end");
            expected.extend_from_slice(b"end");
            first.append(small);
            assert_eq!(first.len(), expected.len());
            assert_eq!(drained(first, step), expected);
        }
    }
}
