//! How a request is answered: at once into the connection's output, or later from the thread where the result arises.
//!
//! The first way has no queue and no allocation: most operations end before their handler returns. The second is a [`Reply`], which an
//! operation carries along; it is made only when it is needed.

use super::failure::{Failure, Handled};
use super::host::Host;
use super::waiters::{Refused, Waiters};
use bytes::{Bytes, BytesMut};
use filbert_grid::{
    Allowance, Answer, GridError, GridResult, Invocation, Invoked, Leaving, Operation, Strands, Weighs,
};
use filbert_net::{Outbound, Owed};
use filbert_wire::message::Request;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::{PARTITION_COUNT, PartitionId};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use uuid::Uuid;

/// What an operation takes in the mailbox of one partition, roughly.
const PART_BYTES: usize = 400;

/// The right, and the duty, to answer one request of type `R`.
#[must_use = "a request that is not answered leaves its client waiting"]
pub(super) struct Answering<'c, R: Request> {
    pub(super) out: &'c mut Outbound,
    pub(super) correlation: i64,
    /// How long the request is: an operation that waits keeps what it was sent.
    pub(super) request_bytes: usize,
    pub(super) host: &'c Host,
    pub(super) waiters: &'c Arc<Waiters>,
    pub(super) counting: Counting,
    pub(super) request: PhantomData<fn() -> R>,
}

/// When the memory of an answer that comes later is counted.
#[derive(Debug, Clone)]
pub(super) enum Counting {
    /// By the operation, which copies what it finds.
    Inside(Allowance),
    /// When the result is there: what is in it is shared with the structure until it is encoded.
    Whole,
    /// The same, but it is not refused: what is in it was taken out of the structure, and would be lost.
    Taken,
}

/// What is left to do about the memory of an answer when its result is there; kept until the peer has taken the answer.
struct Counted {
    allowance: Allowance,
    counting: Counting,
}

impl Counted {
    fn count<T: Weighs>(&self, result: GridResult<T>) -> GridResult<T> {
        let result = result?;
        match self.counting {
            Counting::Inside(_) => {}
            Counting::Whole => self.allowance.charge(result.weight())?,
            Counting::Taken => self.allowance.note(result.weight()),
        }
        Ok(result)
    }
}

/// An encoded answer with what it takes of the memory that answers share.
struct Kept {
    bytes: BytesMut,
    _allowance: Allowance,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<R: Request> Answering<'_, R> {
    /// Answers at once.
    #[inline]
    pub(super) fn now(self, response: R::Response) -> Handled {
        R::respond(&response, self.correlation, self.out.buffer());
        Ok(())
    }

    /// Runs `operation` and answers with what `encode` makes of its result.
    #[inline]
    pub(super) fn run<O, F>(
        self,
        strands: &Strands<O::Target>,
        partition: PartitionId,
        operation: O,
        encode: F,
    ) -> Handled
    where
        R: 'static,
        O: Operation,
        F: Fn(O::Output) -> R::Response + Copy + Send + 'static,
    {
        self.invoke(encode, |reply| strands.invoke(partition, operation, || reply.make()))
    }

    /// Starts an operation by `start`, and answers with what `encode` makes of its result, whether it is there at once or later.
    #[inline]
    pub(super) fn invoke<T, F>(
        self,
        encode: F,
        start: impl FnOnce(ReplyMaker<'_, '_, R, F>) -> Invoked<T>,
    ) -> Handled
    where
        F: Fn(T) -> R::Response + Copy,
    {
        let made = Cell::new(false);
        match start(ReplyMaker { answering: &self, encode, made: &made }) {
            Invoked::Here(Ok(output)) => self.now(encode(output)),
            Invoked::Here(Err(error)) => Err(error.into()),
            Invoked::Later => Ok(()),
            // A reply that was made and dropped has answered for itself.
            Invoked::Refused(_) if made.get() => Ok(()),
            Invoked::Refused(refused) => Err(GridError::Refused(refused).into()),
        }
    }

    /// The same for an operation that may be parked and whose result may be large: its memory is counted when it comes later.
    pub(super) fn invoke_counted<T, F>(
        self,
        encode: F,
        start: impl FnOnce(CountedMaker<'_, '_, R, F>) -> Invoked<T>,
    ) -> Handled
    where
        F: Fn(T) -> R::Response + Copy,
    {
        self.invoke(encode, |maker| start(CountedMaker { maker }))
    }

    /// Answers when `invocation` is done.
    pub(super) fn follow<T, F>(self, invocation: Invocation<T>, encode: F) -> Handled
    where
        R: 'static,
        T: Weighs + Send + 'static,
        F: FnOnce(T) -> R::Response + Send + 'static,
    {
        // Ready from the start is the usual case; so soon after it the detour does not matter.
        match invocation.now() {
            Ok(result) => self.now(encode(result?)),
            Err(later) => {
                self.follow_later(later, encode);
                Ok(())
            }
        }
    }

