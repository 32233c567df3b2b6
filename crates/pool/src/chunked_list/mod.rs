//! A growing list that never copies what it holds and never reserves what it does not need.
//!
//! Aggregation keeps one buffer per partition. A `Vec` either copies itself as it grows, or is reserved at its largest
//! expected size, once *per partition*: 32 partitions x 1,000,000 slots before the first row is read. A [`ChunkedList`]
//! begins with nothing, allocates a head of 128 slots at the first push, and then one more chunk whenever the last is
//! full, each twice the size of the one before:
//!
//! ```text
//!   head 128 | 256 | 512 | 1024 | ...          Doubling: O(log n) chunks, at most about half unused
//!   4096 | 4096 | 4096 | ...                   Fixed: n / 4096 chunks, at most one chunk unused
//! ```
//!
//! Where an element lies follows from its index alone: adding the head's size makes chunk `k` begin at `head << k`, so
//! the chunk is the position of the highest bit, and the rest is the offset. The way to grow is a type parameter because
//! then both forms cost nothing: neither asks at run time which one it is.
//!
//! All code here is safe. The last chunk is kept apart from the full ones, so that a push touches one `Vec` and no list of
//! them. Rejected: raw slots without a length per chunk (saves 24 bytes a chunk, costs the safety).

mod growth;
mod iter;

#[cfg(test)]
mod tests;

pub use growth::{Doubling, Fixed, Growth};
pub use iter::{Chunks, Iter};

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The head of a list when nobody says otherwise, in elements.
pub const DEFAULT_HEAD: usize = 128;

/// A list in chunks: lazy, growing without copying, indexed in constant time.
///
/// ```
/// use filbert_pool::ChunkedList;
///
/// let mut list = ChunkedList::new();
/// assert_eq!(list.capacity(), 0, "nothing is allocated yet");
/// list.extend(0..1000u64);
/// assert_eq!(list[777], 777);
/// assert_eq!(list.chunks().map(|chunk| chunk.len()).collect::<Vec<_>>(), [128, 256, 512, 104]);
/// assert_eq!(list.freeze().len(), 1000);
/// ```
pub struct ChunkedList<T, G: Growth = Doubling> {
    /// Chunks that are full, in order.
    full: Vec<Vec<T>>,
    /// The chunk that grows.
    last: Vec<T>,
    /// How many elements `last` is meant for; 0 before the first push. Kept beside its capacity, which may be larger (and
    /// is without bound when `T` has no size).
    last_size: usize,
    /// How many elements lie before `last`.
    before: usize,
    /// The size of the head is 1 << this.
    head_bits: u32,
    growth: PhantomData<G>,
}

impl<T> ChunkedList<T> {
    /// An empty list with a head of 128 and tails that double. Allocates nothing.
    pub const fn new() -> Self {
        Self::with_bits(DEFAULT_HEAD.trailing_zeros())
    }

    /// An empty list whose head holds `head` elements, rounded up to a power of two, and whose tails double.
    ///
    /// # Panics
    /// When `head` is 0 or beyond half the address space.
    pub fn with_head(head: usize) -> Self {
        Self::with_bits(bits_of(head))
    }
}

impl<T> ChunkedList<T, Fixed> {
    /// An empty list of chunks of `size` elements each, rounded up to a power of two.
    ///
    /// # Panics
    /// When `size` is 0 or beyond half the address space.
    pub fn with_fixed_chunks(size: usize) -> Self {
        Self::with_bits(bits_of(size))
    }
}

fn bits_of(size: usize) -> u32 {
    assert!(size > 0, "a chunk needs room for at least one element; ask for a size of 1 or more");
    size.checked_next_power_of_two().expect("a chunk of that size fits no memory").trailing_zeros()
}

impl<T, G: Growth> ChunkedList<T, G> {
    const fn with_bits(head_bits: u32) -> Self {
        Self { full: Vec::new(), last: Vec::new(), last_size: 0, before: 0, head_bits, growth: PhantomData }
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.before + self.last.len()
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements fit into the chunks that are allocated.
    pub fn capacity(&self) -> usize {
        self.before + self.last_size
    }

    /// How many bytes the list has allocated, its own directory of chunks included.
    pub fn allocated_bytes(&self) -> usize {
        let of_chunk =
            |chunk: &Vec<T>| if size_of::<T>() == 0 { 0 } else { chunk.capacity() * size_of::<T>() };
        let chunks: usize = self.full.iter().chain([&self.last]).map(of_chunk).sum();
        chunks + self.full.capacity() * size_of::<Vec<T>>()
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, element: T) {
        if self.last.len() == self.last_size {
            self.grow();
        }
        self.last.push(element);
    }

    /// The element at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        let (chunk, offset) = G::locate(index, self.head_bits);
        // A choice between two addresses, not a jump: half of the elements lie in the last chunk, and an access at
        // random would be mispredicted every other time.
        self.full.get(chunk).unwrap_or(&self.last).get(offset)
    }

