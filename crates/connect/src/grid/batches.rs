//! A sink that hands its items on many at a time, one operation after the other: what lists and topics have in common.

use super::asking::Asking;
use super::write;
use filbert_flow::{Failure, Inbox, Many, Outbox, Processor, ProcessorContext, Step};
use filbert_grid::Invocation;
use filbert_wire::{Data, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

/// Items that are handed on at once.
const BATCH: usize = 512;

/// A structure that takes many items in one operation.
pub trait TakesBatches: Send + Sync + 'static {
    /// What it answers.
    type Answer: Send + Unpin + 'static;

    /// What it is called in errors.
    fn title(&self) -> String;

    /// Hands items on.
    fn take(&self, items: Vec<Data>) -> Invocation<Self::Answer>;

    /// False when the answer says that there was no room for them.
    fn has_taken(answer: &Self::Answer) -> bool;
}

/// The processor of [`write_list`](super::write_list) and [`write_topic`](super::write_topic).
pub struct WriteBatches<T, S: TakesBatches> {
    structure: Arc<S>,
    name: String,
    asking: Asking<S::Answer>,
    item: PhantomData<fn(T)>,
}

impl<T, S: TakesBatches> WriteBatches<T, S> {
    pub(super) fn new(structure: &Arc<S>) -> Self {
        let structure = Arc::clone(structure);
        Self { name: structure.title(), structure, asking: Asking::new(), item: PhantomData }
    }

    /// True when nothing is under way.
    fn is_free(&mut self) -> Result<bool, Failure> {
        if !self.asking.is_busy() {
            return Ok(true);
        }
        match self.asking.poll(&self.name)? {
            Poll::Pending => Ok(false),
            Poll::Ready(answer) if S::has_taken(&answer) => Ok(true),
            Poll::Ready(_) => Err(format!("{} is full", self.name).into()),
        }
    }
}

impl<T: ToData + Send + 'static, S: TakesBatches> Processor for WriteBatches<T, S> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.asking.init(context);
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        if !self.is_free()? {
            return Ok(Step::Wait);
        }
        let items = inbox.take(BATCH).map(|item| write(&self.name, &item));
        let items: Vec<Data> = items.collect::<Result<_, _>>()?;
        self.asking.ask(self.structure.take(items));
        Ok(if self.is_free()? { Step::Again } else { Step::Wait })
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        Ok(if self.is_free()? { Step::Done } else { Step::Wait })
    }
}
