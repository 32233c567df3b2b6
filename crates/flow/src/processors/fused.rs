//! Processors that run a [`Transform`]: over their inbox, or over what another processor emits.
//!
//! ```text
//!   Transforming:  inbox ──► transform ──► outbox
//!   Fused:         inbox ──► processor ──► kept outbox ──► transform ──► outbox
//! ```
//!
//! [`Fused`] takes any processor as it is, a source above all: what it emits in one call stays in an outbox that leads nowhere, a slice of
//! at most [`SLICE`] items that is still in the cache when the transform reads it. Nothing is queued, no other thread is woken.

use crate::inbox::{Inbox, Items};
use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, ProcessorContext, Share, Step, Supplier};
use crate::signature::Many;
use crate::transform::{Recipe, Room, Supply, Transform, drive};
use std::marker::PhantomData;
use std::sync::Arc;
use std::vec::IntoIter;

/// How many items the inner processor of [`Fused`] may emit in one call.
const SLICE: usize = 1024;
/// How many slices that put nothing into the outbox are made in one call.
const SLICES: usize = 4;

/// A vertex that does with its items what `recipe` says.
pub fn transform<A, X>(recipe: X) -> impl MetaSupplier<Processor = Transforming<A, X::Transform>>
where
    A: Send + 'static,
    X: Recipe<A>,
{
    move |share| Transforming { transform: recipe.transform(share), _item: PhantomData }
}

impl<T> Supply<T> for Items<T> {
    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.pop()
    }

    #[inline(always)]
    fn next_many(&mut self, most: usize, each: impl FnMut(T)) -> usize {
        let items = self.take(most);
        let count = items.len();
        items.for_each(each);
        count
    }
}

impl<T> Supply<T> for IntoIter<T> {
    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        Iterator::next(self)
    }

    #[inline(always)]
    fn next_many(&mut self, most: usize, each: impl FnMut(T)) -> usize {
        let before = self.len();
        self.by_ref().take(most).for_each(each);
        before - self.len()
    }
}

/// Pushes all items that there is room for; true when none are left.
#[inline]
pub(super) fn transform_all<A, X: Transform<A>>(
    items: &mut impl Supply<A>,
    transform: &mut X,
    outbox: &mut Outbox<Many<X::Out>>,
) -> bool {
    outbox.stage(|slice, room| drive(items, transform, &mut Room::new(slice, room)))
}

/// Puts what the transform kept.
pub(super) fn finish<A, X: Transform<A>>(transform: &mut X, outbox: &mut Outbox<Many<X::Out>>) -> Step {
    let is_done = outbox.stage(|slice, room| transform.finish(&mut Room::new(slice, room)));
    if is_done { Step::Done } else { Step::Again }
}

/// The processor of [`transform`].
pub struct Transforming<A, X> {
    transform: X,
    _item: PhantomData<fn(A)>,
}

impl<A: Send + 'static, X: Transform<A>> Processor for Transforming<A, X> {
    type In = Many<A>;
    type Out = Many<X::Out>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.transform.init(context);
        Ok(())
    }

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<A>>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        transform_all(inbox.items(), &mut self.transform, outbox);
        Ok(Step::Again)
    }

    fn wants_call(&mut self) -> bool {
        self.transform.is_suspended() || self.transform.is_due()
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        Ok(finish(&mut self.transform, outbox))
    }

    fn held_bytes(&self) -> usize {
        self.transform.held_bytes()
    }
}

/// A processor and what is done with its items, in one.
pub struct Fused<P, A, X>
where
    P: Processor<Out = Many<A>>,
    A: Send + 'static,
{
    inner: P,
    kept: Outbox<Many<A>>,
    /// Emitted by the inner one, not yet pushed.
    items: IntoIter<A>,
    pub(super) transform: X,
    is_complete: bool,
}

