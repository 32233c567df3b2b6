//! Two streams grouped by the same key: what each has of it, side by side.

use crate::aggregate::Fold;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, Step};
use crate::signature::Many;
use crate::transform::{Drained, Groups, Keying};
use std::cell::Cell;
use std::marker::PhantomData;

const SEED: u64 = 0xc069_5eed;

/// Groups items of two edges by their keys and folds those of each edge: emits `(key, result of edge 0, result of edge 1)` for every key that one
/// of them has. Both edges must be partitioned by the key.
pub fn co_group<A, B, L, R, F, G>(
    left: (L, F),
    right: (R, G),
) -> impl MetaSupplier<Processor = CoGroup<A, B, L, R, F, G>>
where
    A: Send + 'static,
    B: Send + 'static,
    L: Keying<A>,
    R: Keying<B, Key = L::Key>,
    F: Fold<L::Value>,
    G: Fold<R::Value>,
{
    move |_| CoGroup {
        left: left.clone(),
        right: right.clone(),
        groups: Groups::new(SEED),
        leaving: None,
        grown: 0,
        _items: PhantomData,
    }
}

/// Groups that were not emitted yet.
type Leaving<K, A, B> = Drained<K, (A, B)>;

/// The processor of [`co_group`].
pub struct CoGroup<A, B, L, R, F, G>
where
    L: Keying<A>,
    R: Keying<B, Key = L::Key>,
    F: Fold<L::Value>,
    G: Fold<R::Value>,
{
    left: (L, F),
    right: (R, G),
    groups: Groups<L::Key, (F::Accumulator, G::Accumulator)>,
    leaving: Option<Leaving<L::Key, F::Accumulator, G::Accumulator>>,
    /// What accumulators have grown by.
    grown: usize,
    _items: PhantomData<fn(A, B)>,
}

impl<A, B, L, R, F, G> Processor for CoGroup<A, B, L, R, F, G>
where
    A: Send + 'static,
    B: Send + 'static,
    L: Keying<A>,
    R: Keying<B, Key = L::Key>,
    F: Fold<L::Value>,
    G: Fold<R::Value>,
{
    type In = (A, B);
    type Out = Many<(L::Key, F::Out, G::Out)>;

    fn process(&mut self, inbox: &mut Inbox<(A, B)>, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let ((left, fold), (right, other)) = (&self.left, &self.right);
        let new = || (fold.start(), other.start());
        let grown = Cell::new(self.grown);
        if inbox.ordinal() == 0 {
            for item in inbox.at::<0>().drain() {
                left.visit(
                    &mut self.groups,
                    None,
                    item,
                    new,
                    |pair, value| {
                        grown.set(grown.get() + fold.grows_by(&value));
                        fold.accumulate_owned(&mut pair.0, value);
                    },
                    |pair, value| {
                        grown.set(grown.get() + fold.grows_by(value));
                        fold.accumulate(&mut pair.0, value);
                    },
                );
            }
        } else {
            for item in inbox.at::<1>().drain() {
                right.visit(
                    &mut self.groups,
                    None,
                    item,
                    new,
                    |pair, value| {
                        grown.set(grown.get() + other.grows_by(&value));
                        other.accumulate_owned(&mut pair.1, value);
                    },
                    |pair, value| {
                        grown.set(grown.get() + other.grows_by(value));
                        other.accumulate(&mut pair.1, value);
                    },
                );
            }
        }
        self.grown = grown.get();
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if self.groups.len() > 0 {
            self.leaving = Some(self.groups.drain());
        }
        let Some(leaving) = &mut self.leaving else { return Ok(Step::Done) };
        let (fold, other) = (&self.left.1, &self.right.1);
        let finish = |(key, (one, two))| (key, fold.finish(one), other.finish(two));
        Ok(if outbox.emit_from(&mut leaving.map(finish)) { Step::Done } else { Step::Again })
    }

    fn held_bytes(&self) -> usize {
        self.groups.bytes() + self.leaving.as_ref().map_or(0, Drained::bytes) + self.grown
    }
}
