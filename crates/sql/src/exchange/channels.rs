//! The queues of an exchange: some producers, some outputs, credits between them.
//!
//! Every output has credits for a number of batches and of bytes. A producer waits only while *no* output has a credit left: a merge
//! may need the next batch of one output before it takes another of the rest, so a producer that waits for one full output while
//! another is empty could wait for ever. What that costs in memory is charged to the query, whose limit ends it.
//!
//! An output whose reader goes away gives all its credits back, for good: producers drop what was meant for it and end when nobody is
//! left. A producer that is dropped before it said that it is finished was cancelled or panicked; its readers then see an error, never
//! an end, so that a part of an answer is not taken for the whole.
//!
//! One lock per exchange. It is held for a push or a pop of a batch, thousands of rows; lock-free queues gained nothing measurable.

use crate::error::SqlError;
use arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::execution::memory_pool::MemoryReservation;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// What an output takes before it counts as full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Credits {
    pub(crate) batches: usize,
    pub(crate) bytes: usize,
}

struct Channels {
    credits: Credits,
    state: Mutex<State>,
}

struct State {
    outputs: Vec<Output>,
    /// By producer: whom to wake when an output has a credit again.
    waiting: Vec<Option<Waker>>,
    /// By producer: whom to wake when nobody reads any more, whatever it waits for.
    owners: Vec<Option<Waker>>,
    /// Producers that are not finished.
    producing: usize,
    failure: Option<SqlError>,
    /// What the queues hold, charged to the query.
    memory: MemoryReservation,
}

#[derive(Default)]
struct Output {
    queue: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
    reader: Option<Waker>,
    closed: bool,
}

impl Output {
    fn has_credit(&self, credits: Credits) -> bool {
        !self.closed && self.queue.len() < credits.batches && self.bytes < credits.bytes
    }
}

/// Makes the ends of an exchange: one sender per producer, one receiver per output.
pub(crate) fn channels(
    producers: usize,
    outputs: usize,
    credits: Credits,
    memory: MemoryReservation,
) -> (Vec<Sender>, Vec<Receiver>) {
    let state = State {
        outputs: (0..outputs).map(|_| Output::default()).collect(),
        waiting: vec![None; producers],
        owners: vec![None; producers],
        producing: producers,
        failure: None,
        memory,
    };
    let channels = Arc::new(Channels { credits, state: Mutex::new(state) });
    let sender = |number| Sender { channels: Arc::clone(&channels), number, finished: false };
    let receiver = |output| Receiver { channels: Arc::clone(&channels), output, taken: None };
    ((0..producers).map(sender).collect(), (0..outputs).map(receiver).collect())
}

impl Channels {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl State {
    /// Everybody who sleeps, to be woken after the lock is released.
    fn readers(&mut self) -> Vec<Waker> {
        self.outputs.iter_mut().filter_map(|output| output.reader.take()).collect()
    }

    /// Those that wait for a credit.
    fn producers(&mut self) -> Vec<Waker> {
        self.waiting.iter_mut().filter_map(Option::take).collect()
    }

    /// Those that wait for a credit; when there is no reason to go on, those too that wait for their own input, which may never come.
    fn producers_to_tell(&mut self) -> Vec<Waker> {
        let mut told = self.producers();
        if self.is_in_vain() {
            told.extend(self.owners.iter_mut().filter_map(Option::take));
        }
        told
    }

    /// True when nobody reads what is produced.
    fn is_in_vain(&self) -> bool {
        self.failure.is_some() || self.outputs.iter().all(|output| output.closed)
    }
}

fn wake(sleepers: impl IntoIterator<Item = Waker>) {
    sleepers.into_iter().for_each(Waker::wake);
}

/// What a batch's rows take. A batch that was cut out of a larger one counts for its own rows only: the parts share their buffers, and each
/// counted whole would charge a query several times for the same bytes.
pub(super) fn weight(batch: &RecordBatch) -> usize {
    let column = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or_default();
    batch.columns().iter().map(column).sum::<usize>().max(1)
}

/// A producer's end.
pub(crate) struct Sender {
    channels: Arc<Channels>,
    number: usize,
    finished: bool,
}

/// Whether there is a point in producing the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Some output has credits.
    Some,
    /// Nobody reads any more.
    Nobody,
}