impl<P, A, X> Fused<P, A, X>
where
    P: Processor<Out = Many<A>>,
    A: Send + 'static,
    X: Transform<A>,
{
    pub(crate) fn new(inner: P, transform: X) -> Self {
        let kept = Outbox::kept(SLICE);
        Self { inner, kept, items: Vec::new().into_iter(), transform, is_complete: false }
    }

    /// True when something is to be pushed before the inner one is called. If not, the transform must not hear of a want of items: the inner
    /// one has not been asked yet.
    #[inline]
    fn has_left(&self) -> bool {
        !self.items.as_slice().is_empty() || self.transform.is_suspended()
    }

    /// Pushes what the inner one emitted; true when all of it is through.
    #[inline]
    fn push(&mut self, outbox: &mut Outbox<Many<X::Out>>) -> bool {
        transform_all(&mut self.items, &mut self.transform, outbox)
    }

    fn take_kept(&mut self) {
        self.items = self.kept.take_kept().into_iter();
    }

    /// What to say when the inner one said `step` and its items were pushed, or not all of them.
    fn say(step: Step, is_through: bool) -> Step {
        if step == Step::Wait && !is_through { Step::Again } else { step }
    }
}

impl<P, A, X> Processor for Fused<P, A, X>
where
    P: Processor<Out = Many<A>>,
    A: Send + 'static,
    X: Transform<A>,
{
    type In = P::In;
    type Out = Many<X::Out>;

    const IS_COOPERATIVE: bool = P::IS_COOPERATIVE;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.transform.init(context);
        self.inner.init(context)
    }

    fn process(&mut self, inbox: &mut Inbox<P::In>, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if self.has_left() && !self.push(outbox) {
            return Ok(Step::Again);
        }
        let step = self.inner.process(inbox, &mut self.kept)?;
        self.take_kept();
        let is_through = self.push(outbox);
        Ok(Self::say(step, is_through))
    }

    fn wants_call(&mut self) -> bool {
        self.has_left() || self.transform.is_due() || self.inner.wants_call()
    }

    fn complete_edge(&mut self, ordinal: usize, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if self.has_left() && !self.push(outbox) {
            return Ok(Step::Again);
        }
        let step = self.inner.complete_edge(ordinal, &mut self.kept)?;
        self.take_kept();
        let is_through = self.push(outbox);
        Ok(Self::say(step, is_through))
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if !self.is_complete {
            let (inner, transform) = (&mut self.inner, &mut self.transform);
            let through =
                outbox.stage(|slice, room| inner.complete_through(transform, &mut Room::new(slice, room)));
            if let Some(step) = through {
                let step = step?;
                self.is_complete = step == Step::Done;
                return Ok(if self.is_complete { finish(&mut self.transform, outbox) } else { step });
            }
        }
        let room = outbox.room();
        for _ in 0..SLICES {
            if self.has_left() && !self.push(outbox) {
                return Ok(Step::Again);
            }
            if self.is_complete {
                return Ok(finish(&mut self.transform, outbox));
            }
            let step = self.inner.complete(&mut self.kept)?;
            self.is_complete = step == Step::Done;
            self.take_kept();
            let is_through = self.push(outbox);
            if step == Step::Wait {
                return Ok(Self::say(step, is_through));
            }
            if outbox.room() < room {
                break;
            }
        }
        Ok(Step::Again)
    }

    fn held_bytes(&self) -> usize {
        self.inner.held_bytes() + self.transform.held_bytes()
    }

    fn outlives_consumers(&self) -> bool {
        self.inner.outlives_consumers()
    }
}

/// Makes the processors of a meta-supplier, each with a transform.
pub(crate) struct FusedMeta<M, X> {
    pub(crate) meta: Arc<M>,
    pub(crate) recipe: X,
}

/// The supplier of [`FusedMeta`].
pub(crate) struct FusedSupplier<S, X> {
    supplier: S,
    recipe: X,
}

impl<M, A, X> MetaSupplier for FusedMeta<M, X>
where
    M: MetaSupplier,
    M::Processor: Processor<Out = Many<A>>,
    A: Send + 'static,
    X: Recipe<A>,
{
    type Processor = Fused<M::Processor, A, X::Transform>;
    type Supplier = FusedSupplier<M::Supplier, X>;

    fn supplier(&self, share: Share) -> Result<Self::Supplier, Failure> {
        Ok(FusedSupplier { supplier: self.meta.supplier(share)?, recipe: self.recipe.clone() })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        self.meta.preferred_parallelism()
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        // Of other items nothing is known.
        if X::IS_IDENTITY { self.meta.preferred_queue_size() } else { None }
    }
}

