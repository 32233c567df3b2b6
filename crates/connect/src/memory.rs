//! Sources from what the program has in memory already.

use filbert_flow::processors::{Iterate, iterate};
use filbert_flow::{MetaSupplier, Share};
use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

/// Emits the items of a vector, each once; every processor has a part of them. Each job emits them anew.
///
/// ```
/// let colours = filbert_connect::memory::items(vec!["red", "green", "blue"]);
/// ```
pub fn items<T: Clone + Send + Sync + 'static>(
    items: impl Into<Arc<[T]>>,
) -> impl MetaSupplier<Processor = Iterate<Items<T>>> {
    let items: Arc<[T]> = items.into();
    iterate(move |share: Share| {
        let part = share.part_of(0..items.len() as u64);
        Items { items: Arc::clone(&items), left: part.start as usize..part.end as usize }
    })
}

/// Emits a range of numbers, each once; every processor has a part of it.
///
/// ```
/// let million = filbert_connect::memory::range(0..1_000_000);
/// ```
pub fn range(numbers: Range<u64>) -> impl MetaSupplier<Processor = Iterate<Range<u64>>> {
    iterate(move |share: Share| share.part_of(numbers.clone()))
}

/// A part of a shared vector.
#[derive(Debug)]
pub struct Items<T> {
    items: Arc<[T]>,
    left: Range<usize>,
}

impl<T: Clone> Iterator for Items<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left.next().map(|index| self.items[index].clone())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T: Clone> FusedIterator for Items<T> {}
