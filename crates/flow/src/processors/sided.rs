//! Processors that run a [`Transform`] after they have got its side, the table of a join: over their inbox, or over what a source emits.
//!
//! ```text
//!   Sided:        side ──► (first)          items ──► transform ──► outbox
//!   SidedSource:  side ──► (first)   source.complete() ──► transform ──► outbox
//! ```
//!
//! A source beside a table needs no edge to it: it is asked for items only when all edges have ended, and the only edge is that of the
//! side. So the many items of a join cross no queue, and none is made that would have to wait for the table.
//!
//! Rejected: a source that fills its queues while the table is being made. What it gains ends when they are full, and each of its items would pay
//! for it with two copies and a change of threads.

use super::fused::{Fused, FusedMeta, FusedSupplier, finish, transform_all};
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, ProcessorContext, Share, Step, Supplier};
use crate::signature::Many;
use crate::transform::{Recipe, Side, Transform};
use std::marker::PhantomData;

/// A vertex that does with its items what `recipe` says, when it has got its side.
pub(crate) fn sided<A, X>(recipe: X) -> impl MetaSupplier<Processor = Sided<A, X::Transform>>
where
    A: Send + 'static,
    X: Recipe<A>,
{
    move |share| Sided { transform: recipe.transform(share), is_supplied: false, _item: PhantomData }
}

/// The processor of a vertex with a side: items at ordinal 0, the side at ordinal 1, with a lower priority number.
pub struct Sided<A, X> {
    transform: X,
    /// The side has come: before, a call without items would be one for the side.
    is_supplied: bool,
    _item: PhantomData<fn(A)>,
}

impl<A: Send + 'static, X: Transform<A>> Processor for Sided<A, X> {
    type In = (A, Side);
    type Out = Many<X::Out>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.transform.init(context);
        Ok(())
    }

    fn process(
        &mut self,
        inbox: &mut Inbox<(A, Side)>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        if inbox.ordinal() == 1 {
            inbox.at::<1>().drain().for_each(|side| self.transform.supply(&side));
        } else {
            transform_all(inbox.at::<0>(), &mut self.transform, outbox);
        }
        Ok(Step::Again)
    }

    fn wants_call(&mut self) -> bool {
        self.is_supplied && (self.transform.is_suspended() || self.transform.is_due())
    }

    fn complete_edge(&mut self, ordinal: usize, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        self.is_supplied |= ordinal == 1;
        Ok(Step::Done)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        Ok(finish(&mut self.transform, outbox))
    }

    fn held_bytes(&self) -> usize {
        self.transform.held_bytes()
    }
}

/// The processor of a vertex with a side that is the source of its own items.
pub struct SidedSource<P, A, X>(Fused<P, A, X>)
where
    P: Processor<In = (), Out = Many<A>>,
    A: Send + 'static;

impl<P, A, X> Processor for SidedSource<P, A, X>
where
    P: Processor<In = (), Out = Many<A>>,
    A: Send + 'static,
    X: Transform<A>,
{
    type In = Many<Side>;
    type Out = Many<X::Out>;

    const IS_COOPERATIVE: bool = P::IS_COOPERATIVE;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.init(context)
    }

    fn process(&mut self, inbox: &mut Inbox<Many<Side>>, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        inbox.drain().for_each(|side| self.0.transform.supply(&side));
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        self.0.complete(outbox)
    }

    fn held_bytes(&self) -> usize {
        self.0.held_bytes()
    }

    fn outlives_consumers(&self) -> bool {
        self.0.outlives_consumers()
    }
}

/// Makes the processors of a source, each with a transform that gets a side.
pub(crate) struct SidedSourceMeta<M, X>(pub(crate) FusedMeta<M, X>);

/// The supplier of [`SidedSourceMeta`].
pub(crate) struct SidedSourceSupplier<S, X>(FusedSupplier<S, X>);