impl<S, A, X> Supplier for FusedSupplier<S, X>
where
    S: Supplier,
    S::Processor: Processor<Out = Many<A>>,
    A: Send + 'static,
    X: Recipe<A>,
{
    type Processor = Fused<S::Processor, A, X::Transform>;

    const CLOSES: bool = S::CLOSES;

    fn processor(&mut self, share: Share) -> Result<Self::Processor, Failure> {
        Ok(Fused::new(self.supplier.processor(share)?, self.recipe.transform(share)))
    }

    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        self.supplier.close(is_completed)
    }
}

/// A meta-supplier that is used by several DAGs, or with another parallelism.
pub(crate) struct SharedMeta<M>(pub(crate) Arc<M>);

impl<M: MetaSupplier> MetaSupplier for SharedMeta<M> {
    type Processor = M::Processor;
    type Supplier = M::Supplier;

    fn supplier(&self, share: Share) -> Result<M::Supplier, Failure> {
        self.0.supplier(share)
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        self.0.preferred_parallelism()
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        self.0.preferred_queue_size()
    }
}

/// The same vertex, with so many processors per member unless the DAG says otherwise.
///
/// ```
/// use filbert_flow::processors::{Collected, collect, with_parallelism};
/// // One processor: the list has the order in which items came.
/// let list = Collected::<u64>::new();
/// let sink = with_parallelism(1, collect(&list));
/// ```
pub fn with_parallelism<M: MetaSupplier>(
    processors: usize,
    meta: M,
) -> impl MetaSupplier<Processor = M::Processor> {
    WithParallelism { meta, processors }
}

struct WithParallelism<M> {
    meta: M,
    processors: usize,
}

impl<M: MetaSupplier> MetaSupplier for WithParallelism<M> {
    type Processor = M::Processor;
    type Supplier = M::Supplier;

    fn supplier(&self, share: Share) -> Result<M::Supplier, Failure> {
        self.meta.supplier(share)
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(self.processors)
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        self.meta.preferred_queue_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestSupport;
    use crate::aggregate::count;
    use crate::processors::iterate;
    use crate::transform::{Accumulating, ByItem, Filtering, FlatMapping, Mapping, Then};

    /// Emits the numbers below so many, a few in each call, and is a source like any other.
    struct Slowly(u64, u64);

    impl Processor for Slowly {
        type In = ();
        type Out = Many<u64>;

        fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            let end = (self.0 + 3).min(self.1);
            outbox.emit_from(&mut (self.0..end).inspect(|n| self.0 = n + 1));
            Ok(if self.0 == self.1 { Step::Done } else { Step::Again })
        }
    }

    fn chain() -> impl Recipe<u64, Out = u64> {
        let repeat = FlatMapping(|n: u64| std::iter::repeat_n(n, n as usize % 4));
        Then::new(Then::new(Mapping(|n: u64| n + 1), repeat), Filtering(|n: &u64| !n.is_multiple_of(3)))
    }

    fn expected() -> Vec<u64> {
        (1..=50).flat_map(|n| std::iter::repeat_n(n, n as usize % 4)).filter(|n| n % 3 != 0).collect()
    }

    fn processor<M: MetaSupplier>(meta: &M, share: Share) -> M::Processor {
        meta.supplier(share).and_then(|mut supplier| supplier.processor(share)).unwrap()
    }

    #[test]
    fn a_source_and_its_steps_are_one_processor() {
        let slowly = FusedMeta { meta: Arc::new(|_: Share| Slowly(0, 50)), recipe: chain() };
        TestSupport::new(move |share| processor(&slowly, share)).expect(expected());
        // The source that needs no outbox in between.
        let numbers = FusedMeta { meta: Arc::new(iterate(|_| 0..50_u64)), recipe: chain() };
        TestSupport::new(move |share| processor(&numbers, share)).expect(expected());
    }

    #[test]
    fn what_a_source_accumulates_comes_in_the_end() {
        let recipe = Then::new(chain(), Accumulating { keying: ByItem, aggregate: count() });
        let counts = FusedMeta { meta: Arc::new(iterate(|_| 0..50_u64)), recipe };
        let expected = (1..=50).filter(|n| n % 3 != 0 && n % 4 != 0).map(|n| (n, n % 4)).collect();
        TestSupport::new(move |share| processor(&counts, share)).expect_in_any_order(expected);
    }
}
