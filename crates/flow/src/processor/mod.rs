//! The code of a vertex: one trait for sources, inner vertices and sinks.
//!
//! | File | What |
//! |---|---|
//! | `supplier` | meta-supplier, supplier, processor: how each processor is made for its share |
//! | `one_item` | processors that take one item at a time |
//! | `flat_mapper` | many results per item, suspended and resumed |
//! | `traverser` | what a flat mapper or a source yields |

mod flat_mapper;
mod one_item;
mod supplier;
mod traverser;

pub use flat_mapper::FlatMapper;
pub use one_item::{OneByOne, OneByOne2, OneItem, OneItem2, Tried};
pub use supplier::{MetaSupplier, Share, Supplier};
pub use traverser::{Traverser, TraverserExt};

use crate::counters::Counters;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::signature::{Inputs, Outputs};
use crate::transform::{Room, Transform};
use filbert_pool::WeakStages;
use std::sync::Arc;
use std::task::Waker;

/// Why a processor gives up; any error, or a text: `Err("no such file".into())`.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a processor says at the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Call me again: as soon as there is room if the outbox is full, and with more items when there are none left.
    Again,
    /// Nothing to do until my [waker](ProcessorContext::waker) is woken, though there may be items. A call may come without that, too.
    Wait,
    /// From `complete` and `complete_edge`: all is emitted. From `process`: no more items are wanted from this edge; what is left of it
    /// is dropped, and its producers may stop early.
    Done,
}

/// What a processor learns before its first call.
#[derive(Debug)]
pub struct ProcessorContext<'a> {
    pub(crate) vertex: &'a str,
    pub(crate) share: Share,
    pub(crate) waker: &'a Waker,
    pub(crate) stages: &'a WeakStages,
    pub(crate) counters: &'a Arc<Counters>,
}

impl ProcessorContext<'_> {
    /// The name of its vertex.
    pub fn vertex(&self) -> &str {
        self.vertex
    }

    /// Which part of the vertex's work is its own.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Gets the processor its next call. Clone it for whoever will have something for a processor that says [`Step::Wait`].
    pub fn waker(&self) -> &Waker {
        self.waker
    }

    /// The stages that the job runs on, for work that a processor hands to others: reading a file, asking a structure.
    pub fn stages(&self) -> &WeakStages {
        self.stages
    }
}

/// The code of a vertex; each vertex has as many of them as its parallelism says, and one thread at a time calls each.
///
/// The engine calls `process` while items come, `complete_edge` when one edge has given all, and `complete` when all edges have, until it says
/// [`Step::Done`]. A source has no edges, so its work is in `complete`.
///
/// A *cooperative* processor (the default) shares its thread with others: a call should take less than a millisecond, must not
/// block, and returns when the outbox is full. One that [opts out](Processor::IS_COOPERATIVE) gets a thread of its own and may block.
///
/// ```
/// use filbert_flow::{Failure, Inbox, Many, Outbox, Processor, Step};
///
/// /// Lets every n-th item through.
/// struct Sample { every: u64, seen: u64 }
///
/// impl Processor for Sample {
///     type In = Many<String>;
///     type Out = Many<String>;
///
///     fn process(&mut self, inbox: &mut Inbox<Many<String>>, outbox: &mut Outbox<Many<String>>) -> Result<Step, Failure> {
///         while !outbox.is_full() {
///             let Some(item) = inbox.pop() else { break };
///             self.seen += 1;
///             if self.seen % self.every == 0 {
///                 outbox.emit(item);
///             }
///         }
///         Ok(Step::Again)
///     }
/// }
/// ```
pub trait Processor: Send + 'static {
    /// What it takes: `()`, [`Many<T>`](crate::Many) or a tuple.
    type In: Inputs;
    /// What it emits: `()`, [`Many<T>`](crate::Many) or a tuple.
    type Out: Outputs;

    /// False for a processor that blocks: it gets a thread of its own.
    const IS_COOPERATIVE: bool = true;

    /// Called once, before all others, on the thread that will call the others.
    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// Takes items of one edge, [`Inbox::ordinal`], and emits results while there is room. What it leaves is there in the next call.
    ///
    /// After a call that took the last item and left the outbox full there is one without items, when there is room: for what could not be
    /// emitted. Else it would stay until another item comes.
    fn process(
        &mut self,
        inbox: &mut Inbox<Self::In>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        let _ = outbox;
        Err(format!("the processor got items at ordinal {}, but has no `process`", inbox.ordinal()).into())
    }

    /// True when it wants a call of [`Processor::process`] although no edge has items: it has kept something that it could not finish in
    /// one call, or a timer of its own is due. Asked before it is put to sleep for want of items, and each time that its
    /// [waker](ProcessorContext::waker) was woken.
    fn wants_call(&mut self) -> bool {
        false
    }

    /// One edge has given all its items. Called until it says [`Step::Done`].
    fn complete_edge(&mut self, ordinal: usize, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let _ = (ordinal, outbox);
        Ok(Step::Done)
    }

    /// All edges have given all their items. Called until it says [`Step::Done`]. The whole work of a source.
    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let _ = outbox;
        Ok(Step::Done)
    }

    /// As [`Processor::complete`] with a transform after it, in one loop, for sources that can do so; none for others.
    #[doc(hidden)]
    #[inline]
    fn complete_through<X>(
        &mut self,
        transform: &mut X,
        to: &mut Room<'_, X::Out>,
    ) -> Option<Result<Step, Failure>>
    where
        X: Transform<<Self::Out as Outputs>::Emitted>,
    {
        let _ = (transform, to);
        None
    }

    /// Returns the bytes that it keeps from call to call, about: groups, tables, open windows. They count in the memory of the job, which
    /// fails when it has more than it may ([`JobSettings::memory_bytes`](crate::JobSettings)). Asked after each call, so it must be cheap.
    fn held_bytes(&self) -> usize {
        0
    }

    /// True when it still works after everyone has stopped to take its results, because it does something beside emitting them.
    fn outlives_consumers(&self) -> bool {
        false
    }
}
