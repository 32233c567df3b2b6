//! Queues: what is put into one, taken while the job runs; and putting.

use super::asking::Asking;
use super::{read, write};
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use filbert_grid::{Grid, Queue, Structure};
use filbert_wire::{Data, FromData, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

/// Takes items out of a queue, read as `T`, and emits them, until the job is cancelled. One processor. An item that was taken and not yet
/// emitted when the job is cancelled is lost; at most one is.
pub fn queue<T: FromData + Send + 'static>(grid: &Grid, name: &str) -> QueueSource<T> {
    QueueSource { queue: grid.queue(name), item: PhantomData }
}

/// Puts every item into a queue; when the queue is full the job waits. Items of one processor keep their order.
pub fn write_queue<T: ToData + Send + 'static>(
    grid: &Grid,
    name: &str,
) -> impl MetaSupplier<Processor = WriteQueue<T>> {
    let queue = grid.queue(name);
    move |_| WriteQueue {
        name: name_of(&queue),
        queue: Arc::clone(&queue),
        asking: Asking::new(),
        item: PhantomData,
    }
}

fn name_of(queue: &Queue) -> String {
    format!("queue {:?}", queue.name())
}

/// The vertex of [`queue`].
pub struct QueueSource<T> {
    queue: Arc<Queue>,
    item: PhantomData<fn() -> T>,
}

impl<T: FromData + Send + 'static> MetaSupplier for QueueSource<T> {
    type Processor = ReadQueue<T>;
    type Supplier = QueueSource<T>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { queue: Arc::clone(&self.queue), item: PhantomData })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: FromData + Send + 'static> Supplier for QueueSource<T> {
    type Processor = ReadQueue<T>;

    fn processor(&mut self, _: Share) -> Result<ReadQueue<T>, Failure> {
        let queue = Arc::clone(&self.queue);
        Ok(ReadQueue { name: name_of(&queue), queue, asking: Asking::new(), item: PhantomData })
    }
}

/// The processor of [`queue`].
pub struct ReadQueue<T> {
    queue: Arc<Queue>,
    name: String,
    asking: Asking<Data>,
    item: PhantomData<fn() -> T>,
}

impl<T: FromData + Send + 'static> Processor for ReadQueue<T> {
    type In = ();
    type Out = Many<T>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.asking.init(context);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        let mut has_emitted = false;
        while !outbox.is_full() {
            if !self.asking.is_busy() {
                self.asking.ask(self.queue.take());
            }
            match self.asking.poll(&self.name)? {
                Poll::Ready(item) => outbox.emit(read(&self.name, &item)?),
                // What was emitted goes on its way first.
                Poll::Pending if has_emitted => break,
                Poll::Pending => return Ok(Step::Wait),
            }
            has_emitted = true;
        }
        Ok(Step::Again)
    }
}

impl<T> Drop for ReadQueue<T> {
    fn drop(&mut self) {
        // Otherwise it would take an item that nobody gets.
        self.asking.cancel();
    }
}

/// The processor of [`write_queue`].
pub struct WriteQueue<T> {
    queue: Arc<Queue>,
    name: String,
    asking: Asking<()>,
    item: PhantomData<fn(T)>,
}

impl<T: ToData + Send + 'static> Processor for WriteQueue<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.asking.init(context);
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        loop {
            if self.asking.is_busy() && self.asking.poll(&self.name)?.is_pending() {
                return Ok(Step::Wait);
            }
            let Some(item) = inbox.pop() else { return Ok(Step::Again) };
            self.asking.ask(self.queue.put(&write(&self.name, &item)?));
        }
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let is_busy = self.asking.is_busy() && self.asking.poll(&self.name)?.is_pending();
        Ok(if is_busy { Step::Wait } else { Step::Done })
    }
}

impl<T> Drop for WriteQueue<T> {
    fn drop(&mut self) {
        self.asking.cancel();
    }
}
