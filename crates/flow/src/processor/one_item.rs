//! Processors that take one item at a time: no loop over the inbox to write, none to suspend.

use super::{Failure, Processor, ProcessorContext, Step};
use crate::inbox::{Inbox, Items};
use crate::outbox::Outbox;
use crate::signature::{Many, Outputs};

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried<T> {
    /// It is dealt with.
    Done,
    /// There was no room for its results: it is offered again.
    Later(T),
}

/// A processor of one item at a time, from any ordinal. [`OneByOne`] makes a [`Processor`] of it.
pub trait OneItem: Send + 'static {
    /// What it takes.
    type Item: Send + 'static;
    /// What it emits.
    type Out: Outputs;

    /// See [`Processor::init`].
    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// Deals with an item of the edge at `ordinal`, or gives it back because there is no room for its results.
    fn try_process(
        &mut self,
        ordinal: usize,
        item: Self::Item,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Tried<Self::Item>, Failure>;

    /// There is room again and no item: emits what is left of earlier ones, for a processor that may have something left, as a
    /// [`FlatMapper`](crate::FlatMapper) does.
    fn resume(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<(), Failure> {
        let _ = outbox;
        Ok(())
    }

    /// See [`Processor::complete`].
    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let _ = outbox;
        Ok(Step::Done)
    }
}

/// A processor of one item at a time, with a method per ordinal. [`OneByOne2`] makes a [`Processor`] of it.
pub trait OneItem2: Send + 'static {
    /// What comes at ordinal 0.
    type Item0: Send + 'static;
    /// What comes at ordinal 1.
    type Item1: Send + 'static;
    /// What it emits.
    type Out: Outputs;

    /// See [`Processor::init`].
    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// Deals with an item of the edge at ordinal 0, or gives it back because there is no room for its results.
    fn try_process_0(
        &mut self,
        item: Self::Item0,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Tried<Self::Item0>, Failure>;

    /// Deals with an item of the edge at ordinal 1, or gives it back because there is no room for its results.
    fn try_process_1(
        &mut self,
        item: Self::Item1,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Tried<Self::Item1>, Failure>;

    /// There is room again and no item: emits what is left of earlier ones, for a processor that may have something left, as a
    /// [`FlatMapper`](crate::FlatMapper) does.
    fn resume(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<(), Failure> {
        let _ = outbox;
        Ok(())
    }

    /// See [`Processor::complete`].
    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let _ = outbox;
        Ok(Step::Done)
    }
}

/// Offers the items one by one, until one comes back.
fn offer<T>(
    items: &mut Items<T>,
    mut try_process: impl FnMut(T) -> Result<Tried<T>, Failure>,
) -> Result<Step, Failure> {
    while let Some(item) = items.pop() {
        if let Tried::Later(item) = try_process(item)? {
            items.put_back(item);
            break;
        }
    }
    Ok(Step::Again)
}

/// A [`Processor`] from a [`OneItem`].
pub struct OneByOne<P>(pub P);

impl<P: OneItem> Processor for OneByOne<P> {
    type In = Many<P::Item>;
    type Out = P::Out;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.init(context)
    }

    fn process(&mut self, inbox: &mut Inbox<Self::In>, outbox: &mut Outbox<P::Out>) -> Result<Step, Failure> {
        if inbox.is_empty() {
            self.0.resume(outbox)?;
        }
        let ordinal = inbox.ordinal();
        offer(inbox.items(), |item| self.0.try_process(ordinal, item, outbox))
    }

    fn complete(&mut self, outbox: &mut Outbox<P::Out>) -> Result<Step, Failure> {
        self.0.complete(outbox)
    }
}

/// A [`Processor`] from a [`OneItem2`].
pub struct OneByOne2<P>(pub P);

impl<P: OneItem2> Processor for OneByOne2<P> {
    type In = (P::Item0, P::Item1);
    type Out = P::Out;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.init(context)
    }

    fn process(&mut self, inbox: &mut Inbox<Self::In>, outbox: &mut Outbox<P::Out>) -> Result<Step, Failure> {
        let is_empty = match inbox.ordinal() {
            0 => inbox.at::<0>().is_empty(),
            _ => inbox.at::<1>().is_empty(),
        };
        if is_empty {
            self.0.resume(outbox)?;
        }
        match inbox.ordinal() {
            0 => offer(inbox.at::<0>(), |item| self.0.try_process_0(item, outbox)),
            _ => offer(inbox.at::<1>(), |item| self.0.try_process_1(item, outbox)),
        }
    }

    fn complete(&mut self, outbox: &mut Outbox<P::Out>) -> Result<Step, Failure> {
        self.0.complete(outbox)
    }
}
