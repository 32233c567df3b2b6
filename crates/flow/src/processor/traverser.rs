//! A lazy sequence of items that is emitted bit by bit.
//!
//! The contract of Jet's traverser (each call gives the next item, and after the end it keeps saying so) is what [`Iterator`] says, but for
//! the last part: an iterator may begin again after its end. Every fused iterator is a traverser, and [`TraverserExt`] makes
//! one of any other. The adapters are those of `Iterator` itself.

use std::iter::FusedIterator;

/// An iterator that keeps saying that it is over: what flat mappers and sources yield from.
///
/// It may be asked a few items now and the rest much later, on another thread.
///
/// ```
/// use filbert_flow::{Traverser, TraverserExt};
/// fn takes(_: impl Traverser<Item = u32>) {}
/// takes((0..10).map(|n| n * 2).filter(|n| n % 3 == 0));
/// let mut left = 3;
/// takes(std::iter::from_fn(move || { left -= 1; (left > 0).then_some(left) }).traverse());
/// ```
pub trait Traverser: FusedIterator + Send + 'static {}

impl<I: FusedIterator + Send + 'static> Traverser for I {}

/// Makes a traverser of any iterator.
pub trait TraverserExt: Iterator + Sized {
    /// The same items, and after the end nothing more.
    fn traverse(self) -> std::iter::Fuse<Self> {
        self.fuse()
    }
}

impl<I: Iterator> TraverserExt for I {}
