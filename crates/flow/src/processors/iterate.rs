//! A source from iterators: one for each processor.

use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, Share, Step};
use crate::signature::Many;
use crate::transform::{Room, Transform, Yielded, drive};

/// Emits what `items` yields; each processor asks for an iterator of its own, for its share.
///
/// ```
/// use filbert_flow::processors::iterate;
/// // Every processor emits its part of the range.
/// let numbers = iterate(|share| share.part_of(0..1_000_000));
/// ```
pub fn iterate<I>(
    items: impl Fn(Share) -> I + Clone + Send + Sync + 'static,
) -> impl MetaSupplier<Processor = Iterate<I::IntoIter>>
where
    I: IntoIterator,
    I::IntoIter: Send + 'static,
    I::Item: Send + 'static,
{
    move |share| Iterate { items: Some(items(share).into_iter()) }
}

/// The processor of [`iterate`].
pub struct Iterate<I> {
    /// None only during a call.
    items: Option<I>,
}

impl<I> Processor for Iterate<I>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
{
    type In = ();
    type Out = Many<I::Item>;

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let Some(items) = &mut self.items else { return Ok(Step::Done) };
        Ok(if outbox.emit_from(items) { Step::Done } else { Step::Again })
    }

    #[inline]
    fn complete_through<X: Transform<I::Item>>(
        &mut self,
        transform: &mut X,
        to: &mut Room<'_, X::Out>,
    ) -> Option<Result<Step, Failure>> {
        // On the stack, a range lives in registers; here it would be stored for every item.
        let Some(mut items) = self.items.take() else { return Some(Ok(Step::Done)) };
        let is_over = drive(&mut Yielded(&mut items), transform, to);
        self.items = Some(items);
        Some(Ok(if is_over { Step::Done } else { Step::Again }))
    }
}