    /// The same for what runs on every partition: until it is done, each has a part of it in its mailbox, which counts as bytes in
    /// flight.
    pub(super) fn follow_all<T, F>(mut self, invocation: Invocation<T>, encode: F) -> Handled
    where
        R: 'static,
        T: Weighs + Send + 'static,
        F: FnOnce(T) -> R::Response + Send + 'static,
    {
        self.request_bytes += PART_BYTES * PARTITION_COUNT as usize;
        self.follow(invocation, encode)
    }

    /// The same for what may take any time, as user code does: it does not hold the connection up meanwhile.
    pub(super) fn follow_long<T, F>(self, invocation: Invocation<T>, encode: F) -> Handled
    where
        R: 'static,
        T: Weighs + Send + 'static,
        F: FnOnce(T) -> R::Response + Send + 'static,
    {
        let (mut ticket, counted) = (self.ticket(), self.counted());
        if ticket.wait(None) {
            invocation.on_complete(move |result| ticket.answer_counted::<R, _>(result, encode, &counted));
        } else {
            invocation.cancel();
        }
        Ok(())
    }

    /// The same for a task that the client may cancel meanwhile by the `id` that it gave it.
    pub(super) fn follow_task<T, F>(self, id: Uuid, invocation: Invocation<T>, encode: F) -> Handled
    where
        R: 'static,
        T: Weighs + Send + 'static,
        F: FnOnce(T) -> R::Response + Send + 'static,
    {
        let (mut ticket, counted) = (self.ticket(), self.counted());
        if !ticket.wait(None) {
            invocation.cancel();
            return Ok(());
        }
        let waiters = Arc::clone(self.waiters);
        let known = invocation.canceller().is_some_and(|canceller| waiters.add_task(id, canceller));
        invocation.on_complete(move |result| {
            if known && !waiters.task_over(id) {
                // Also when it was over just then: whoever cancelled it was told that it has no result.
                ticket.refuse(Failure::new(ErrorCode::Cancellation, "the task was cancelled"));
            } else {
                ticket.answer_counted::<R, _>(result, encode, &counted);
            }
        });
        Ok(())
    }

    /// The right to answer after any time and from any thread. Nothing when too many of the connection wait already, which the client is
    /// told then.
    pub(super) fn later(self) -> Option<Later<R>> {
        let mut ticket = self.ticket();
        ticket.wait(None).then_some(Later { ticket, request: PhantomData })
    }

    fn follow_later<T, F>(self, invocation: Invocation<T>, encode: F)
    where
        R: 'static,
        T: Weighs + Send + 'static,
        F: FnOnce(T) -> R::Response + Send + 'static,
    {
        let (ticket, waiters, counted) = (self.ticket(), Arc::clone(self.waiters), self.counted());
        let running = invocation.canceller().map(|canceller| waiters.run(canceller));
        invocation.on_complete(move |result| {
            running.inspect(|key| waiters.ran(*key));
            ticket.answer_counted::<R, _>(result, encode, &counted);
        });
    }

    fn counted(&self) -> Counted {
        let allowance = match &self.counting {
            Counting::Inside(allowance) => allowance.clone(),
            Counting::Whole | Counting::Taken => self.host.allowance(),
        };
        Counted { allowance, counting: self.counting.clone() }
    }

    fn ticket(&self) -> Ticket {
        let way = Way::Soon(self.out.owe_for(self.request_bytes));
        Ticket { way, correlation: self.correlation, waiters: Arc::clone(self.waiters) }
    }
}

/// Makes the reply to a request whose result is not there at once.
pub(super) struct ReplyMaker<'a, 'c, R: Request, F> {
    answering: &'a Answering<'c, R>,
    encode: F,
    made: &'a Cell<bool>,
}

impl<R: Request, F> ReplyMaker<'_, '_, R, F> {
    pub(super) fn make(self) -> Reply<R, F> {
        self.made.set(true);
        Reply { ticket: self.answering.ticket(), encode: self.encode, request: PhantomData }
    }
}

/// Makes a reply whose memory is counted.
pub(super) struct CountedMaker<'a, 'c, R: Request, F> {
    maker: ReplyMaker<'a, 'c, R, F>,
}

impl<R: Request, F> CountedMaker<'_, '_, R, F> {
    pub(super) fn make(self) -> CountedReply<R, F> {
        let counted = self.maker.answering.counted();
        CountedReply { reply: self.maker.make(), counted }
    }
}

/// An answer that comes later. Dropped without a result it tells the client to try again.
struct Ticket {
    way: Way,
    correlation: i64,
    waiters: Arc<Waiters>,
}

enum Way {
    /// Kept here.
    Soon(Owed),
    /// Kept with the connection, under that key.
    Waits(u64),
    Answered,
}