impl<M, A, X> MetaSupplier for SidedSourceMeta<M, X>
where
    M: MetaSupplier,
    M::Processor: Processor<In = (), Out = Many<A>>,
    A: Send + 'static,
    X: Recipe<A>,
{
    type Processor = SidedSource<M::Processor, A, X::Transform>;
    type Supplier = SidedSourceSupplier<M::Supplier, X>;

    fn supplier(&self, share: Share) -> Result<Self::Supplier, Failure> {
        Ok(SidedSourceSupplier(self.0.supplier(share)?))
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        self.0.preferred_parallelism()
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        self.0.preferred_queue_size()
    }
}

impl<S, A, X> Supplier for SidedSourceSupplier<S, X>
where
    S: Supplier,
    S::Processor: Processor<In = (), Out = Many<A>>,
    A: Send + 'static,
    X: Recipe<A>,
{
    type Processor = SidedSource<S::Processor, A, X::Transform>;

    const CLOSES: bool = FusedSupplier::<S, X>::CLOSES;

    fn processor(&mut self, share: Share) -> Result<Self::Processor, Failure> {
        Ok(SidedSource(self.0.processor(share)?))
    }

    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        self.0.close(is_completed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestSupport;
    use crate::processors::{iterate, transform};
    use crate::transform::{Inner, JoinTable, Mapping, Probing, TableBuilding, Then};
    use std::sync::Arc;

    fn processor<M: MetaSupplier>(meta: &M, share: Share) -> M::Processor {
        meta.supplier(share).and_then(|mut supplier| supplier.processor(share)).unwrap()
    }

    fn probing() -> impl Recipe<u64, Out = (u64, u64)> {
        let probing = Probing::<u64, (u64, u64), _, _>::new(
            |n: &u64| *n % 7,
            Inner(|n: u64, other: &(u64, u64)| (n, other.1)),
        );
        Then::new(Mapping(|n: u64| n + 1), probing)
    }

    fn side() -> Side {
        let mut table = JoinTable::new();
        (0..10_u64).for_each(|n| table.insert(n % 5, (n % 5, n)));
        Arc::new(table)
    }

    fn expected() -> Vec<(u64, u64)> {
        let matches = |n: u64| [(n, n % 7), (n, n % 7 + 5)].into_iter().filter(move |_| n % 7 < 5);
        (1..=200).flat_map(matches).collect()
    }

    #[test]
    fn a_table_of_nothing_is_a_table() {
        let table = || transform::<u64, _>(TableBuilding { key: |n: &u64| *n });
        TestSupport::new(move |share| processor(&table(), share)).input(Vec::new()).expect_each(
            |_, mut emitted| {
                assert_eq!(emitted.take::<Side>(0).len(), 1);
            },
        );
        let probing = Probing::<u64, u64, _, _>::new(|n: &u64| *n, Inner(|n: u64, _: &u64| n));
        let joined = move |share| processor(&sided(probing.clone()), share);
        TestSupport::new(joined).input(vec![1, 2, 3]).input_at::<1>(Vec::new()).expect(Vec::new());
    }

    #[test]
    fn a_source_looks_into_its_side() {
        // A source of ours, which needs no outbox in between, and any other.
        let source =
            || SidedSourceMeta(FusedMeta { meta: Arc::new(iterate(|_| 0..200_u64)), recipe: probing() });
        TestSupport::new(move |share| processor(&source(), share)).input(vec![side()]).expect(expected());
        let slow = |_: Share| Slowly { next: 0, end: 200 };
        let source = move || SidedSourceMeta(FusedMeta { meta: Arc::new(slow), recipe: probing() });
        TestSupport::new(move |share| processor(&source(), share)).input(vec![side()]).expect(expected());
    }

    /// Emits a few numbers in each call.
    struct Slowly {
        next: u64,
        end: u64,
    }

    impl Processor for Slowly {
        type In = ();
        type Out = Many<u64>;

        fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            let end = (self.next + 3).min(self.end);
            outbox.emit_from(&mut (self.next..end).inspect(|n| self.next = n + 1));
            Ok(if self.next == self.end { Step::Done } else { Step::Again })
        }
    }
}
