//! One item in; one, none or many out.

use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::processor::{Failure, FlatMapper, MetaSupplier, Processor, Step, Tried};
use crate::signature::Many;
use std::marker::PhantomData;

/// Emits `map` of every item.
pub fn map<A, B, F>(map: F) -> impl MetaSupplier<Processor = Map<A, F>>
where
    A: Send + 'static,
    B: Send + 'static,
    F: FnMut(A) -> B + Clone + Send + Sync + 'static,
{
    move |_| Map { map: map.clone(), _item: PhantomData }
}

/// Emits the items that `keep` says true of.
pub fn filter<T, F>(keep: F) -> impl MetaSupplier<Processor = Filter<T, F>>
where
    T: Send + 'static,
    F: FnMut(&T) -> bool + Clone + Send + Sync + 'static,
{
    move |_| Filter { keep: keep.clone(), _item: PhantomData }
}

/// Emits everything that `map` yields for an item. Suspends in the middle of it when the outbox is full.
pub fn flat_map<A, I, F>(
    map: F,
) -> impl MetaSupplier<Processor = FlatMap<A, I::IntoIter, impl FnMut(A) -> I::IntoIter>>
where
    A: Send + 'static,
    I: IntoIterator,
    I::IntoIter: Send + 'static,
    I::Item: Send + 'static,
    F: FnMut(A) -> I + Clone + Send + Sync + 'static,
{
    move |_| {
        let mut map = map.clone();
        FlatMap { mapper: FlatMapper::new(move |item| map(item).into_iter()) }
    }
}

/// The processor of [`map`].
pub struct Map<A, F> {
    map: F,
    _item: PhantomData<fn(A)>,
}

impl<A, B, F> Processor for Map<A, F>
where
    A: Send + 'static,
    B: Send + 'static,
    F: FnMut(A) -> B + Send + 'static,
{
    type In = Many<A>;
    type Out = Many<B>;

    fn process(&mut self, inbox: &mut Inbox<Many<A>>, outbox: &mut Outbox<Many<B>>) -> Result<Step, Failure> {
        if inbox.len() <= outbox.room() {
            outbox.emit_from(&mut inbox.drain().map(&mut self.map));
        } else {
            outbox.emit_from(&mut inbox.take(outbox.room()).map(&mut self.map));
        }
        Ok(Step::Again)
    }
}

/// The processor of [`filter`].
pub struct Filter<T, F> {
    keep: F,
    _item: PhantomData<fn(T)>,
}

impl<T, F> Processor for Filter<T, F>
where
    T: Send + 'static,
    F: FnMut(&T) -> bool + Send + 'static,
{
    type In = Many<T>;
    type Out = Many<T>;

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        if inbox.len() <= outbox.room() {
            outbox.emit_from(&mut inbox.drain().filter(&mut self.keep));
        } else {
            outbox.emit_from(&mut inbox.take(outbox.room()).filter(&mut self.keep));
        }
        Ok(Step::Again)
    }
}

/// The processor of [`flat_map`].
pub struct FlatMap<A, I, F> {
    mapper: FlatMapper<A, I, F>,
}

impl<A, I, F> Processor for FlatMap<A, I, F>
where
    A: Send + 'static,
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: FnMut(A) -> I + Send + 'static,
{
    type In = Many<A>;
    type Out = Many<I::Item>;

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<A>>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        // Also without items: what found no room before goes on when there is some.
        self.mapper.resume(outbox);
        while let Some(item) = inbox.pop() {
            if let Tried::Later(item) = self.mapper.try_process(item, outbox) {
                inbox.items().put_back(item);
                break;
            }
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        Ok(self.mapper.complete(outbox))
    }
}
