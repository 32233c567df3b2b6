//! A sink that the program receives from while the job runs.

use super::queue::{End, Found, Queue, Role};
use super::source::{block, may_not_wait};
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A channel out of a job: the program receives what comes to the sink, and when it is slow the job waits for it. A [`Receiver`] that is
/// dropped wants no more, which lets the job end early. The receiver sees the end when the job is over, however it ended: ask the job how.
///
/// ```
/// use filbert_connect::{channel, memory};
/// use filbert_flow::DagBuilder;
///
/// let (sink, receiver) = channel::sink::<u64>(64);
/// let mut dag = DagBuilder::new("numbers");
/// let numbers = dag.vertex("numbers", memory::range(0..1_000));
/// let sink = dag.vertex("sink", sink);
/// dag.edge(numbers.output().to(sink.input()));
/// let stages = filbert_pool::Stages::start()?;
/// let job = dag.build()?.submit(&stages)?;
/// assert_eq!(receiver.iter().sum::<u64>(), 499_500);
/// job.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sink<T: Send + 'static>(capacity: usize) -> (ChannelSink<T>, Receiver<T>) {
    let queue = Queue::new(capacity);
    let end = queue.end(Role::Reader).unwrap_or_else(|| unreachable!("a new queue has no side that is gone"));
    // The sink itself is a writer until its first job starts, so that the receiver does not see an end before a beginning.
    let waits = Arc::new(Mutex::new(queue.end(Role::Writer)));
    (ChannelSink { queue, waits }, Receiver { end })
}

/// Receives what comes out of a job; clones share it.
pub struct Receiver<T> {
    end: End<T>,
}

impl<T: Send + 'static> Receiver<T> {
    /// The next item, if there is one now.
    pub fn try_recv(&self) -> Option<T> {
        let mut item = None;
        self.end.pop(1, None, |next| item = Some(next));
        item
    }

    /// The next item; sleeps until there is one. `None` when the job is over and all was received.
    ///
    /// # Panics
    /// On a thread that must not wait for a job: there, use [`Receiver::try_recv`] or [`Receiver::recv_async`].
    pub fn recv(&self) -> Option<T> {
        if let Some(item) = self.try_recv() {
            return Some(item);
        }
        if let Some(stage) = may_not_wait() {
            panic!("a thread of stage {stage} must not wait for a job; use `try_recv` or `recv_async`");
        }
        block(|waker| self.poll_recv(waker))
    }

    /// The next item, when there is one. `None` when the job is over and all was received.
    pub async fn recv_async(&self) -> Option<T> {
        std::future::poll_fn(|context| self.poll_recv(context.waker())).await
    }

    fn poll_recv(&self, waker: &Waker) -> Poll<Option<T>> {
        let mut item = None;
        match self.end.pop(1, Some(waker), |next| item = Some(next)) {
            Found::Nothing => Poll::Pending,
            Found::Moved | Found::Gone => Poll::Ready(item),
        }
    }

    /// All items until the job is over.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv())
    }

    /// True when the job is over; there may be items left.
    pub fn is_ended(&self) -> bool {
        self.end.is_other_side_gone()
    }

    /// How many items wait to be received.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// True when none waits to be received.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}

/// The vertex of [`sink`].
pub struct ChannelSink<T> {
    queue: Arc<Queue<T>>,
    waits: Arc<Mutex<Option<End<T>>>>,
}

impl<T: Send + 'static> MetaSupplier for ChannelSink<T> {
    type Processor = WriteChannel<T>;
    type Supplier = ChannelSink<T>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { queue: Arc::clone(&self.queue), waits: Arc::clone(&self.waits) })
    }
}

impl<T: Send + 'static> Supplier for ChannelSink<T> {
    type Processor = WriteChannel<T>;
    const CLOSES: bool = true;

    fn processor(&mut self, _: Share) -> Result<WriteChannel<T>, Failure> {
        let end = self.queue.end(Role::Writer);
        let end = end.ok_or("the channel's first job is over; make a new channel for another one")?;
        Ok(WriteChannel { end, waker: Waker::noop().clone() })
    }

    fn close(&mut self, _: bool) -> Result<(), Failure> {
        // The job that it waited for was this one.
        let waited = self.waits.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        drop(waited);
        Ok(())
    }
}

/// The processor of [`sink`].
pub struct WriteChannel<T> {
    end: End<T>,
    waker: Waker,
}

impl<T: Send + 'static> Processor for WriteChannel<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = context.waker().clone();
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let mut items = std::iter::from_fn(|| inbox.pop());
        Ok(match self.end.push(&mut items, Some(&self.waker)).0 {
            Found::Moved => Step::Again,
            Found::Nothing => Step::Wait,
            Found::Gone => Step::Done,
        })
    }
}
