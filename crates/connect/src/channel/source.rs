//! A source that emits what the program sends while the job runs.

use super::queue::{End, Found, Queue, Role};
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_pool::{StageKind, current};
use filbert_sync::Parker;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A channel into a job: what is sent is emitted by one of the source's processors, and the source ends when every [`Sender`] is gone. The
/// job that reads it is the only one: when it is over, a send says so.
///
/// ```
/// use filbert_connect::channel;
/// use filbert_flow::{DagBuilder, processors};
///
/// let (sender, numbers) = channel::source::<u64>(1024);
/// let mut dag = DagBuilder::new("sum");
/// let numbers = dag.vertex("numbers", numbers);
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(numbers.output().to(sink.input()));
/// let stages = filbert_pool::Stages::start()?;
/// let job = dag.build()?.submit(&stages)?;
/// for number in 0..10_000 {
///     sender.send(number)?; // waits while 1024 are on their way
/// }
/// drop(sender);
/// job.wait()?;
/// assert_eq!(list.take().len(), 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn source<T: Send + 'static>(capacity: usize) -> (Sender<T>, ChannelSource<T>) {
    let queue = Queue::new(capacity);
    let end = queue.end(Role::Writer).unwrap_or_else(|| unreachable!("a new queue has no side that is gone"));
    (Sender { end }, ChannelSource { queue })
}

/// Sends into a job; clones send into the same.
pub struct Sender<T> {
    end: End<T>,
}

/// An item that was not sent, and why.
#[derive(thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotSent<T> {
    /// There is no room now.
    #[error("the channel is full; send it again when the job has taken some")]
    Full(T),
    /// The job is over: nobody will take it.
    #[error("the job that read this channel is over; make a new channel for another one")]
    Ended(T),
    /// The calling thread must not wait for a job.
    #[error("a thread of stage {stage} must not wait for a job; use `try_send` or `send_async`")]
    MayNotWait {
        /// The item.
        item: T,
        /// Where the caller stands.
        stage: &'static str,
    },
}

impl<T> std::fmt::Debug for NotSent<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotSent::Full(_) => "Full(..)",
            NotSent::Ended(_) => "Ended(..)",
            NotSent::MayNotWait { .. } => "MayNotWait { .. }",
        })
    }
}

impl<T: Send + 'static> Sender<T> {
    /// Sends an item, if there is room now.
    pub fn try_send(&self, item: T) -> Result<(), NotSent<T>> {
        let mut item = Some(item);
        match (self.end.push(&mut std::iter::from_fn(|| item.take()), None).0, item) {
            (Found::Gone, Some(item)) => Err(NotSent::Ended(item)),
            (_, Some(item)) => Err(NotSent::Full(item)),
            (_, None) => Ok(()),
        }
    }

    /// Sends an item; sleeps until there is room. Not in simulated stages, where the caller itself is what lets the job run.
    pub fn send(&self, item: T) -> Result<(), NotSent<T>> {
        let item = match self.try_send(item) {
            Err(NotSent::Full(item)) => item,
            sent => return sent,
        };
        if let Some(stage) = may_not_wait() {
            return Err(NotSent::MayNotWait { item, stage });
        }
        let mut item = Some(item);
        block(|waker| self.poll_send(&mut item, waker))
    }

    /// Sends an item when there is room.
    pub async fn send_async(&self, item: T) -> Result<(), NotSent<T>> {
        let mut item = Some(item);
        std::future::poll_fn(|context| self.poll_send(&mut item, context.waker())).await
    }

    fn poll_send(&self, slot: &mut Option<T>, waker: &Waker) -> Poll<Result<(), NotSent<T>>> {
        match (self.end.push(&mut std::iter::from_fn(|| slot.take()), Some(waker)).0, slot.take()) {
            (Found::Gone, Some(item)) => Poll::Ready(Err(NotSent::Ended(item))),
            (_, Some(item)) => {
                *slot = Some(item);
                Poll::Pending
            }
            (_, None) => Poll::Ready(Ok(())),
        }
    }

    /// True when the job is over.
    pub fn is_ended(&self) -> bool {
        self.end.is_other_side_gone()
    }

    /// How many items are on their way.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// True when none is on its way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the source, also when there are clones of this sender; what was sent is still emitted.
    pub fn close(&self) {
        self.end.close();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}

/// Sleeps until `poll` is ready, on a thread that may wait for the stage `flow`.
pub(super) fn block<R>(mut poll: impl FnMut(&Waker) -> Poll<R>) -> R {
    let parker = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&parker));
    loop {
        match poll(&waker) {
            Poll::Ready(result) => return result,
            Poll::Pending => parker.park(),
        }
    }
}

/// The stage of the calling thread, if it must not wait for a job.
pub(super) fn may_not_wait() -> Option<&'static str> {
    let kind = current().kind;
    (!kind.permission(StageKind::Flow).wait).then_some(kind.as_str())
}

/// The vertex of [`source`].
pub struct ChannelSource<T> {
    queue: Arc<Queue<T>>,
}

impl<T: Send + 'static> MetaSupplier for ChannelSource<T> {
    type Processor = ReadChannel<T>;
    type Supplier = ChannelSource<T>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { queue: Arc::clone(&self.queue) })
    }
}

impl<T: Send + 'static> Supplier for ChannelSource<T> {
    type Processor = ReadChannel<T>;

    fn processor(&mut self, _: Share) -> Result<ReadChannel<T>, Failure> {
        let end = self.queue.end(Role::Reader);
        let end = end.ok_or("the channel's first job is over and nothing more comes; make a new channel")?;
        Ok(ReadChannel { end, waker: Waker::noop().clone() })
    }
}

/// The processor of [`source`].
pub struct ReadChannel<T> {
    end: End<T>,
    waker: Waker,
}

impl<T: Send + 'static> Processor for ReadChannel<T> {
    type In = ();
    type Out = Many<T>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = context.waker().clone();
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        Ok(self.receive(outbox.room(), |item| outbox.emit(item)))
    }
}

impl<T: Send + 'static> ReadChannel<T> {
    /// Gives up to `most` items to `take`, and says what a source says then.
    pub(crate) fn receive(&self, most: usize, take: impl FnMut(T)) -> Step {
        if most == 0 {
            return Step::Again;
        }
        match self.end.pop(most, Some(&self.waker), take) {
            Found::Moved => Step::Again,
            Found::Nothing => Step::Wait,
            Found::Gone => Step::Done,
        }
    }
}
