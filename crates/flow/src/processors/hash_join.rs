//! The hash join for DAGs: the small side at ordinal 0, complete before the first item of the large side at ordinal 1.

use super::fused::{finish, transform_all};
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, ProcessorContext, Share, Step};
use crate::signature::Many;
use crate::transform::{Inner, JoinTable, Joined, LeftOuter, Probing, Recipe, Side, Transform};
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

/// Joins every item at ordinal 1 with all items at ordinal 0 that have the same key; those without are dropped.
///
/// The edge at ordinal 0 has a lower [priority](crate::Edge::priority) number and brings what each processor needs: by broadcast, or
/// both edges are partitioned by the key.
///
/// The key functions are pure: the same key for the same item, whenever they are asked; that may be more than once.
pub fn hash_join<A, V, K, B, F, G, J>(
    key: F,
    key_of_small: G,
    join: J,
) -> impl MetaSupplier<Processor = HashJoin<V, K, G, impl Transform<A, Out = B>, A>>
where
    A: Clone + Send + 'static,
    V: Send + Sync + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    B: Send + 'static,
    F: Fn(&A) -> K + Clone + Send + Sync + 'static,
    G: Fn(&V) -> K + Clone + Send + Sync + 'static,
    J: Fn(A, &V) -> B + Clone + Send + Sync + 'static,
{
    joining(key, key_of_small, Inner(join))
}

/// As [`hash_join`], but an item without a match is joined with `None`.
pub fn hash_join_left<A, V, K, B, F, G, J>(
    key: F,
    key_of_small: G,
    join: J,
) -> impl MetaSupplier<Processor = HashJoin<V, K, G, impl Transform<A, Out = B>, A>>
where
    A: Clone + Send + 'static,
    V: Send + Sync + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    B: Send + 'static,
    F: Fn(&A) -> K + Clone + Send + Sync + 'static,
    G: Fn(&V) -> K + Clone + Send + Sync + 'static,
    J: Fn(A, Option<&V>) -> B + Clone + Send + Sync + 'static,
{
    joining(key, key_of_small, LeftOuter(join))
}

fn joining<A, V, K, F, G, J>(
    key: F,
    key_of_small: G,
    joined: J,
) -> impl MetaSupplier<Processor = HashJoin<V, K, G, impl Transform<A, Out = J::Out>, A>>
where
    A: Clone + Send + 'static,
    V: Send + Sync + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    F: Fn(&A) -> K + Clone + Send + Sync + 'static,
    G: Fn(&V) -> K + Clone + Send + Sync + 'static,
    J: Joined<A, V>,
{
    let probing = Probing::<K, V, F, J>::new(key, joined);
    move |share: Share| HashJoin {
        key_of_small: key_of_small.clone(),
        table: Some(JoinTable::new()),
        probe: probing.transform(share),
        _large: PhantomData,
    }
}

/// The processor of [`hash_join`].
pub struct HashJoin<V, K, G, X, A> {
    key_of_small: G,
    /// While it is being built.
    table: Option<JoinTable<K, V>>,
    probe: X,
    _large: PhantomData<fn(A)>,
}

impl<V, K, G, X, A> Processor for HashJoin<V, K, G, X, A>
where
    A: Send + 'static,
    V: Send + Sync + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    G: Fn(&V) -> K + Send + 'static,
    X: Transform<A>,
{
    type In = (V, A);
    type Out = Many<X::Out>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.probe.init(context);
        Ok(())
    }

    fn process(
        &mut self,
        inbox: &mut Inbox<(V, A)>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        match (inbox.ordinal(), &mut self.table) {
            (1, None) => {
                transform_all(inbox.at::<1>(), &mut self.probe, outbox);
            }
            (1, Some(_)) => {
                let advice = "an item of the large side came before the small side was complete; \
                              give the edge at ordinal 0 a lower priority number than the edge at ordinal 1";
                return Err(advice.into());
            }
            (_, table) => {
                if let Some(table) = table {
                    inbox.at::<0>().drain().for_each(|item| table.insert((self.key_of_small)(&item), item));
                }
            }
        }
        Ok(Step::Again)
    }

    fn wants_call(&mut self) -> bool {
        // Before the table is complete a call would be one for the small side.
        self.table.is_none() && (self.probe.is_suspended() || self.probe.is_due())
    }

    fn complete_edge(&mut self, ordinal: usize, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if let Some(table) = self.table.take_if(|_| ordinal == 0) {
            let side: Side = Arc::new(table);
            self.probe.supply(&side);
        }
        Ok(Step::Done)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        Ok(finish(&mut self.probe, outbox))
    }

    fn held_bytes(&self) -> usize {
        self.table.as_ref().map_or(0, JoinTable::bytes) + self.probe.held_bytes()
    }
}