impl Ticket {
    fn answer<R, T>(mut self, result: GridResult<T>)
    where
        R: Request,
        T: Into<R::Response>,
    {
        self.send(Bytes::from, |correlation, out| match result {
            Ok(response) => R::respond(&response.into(), correlation, out),
            Err(error) => Failure::from(error).encode(correlation, out),
        });
    }

    /// The same for a result that may be large.
    fn answer_counted<R, T>(
        mut self,
        result: GridResult<T>,
        make: impl FnOnce(T) -> R::Response,
        counted: &Counted,
    ) where
        R: Request,
        T: Weighs,
    {
        let keep = |bytes| Bytes::from_owner(Kept { bytes, _allowance: counted.allowance.clone() });
        self.send(keep, |correlation, out| match counted.count(result) {
            Ok(result) => R::respond(&make(result), correlation, out),
            Err(error) => Failure::from(error).encode(correlation, out),
        });
    }

    fn send(&mut self, keep: impl FnOnce(BytesMut) -> Bytes, encode: impl FnOnce(i64, &mut BytesMut)) {
        let owed = match std::mem::replace(&mut self.way, Way::Answered) {
            Way::Soon(owed) => Some(owed),
            Way::Waits(key) => self.waiters.take(key),
            Way::Answered => None,
        };
        if let Some(owed) = owed
            && !self.waiters.is_over()
        {
            let mut out = BytesMut::new();
            encode(self.correlation, &mut out);
            // A connection that is gone needs no answer.
            let _ = owed.send(keep(out));
        }
    }

    fn refuse(mut self, why: Failure) {
        self.send(Bytes::from, |correlation, out| why.encode(correlation, out));
    }

    /// From now on the answer may take any time; false when too many of the connection do already, or it
    /// drains, which the client is told.
    fn wait(&mut self, leaving: Option<&Leaving>) -> bool {
        match std::mem::replace(&mut self.way, Way::Answered) {
            Way::Soon(owed) => match self.waiters.keep(self.correlation, owed, leaving.cloned()) {
                Ok(key) => {
                    self.way = Way::Waits(key);
                    true
                }
                Err(Refused { owed, why }) => {
                    self.way = Way::Soon(owed);
                    self.send(Bytes::from, |correlation, out| why.encode(correlation, out));
                    false
                }
            },
            other => {
                self.way = other;
                true
            }
        }
    }

    fn is_gone(&self) -> bool {
        match self.way {
            Way::Waits(key) => self.waiters.is_gone(key),
            Way::Soon(_) | Way::Answered => self.waiters.is_over(),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.send(Bytes::from, |correlation, out| Failure::lost().encode(correlation, out));
    }
}

/// The right, and the duty, to answer a request of type `R` that may take any time.
pub(super) struct Later<R: Request> {
    ticket: Ticket,
    request: PhantomData<fn() -> R>,
}

impl<R: Request> Later<R> {
    /// Answers; the allowance is given back when the peer has taken it.
    pub(super) fn answer(mut self, response: &R::Response, allowance: Allowance) {
        let keep = |bytes| Bytes::from_owner(Kept { bytes, _allowance: allowance });
        self.ticket.send(keep, |correlation, out| R::respond(response, correlation, out));
    }

    /// Answers that it failed.
    pub(super) fn refuse(self, why: Failure) {
        self.ticket.refuse(why);
    }
}

/// What an operation carries along to be answered: runs on a partition thread, or wherever the result arises.
pub(super) struct Reply<R: Request, F> {
    ticket: Ticket,
    encode: F,
    request: PhantomData<fn() -> R>,
}

impl<R, T, F> Answer<T> for Reply<R, F>
where
    R: Request + 'static,
    T: Send + 'static,
    F: Fn(T) -> R::Response + Send + 'static,
{
    fn give(self, result: GridResult<T>) {
        let Self { ticket, encode, .. } = self;
        ticket.answer::<R, R::Response>(result.map(encode));
    }

    fn parks(&mut self, leaving: &Leaving) -> bool {
        self.ticket.wait(Some(leaving))
    }

    fn is_cancelled(&self) -> bool {
        self.ticket.is_gone()
    }
}

/// The same for a result that may be large.
pub(super) struct CountedReply<R: Request, F> {
    reply: Reply<R, F>,
    counted: Counted,
}

impl<R, T, F> Answer<T> for CountedReply<R, F>
where
    R: Request + 'static,
    T: Weighs + Send + 'static,
    F: Fn(T) -> R::Response + Send + 'static,
{
    fn give(self, result: GridResult<T>) {
        let Self { reply: Reply { ticket, encode, .. }, counted } = self;
        ticket.answer_counted::<R, _>(result, encode, &counted);
    }

    fn parks(&mut self, leaving: &Leaving) -> bool {
        self.reply.ticket.wait(Some(leaving))
    }

    fn is_cancelled(&self) -> bool {
        self.reply.ticket.is_gone()
    }
}
