//! How a list grows, and where that puts an element.

/// How large the chunks of a list are. Sealed: [`Doubling`] and [`Fixed`].
pub trait Growth: sealed::Sealed {
    /// The size of a chunk.
    #[doc(hidden)]
    fn chunk_size(chunk: usize, head_bits: u32) -> usize;

    /// The chunk of an element that is in the list, and where in it.
    #[doc(hidden)]
    fn locate(index: usize, head_bits: u32) -> (usize, usize);
}

/// Each chunk is twice the size of the one before.
#[derive(Debug, Clone, Copy)]
pub struct Doubling;

/// All chunks have the same size.
#[derive(Debug, Clone, Copy)]
pub struct Fixed;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Doubling {}
    impl Sealed for super::Fixed {}
}

impl Growth for Doubling {
    #[inline]
    fn chunk_size(chunk: usize, head_bits: u32) -> usize {
        1 << (head_bits as usize + chunk)
    }

    #[inline]
    fn locate(index: usize, head_bits: u32) -> (usize, usize) {
        // Chunk k holds the elements whose index plus head lies in head << k .. head << (k + 1). The sum does not wrap
        // for an index that is in a list, and is never 0; the lowest bit, which says so to the compiler, is never the
        // highest unless the sum is 1.
        let shifted = index.wrapping_add(1 << head_bits);
        let top = usize::BITS - 1 - (shifted | 1).leading_zeros();
        ((top - head_bits) as usize, shifted & !(1 << top))
    }
}

impl Growth for Fixed {
    #[inline]
    fn chunk_size(_chunk: usize, head_bits: u32) -> usize {
        1 << head_bits
    }

    #[inline]
    fn locate(index: usize, head_bits: u32) -> (usize, usize) {
        (index >> head_bits, index & ((1 << head_bits) - 1))
    }
}