    /// The element at `index`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let (chunk, offset) = G::locate(index, self.head_bits);
        self.full.get_mut(chunk).unwrap_or(&mut self.last).get_mut(offset)
    }

    /// All elements, in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self.chunks(), self.len())
    }

    /// All elements, chunk by chunk: the fastest way to read them all, since each is a slice.
    pub fn chunks(&self) -> Chunks<'_, T> {
        Chunks::new(&self.full, &self.last)
    }

    /// All elements, chunk by chunk, to be changed.
    pub fn chunks_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.full.iter_mut().chain([&mut self.last]).map(Vec::as_mut_slice).filter(|chunk| !chunk.is_empty())
    }

    /// Adds copies of all `elements`, a chunk's worth at a time.
    pub fn extend_from_slice(&mut self, mut elements: &[T])
    where
        T: Clone,
    {
        while !elements.is_empty() {
            if self.last.len() == self.last_size {
                self.grow();
            }
            let (now, later) = elements.split_at(elements.len().min(self.last_size - self.last.len()));
            self.last.extend_from_slice(now);
            elements = later;
        }
    }

    /// Drops all elements and gives their memory back.
    pub fn clear(&mut self) {
        *self = Self::with_bits(self.head_bits);
    }

    /// Gives the unused part of the last chunk back. A later push takes it again, which copies that chunk.
    pub fn compact(&mut self) {
        self.full.shrink_to_fit();
        self.last.shrink_to_fit();
    }

    /// All elements in one piece. Copies each once, or none when they fit into the head.
    pub fn freeze(self) -> Box<[T]> {
        if self.full.is_empty() {
            return self.last.into_boxed_slice();
        }
        let mut all = Vec::with_capacity(self.len());
        for mut chunk in self.full {
            all.append(&mut chunk);
        }
        all.extend(self.last);
        all.into_boxed_slice()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let chunk = if self.last_size == 0 { 0 } else { self.full.len() + 1 };
        let size = G::chunk_size(chunk, self.head_bits);
        let filled = std::mem::replace(&mut self.last, Vec::with_capacity(size));
        if self.last_size > 0 {
            self.before += filled.len();
            self.full.push(filled);
        }
        self.last_size = size;
    }
}

impl<T: Clone, G: Growth> Clone for ChunkedList<T, G> {
    fn clone(&self) -> Self {
        // A cloned `Vec` has no room to spare, and the copy must grow as the original does.
        let mut last = Vec::with_capacity(self.last_size);
        last.extend_from_slice(&self.last);
        Self { full: self.full.clone(), last, ..*self }
    }
}

impl<T, G: Growth> Extend<T> for ChunkedList<T, G> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        let mut elements = elements.into_iter();
        loop {
            let room = self.last_size - self.last.len();
            self.last.extend(elements.by_ref().take(room));
            if self.last.len() < self.last_size {
                return;
            }
            // A chunk is made only for an element that is there.
            let Some(element) = elements.next() else { return };
            self.push(element);
        }
    }
}

impl<T> FromIterator<T> for ChunkedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::new();
        list.extend(elements);
        list
    }
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, G: Growth> Index<usize> for ChunkedList<T, G> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => out_of_range(index, self.len()),
        }
    }
}

impl<T, G: Growth> IndexMut<usize> for ChunkedList<T, G> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let length = self.len();
        match self.get_mut(index) {
            Some(element) => element,
            None => out_of_range(index, length),
        }
    }
}

#[cold]
#[inline(never)]
fn out_of_range(index: usize, length: usize) -> ! {
    panic!("there is no element {index} in a list of {length}")
}

impl<'a, T, G: Growth> IntoIterator for &'a ChunkedList<T, G> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T, G: Growth> IntoIterator for ChunkedList<T, G> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        let mut chunks = self.full;
        chunks.push(self.last);
        chunks.into_iter().flatten()
    }
}

impl<T: std::fmt::Debug, G: Growth> std::fmt::Debug for ChunkedList<T, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: PartialEq, G: Growth, H: Growth> PartialEq<ChunkedList<T, H>> for ChunkedList<T, G> {
    fn eq(&self, other: &ChunkedList<T, H>) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<T: Eq, G: Growth> Eq for ChunkedList<T, G> {}