impl Sender {
    /// From now on the producer is woken when nobody reads any more, also while it waits for something else. It should be a waker that
    /// does not keep the producer alive, which holds this end.
    pub(crate) fn belongs_to(&mut self, producer: Waker) {
        let mut state = self.channels.lock();
        match state.is_in_vain() {
            true => {
                drop(state);
                producer.wake();
            }
            false => state.owners[self.number] = Some(producer),
        }
    }

    /// Waits for a credit of any output.
    pub(crate) fn poll_room(&mut self, context: &Context<'_>) -> Poll<Room> {
        let mut state = self.channels.lock();
        if state.is_in_vain() {
            return Poll::Ready(Room::Nobody);
        }
        if state.outputs.iter().any(|output| output.has_credit(self.channels.credits)) {
            return Poll::Ready(Room::Some);
        }
        state.waiting[self.number] = Some(context.waker().clone());
        Poll::Pending
    }

    /// Hands a batch over. More than the credits is taken: they are looked at before a batch is made, not after.
    pub(crate) fn send(&mut self, output: usize, batch: RecordBatch) -> Result<(), SqlError> {
        let bytes = weight(&batch);
        let mut state = self.channels.lock();
        if state.outputs[output].closed {
            return Ok(());
        }
        state.memory.try_grow(bytes)?;
        let output = &mut state.outputs[output];
        output.bytes += bytes;
        output.queue.push_back((batch, bytes));
        let reader = output.reader.take();
        drop(state);
        wake(reader);
        Ok(())
    }

    /// There will be no more from this producer.
    pub(crate) fn finish(mut self) {
        self.finished = true;
    }

    /// The query cannot go on: all readers see why, the first cause wins.
    pub(crate) fn fail(&mut self, cause: SqlError) {
        let mut state = self.channels.lock();
        state.failure.get_or_insert(cause);
        let (readers, producers) = (state.readers(), state.producers_to_tell());
        drop(state);
        wake(readers);
        wake(producers);
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if !self.finished {
            self.fail(SqlError::Cancelled);
        }
        let mut state = self.channels.lock();
        state.producing -= 1;
        let readers = if state.producing == 0 { state.readers() } else { Vec::new() };
        drop(state);
        wake(readers);
    }
}

/// A reader's end: the batches of one output, in the order in which they were sent.
pub(crate) struct Receiver {
    channels: Arc<Channels>,
    output: usize,
    /// Bytes of the batch that its reader has, for one that is charged for it until it asks for the next.
    taken: Option<usize>,
}

impl Receiver {
    /// For a reader outside of the plan, which may keep a batch for as long as it likes: the query is charged for it meanwhile.
    pub(crate) fn charged_until_next(mut self) -> Self {
        self.taken = Some(0);
        self
    }

    /// The next batch; `None` when all producers have finished.
    pub(crate) fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Result<RecordBatch, SqlError>>> {
        let credits = self.channels.credits;
        let mut guard = self.channels.lock();
        let state = &mut *guard;
        if let Some(taken) = &mut self.taken {
            state.memory.shrink(std::mem::take(taken));
        }
        if let Some(cause) = &state.failure {
            return Poll::Ready(Some(Err(cause.clone())));
        }
        let output = &mut state.outputs[self.output];
        let had_credit = output.has_credit(credits);
        if let Some((batch, bytes)) = output.queue.pop_front() {
            output.bytes -= bytes;
            let has_credit = output.has_credit(credits);
            match &mut self.taken {
                Some(taken) => *taken = bytes,
                None => state.memory.shrink(bytes),
            }
            let woken = if has_credit && !had_credit { state.producers() } else { Vec::new() };
            drop(guard);
            wake(woken);
            return Poll::Ready(Some(Ok(batch)));
        }
        if state.producing == 0 {
            return Poll::Ready(None);
        }
        output.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.channels.lock();
        let output = &mut state.outputs[self.output];
        output.closed = true;
        output.reader = None;
        let forgotten = std::mem::take(&mut output.queue);
        let bytes = std::mem::take(&mut output.bytes) + self.taken.take().unwrap_or(0);
        state.memory.shrink(bytes);
        let woken = state.producers_to_tell();
        drop(state);
        drop(forgotten);
        wake(woken);
    }
}
