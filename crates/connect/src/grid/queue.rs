//! Queues: what is put into one, taken while the job runs; and putting.

use super::asking::Asking;
use super::{read, write};
use filbert_flow::processors::with_parallelism;
use filbert_flow::{Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Step};
use filbert_grid::{Grid, Queue, Structure};
use filbert_wire::{Data, FromData, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

/// Takes items out of a queue, read as `T`, and emits them, until the job is cancelled. One processor. An item that was taken and not yet
/// emitted when the job is cancelled is lost; at most one is.
pub fn queue<T: FromData + Send + 'static>(
    grid: &Grid,
    name: &str,
) -> impl MetaSupplier<Processor = ReadQueue<T>> {
    let queue = grid.queue(name);
    with_parallelism(1, move |_| ReadQueue(Link::new(&queue)))
}

/// Puts every item into a queue; when the queue is full the job waits. Items of one processor keep their order.
pub fn write_queue<T: ToData + Send + 'static>(
    grid: &Grid,
    name: &str,
) -> impl MetaSupplier<Processor = WriteQueue<T>> {
    let queue = grid.queue(name);
    move |_| WriteQueue(Link::new(&queue))
}

/// A queue, and the one operation on it that is under way.
struct Link<A: Send + Unpin + 'static, T> {
    queue: Arc<Queue>,
    name: String,
    asking: Asking<A>,
    item: PhantomData<fn() -> T>,
}

impl<A: Send + Unpin + 'static, T> Link<A, T> {
    fn new(queue: &Arc<Queue>) -> Self {
        let name = format!("queue {:?}", queue.name());
        Self { queue: Arc::clone(queue), name, asking: Asking::new(), item: PhantomData }
    }
}

impl<A: Send + Unpin + 'static, T> Drop for Link<A, T> {
    fn drop(&mut self) {
        // Otherwise a take would take an item that nobody gets.
        self.asking.cancel();
    }
}

/// The processor of [`queue`].
pub struct ReadQueue<T>(Link<Data, T>);

impl<T: FromData + Send + 'static> Processor for ReadQueue<T> {
    type In = ();
    type Out = Many<T>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.asking.init(context);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        let mut has_emitted = false;
        while !outbox.is_full() {
            if !self.0.asking.is_busy() {
                self.0.asking.ask(self.0.queue.take());
            }
            match self.0.asking.poll(&self.0.name)? {
                Poll::Ready(item) => outbox.emit(read(&self.0.name, &item)?),
                // What was emitted goes on its way first.
                Poll::Pending if has_emitted => break,
                Poll::Pending => return Ok(Step::Wait),
            }
            has_emitted = true;
        }
        Ok(Step::Again)
    }
}

/// The processor of [`write_queue`].
pub struct WriteQueue<T>(Link<(), T>);

impl<T: ToData + Send + 'static> Processor for WriteQueue<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.0.asking.init(context);
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        loop {
            if self.0.asking.is_busy() && self.0.asking.poll(&self.0.name)?.is_pending() {
                return Ok(Step::Wait);
            }
            let Some(item) = inbox.pop() else { return Ok(Step::Again) };
            self.0.asking.ask(self.0.queue.put(&write(&self.0.name, &item)?));
        }
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let is_busy = self.0.asking.is_busy() && self.0.asking.poll(&self.0.name)?.is_pending();
        Ok(if is_busy { Step::Wait } else { Step::Done })
    }
}
