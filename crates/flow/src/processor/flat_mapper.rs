//! Many results per item, emitted as far as there is room, and the rest in later calls.

use super::{Step, Tried};
use crate::outbox::Outbox;
use crate::signature::Many;
use std::marker::PhantomData;

/// Maps an item to a sequence and emits it, suspending when the outbox is full. A part of processors that do so.
///
/// ```
/// use filbert_flow::{Failure, FlatMapper, Many, OneItem, Outbox, Step, Tried};
///
/// /// Emits every number and its successor.
/// struct AndSuccessor { mapper: FlatMapper<u64, std::ops::RangeInclusive<u64>, fn(u64) -> std::ops::RangeInclusive<u64>> }
///
/// impl OneItem for AndSuccessor {
///     type Item = u64;
///     type Out = Many<u64>;
///
///     fn try_process(&mut self, _ordinal: usize, item: u64, outbox: &mut Outbox<Many<u64>>) -> Result<Tried<u64>, Failure> {
///         Ok(self.mapper.try_process(item, outbox))
///     }
///
///     fn resume(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<(), Failure> {
///         self.mapper.resume(outbox);
///         Ok(())
///     }
///
///     fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
///         Ok(self.mapper.complete(outbox))
///     }
/// }
///
/// let processor = AndSuccessor { mapper: FlatMapper::new(|n| n..=n + 1) };
/// ```
pub struct FlatMapper<A, I, F> {
    map: F,
    current: Option<I>,
    _item: PhantomData<fn(A)>,
}

impl<A, I: Iterator, F: FnMut(A) -> I> FlatMapper<A, I, F> {
    /// A mapper that is in the middle of nothing.
    pub fn new(map: F) -> Self {
        Self { map, current: None, _item: PhantomData }
    }

    /// Emits what is left of earlier items, then maps this one and emits what there is room for. The item comes back when there is no room
    /// for what is left of earlier ones.
    #[inline]
    pub fn try_process(&mut self, item: A, outbox: &mut Outbox<Many<I::Item>>) -> Tried<A>
    where
        I::Item: Send + 'static,
    {
        if !self.resume(outbox) {
            return Tried::Later(item);
        }
        self.current = Some((self.map)(item));
        self.resume(outbox);
        Tried::Done
    }

    /// Emits what is left while there is room. True when nothing is left. What a processor calls when it is called without items.
    #[inline]
    pub fn resume(&mut self, outbox: &mut Outbox<Many<I::Item>>) -> bool
    where
        I::Item: Send + 'static,
    {
        if let Some(current) = &mut self.current {
            if !outbox.emit_from(current) {
                return false;
            }
            self.current = None;
        }
        true
    }

    /// What a processor says in `complete`: emits what is left of the last item.
    pub fn complete(&mut self, outbox: &mut Outbox<Many<I::Item>>) -> Step
    where
        I::Item: Send + 'static,
    {
        if self.resume(outbox) { Step::Done } else { Step::Again }
    }
}
