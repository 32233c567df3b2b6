//! Reading a list: by chunk, or element by element.

use std::slice;

/// The chunks of a list, in order; none of them is empty.
#[derive(Debug)]
pub struct Chunks<'a, T> {
    full: slice::Iter<'a, Vec<T>>,
    last: &'a [T],
}

impl<'a, T> Chunks<'a, T> {
    pub(super) fn new(full: &'a [Vec<T>], last: &'a [T]) -> Self {
        Self { full: full.iter(), last }
    }
}

impl<T> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Self { full: self.full.clone(), last: self.last }
    }
}

impl<'a, T> Iterator for Chunks<'a, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        if let Some(chunk) = self.full.next() {
            return Some(chunk);
        }
        let last = std::mem::take(&mut self.last);
        (!last.is_empty()).then_some(last)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.full.len() + usize::from(!self.last.is_empty());
        (count, Some(count))
    }
}

impl<T> ExactSizeIterator for Chunks<'_, T> {}

/// The elements of a list, in order.
#[derive(Debug)]
pub struct Iter<'a, T> {
    current: slice::Iter<'a, T>,
    chunks: Chunks<'a, T>,
    left: usize,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(chunks: Chunks<'a, T>, left: usize) -> Self {
        Self { current: [].iter(), chunks, left }
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { current: self.current.clone(), chunks: self.chunks.clone(), left: self.left }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(element) = self.current.next() {
                self.left -= 1;
                return Some(element);
            }
            self.current = self.chunks.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// Chunk by chunk, so that `sum`, `for_each` and the like run over slices.
    fn fold<B, F: FnMut(B, &'a T) -> B>(self, init: B, mut each: F) -> B {
        let first = self.current.fold(init, &mut each);
        self.chunks.fold(first, |folded, chunk| chunk.iter().fold(folded, &mut each))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}
impl<T> std::iter::FusedIterator for Iter<'_, T> {}
