//! What a user says of an edge: between which ports, in which order, by which pattern, how large.

use super::codec::{DataCodec, ItemCodec};
use super::router::{ByKey, ByPart, WholeItem};
use super::wiring::{
    MakeBroadcast, MakeHashed, MakeLink, MakeNumbered, MakeToOne, MakeUnicast, Wire, Wiring,
};
use crate::code::KeyCode;
use crate::outbox::HIGH_WATER_MARK;
use filbert_sync::conveyor::DEFAULT_CAPACITY;
use std::any::TypeId;
use std::hash::Hash;
use std::sync::Arc;

/// How many items wait in the memory of one consumer's buffer at most when planning makes one for an edge without a codec.
pub const BUFFER_ITEMS: usize = 1_000_000;

/// How many items a buffer with a codec keeps in memory, on each side of the disk.
const SPILL_ITEMS: usize = 8_192;

/// A port of a vertex that is being built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortId {
    /// The builder that made the vertex: ports of one DAG do not fit another.
    pub(crate) dag: u64,
    pub(crate) vertex: usize,
    pub(crate) ordinal: usize,
}

/// How an edge decides which processor gets an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forwarding {
    /// Any one, all equally.
    Unicast,
    /// Every one.
    Broadcast,
    /// The one that the item's key or partition belongs to.
    Partitioned,
    /// The same one for all items.
    AllToOne,
}

impl std::fmt::Display for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Forwarding::Unicast => "unicast",
            Forwarding::Broadcast => "broadcast",
            Forwarding::Partitioned => "partitioned",
            Forwarding::AllToOne => "all to one",
        })
    }
}

/// An edge between two ports; give it to [`DagBuilder::edge`](crate::DagBuilder::edge).
///
/// ```
/// use filbert_flow::{DagBuilder, processors};
///
/// let mut dag = DagBuilder::new("squares");
/// let numbers = dag.vertex("numbers", processors::iterate(|_| 0..100_u64));
/// let squares = dag.vertex("squares", processors::map(|n: u64| n * n));
/// let sink = dag.vertex("sink", processors::for_each(|n: u64| drop(n)));
/// dag.edge(numbers.output().to(squares.input()));
/// dag.edge(squares.output().to(sink.input()).partitioned_by(|n| n % 10).priority(1).queue_size(256));
/// assert!(dag.build().is_ok());
/// ```
#[must_use = "give it to `DagBuilder::edge`"]
pub struct Edge<T> {
    parts: EdgeParts,
    make: Box<dyn MakeLink<T>>,
    copy: Option<fn(&T) -> T>,
    codec: Option<Arc<dyn ItemCodec<T>>>,
    is_item: Option<fn(&T) -> bool>,
}

/// What does not depend on the type of the items.
#[derive(Clone)]
pub(crate) struct EdgeParts {
    pub(crate) from: PortId,
    pub(crate) to: PortId,
    pub(crate) priority: i32,
    pub(crate) forwarding: Forwarding,
    pub(crate) queue_size: usize,
    pub(crate) high_water_mark: usize,
    /// Those two were said, and not left to the producer.
    pub(crate) has_queue_size: bool,
    pub(crate) has_high_water_mark: bool,
    /// How many items a buffer keeps in memory, if there is a buffer.
    pub(crate) buffer: Option<usize>,
    /// How many items one that spills keeps in memory, on each side of the disk.
    pub(crate) spill_beyond: usize,
    pub(crate) is_distributed: bool,
    /// How it could be made elsewhere.
    pub(crate) code: ForwardingCode,
    pub(crate) codec: CodecCode,
}

/// A forwarding pattern as it can be sent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForwardingCode {
    Unicast,
    Broadcast,
    AllToOne,
    WholeItem,
    /// A registered key.
    Key(String),
    /// Can not be sent.
    Closure,
}

impl ForwardingCode {
    pub(crate) fn kind(&self) -> Forwarding {
        match self {
            ForwardingCode::Unicast => Forwarding::Unicast,
            ForwardingCode::Broadcast => Forwarding::Broadcast,
            ForwardingCode::AllToOne => Forwarding::AllToOne,
            ForwardingCode::WholeItem | ForwardingCode::Key(_) | ForwardingCode::Closure => {
                Forwarding::Partitioned
            }
        }
    }
}

/// A codec as it can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodecCode {
    None,
    Data,
    /// Can not be sent.
    Closure,
}

/// A codec for all edges that leave a vertex.
pub(crate) struct StreamCodec<T> {
    codec: Arc<dyn ItemCodec<T>>,
    code: CodecCode,
}

impl<T> Clone for StreamCodec<T> {
    fn clone(&self) -> Self {
        Self { codec: Arc::clone(&self.codec), code: self.code }
    }
}

impl<T> StreamCodec<T> {
    pub(crate) fn new<C: ItemCodec<T>>(codec: C) -> Self {
        let is_data = TypeId::of::<C>() == TypeId::of::<DataCodec>();
        Self { codec: Arc::new(codec), code: if is_data { CodecCode::Data } else { CodecCode::Closure } }
    }
}

impl EdgeParts {
    pub(crate) fn new(from: PortId, to: PortId) -> Self {
        Self {
            from,
            to,
            priority: 0,
            forwarding: Forwarding::Unicast,
            queue_size: DEFAULT_CAPACITY,
            high_water_mark: HIGH_WATER_MARK,
            has_queue_size: false,
            has_high_water_mark: false,
            buffer: None,
            spill_beyond: SPILL_ITEMS,
            is_distributed: false,
            code: ForwardingCode::Unicast,
            codec: CodecCode::None,
        }
    }

    pub(crate) fn has_codec(&self) -> bool {
        self.codec != CodecCode::None
    }

    /// What the producer prefers, where nobody said anything.
    pub(crate) fn prefer_queue_size(&mut self, items: usize) {
        if !self.has_queue_size {
            self.queue_size = items;
        }
        if !self.has_high_water_mark {
            self.high_water_mark = items;
        }
    }

    /// Planning found that the edge needs a buffer.
    pub(crate) fn set_buffered(&mut self) {
        self.buffer = Some(if self.has_codec() { self.spill_beyond } else { BUFFER_ITEMS });
    }

    pub(crate) fn is_buffered(&self) -> bool {
        self.buffer.is_some()
    }
}

impl<T: Send + 'static> Edge<T> {
    pub(crate) fn new(from: PortId, to: PortId, copy: Option<fn(&T) -> T>) -> Self {
        Self {
            parts: EdgeParts::new(from, to),
            make: Box::new(MakeUnicast),
            copy,
            codec: None,
            is_item: None,
        }
    }

    /// Edges of a vertex with a lower number are consumed in full before this one; those with the same number together. 0 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.parts.priority = priority;
        self
    }

    /// How many items each queue holds: one queue from every producer to every consumer, 1024 items by default.
    ///
    /// Queues are bounded in items, not in bytes. An edge holds at most `producers x consumers x queue_size` items, and each producer up
    /// to its [high-water mark](Edge::high_water_mark) beside that: with two processors on each side and the defaults 8,192 items, which
    /// are 8 GB if an item has a megabyte. Where items are large (batches, documents, images), make both numbers small: a queue of 4
    /// does for items that take a millisecond. A vertex that knows its items to be large says so, [for edges that say
    /// nothing](crate::MetaSupplier::preferred_queue_size).
    pub fn queue_size(mut self, items: usize) -> Self {
        self.parts.queue_size = items;
        self.parts.has_queue_size = true;
        self
    }

    /// At how many items a producer's bucket is full, 2048 by default.
    pub fn high_water_mark(mut self, items: usize) -> Self {
        self.parts.high_water_mark = items;
        self.parts.has_high_water_mark = true;
        self
    }

    /// Every item to any one processor, all equally. This is the default.
    pub fn unicast(self) -> Self {
        self.forwarded(ForwardingCode::Unicast, Box::new(MakeUnicast))
    }

    /// Every item to every processor.
    pub fn broadcast(self) -> Self
    where
        T: Clone,
    {
        self.forwarded(ForwardingCode::Broadcast, Box::new(MakeBroadcast))
    }

    /// Equal items to the same processor.
    pub fn partitioned(self) -> Self
    where
        T: Hash,
    {
        self.forwarded(ForwardingCode::WholeItem, Box::new(MakeHashed(Arc::new(WholeItem))))
    }

    /// Items with equal keys to the same processor. Edges with equal keys into the same vertex agree.
    pub fn partitioned_by<K: Hash>(self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        self.forwarded(ForwardingCode::Closure, Box::new(MakeHashed(Arc::new(ByKey(key)))))
    }

    /// As [`Edge::partitioned_by`], for a key that is a part of the item. A part that hashes as the key of another edge does
    /// agrees with it: `&str` with `String`.
    pub fn partitioned_by_ref<K>(self, key: impl Fn(&T) -> &K + Send + Sync + 'static) -> Self
    where
        K: Hash + ?Sized + 'static,
    {
        self.forwarded(ForwardingCode::Closure, Box::new(MakeHashed(Arc::new(ByPart(key)))))
    }

    /// Items of the same partition to the same processor: partition `p` to processor `p % processors`, which finds it by
    /// [`Share::owns`](crate::Share::owns). The function must give the same answer for the same item everywhere.
    pub fn partitioned_with(self, partition: impl Fn(&T) -> u32 + Send + Sync + 'static) -> Self {
        self.forwarded(ForwardingCode::Closure, Box::new(MakeNumbered(Arc::new(partition))))
    }

    /// All items to one processor, which is chosen when a job starts.
    pub fn all_to_one(self) -> Self {
        self.forwarded(ForwardingCode::AllToOne, Box::new(MakeToOne))
    }

    /// Lets producers go on although the consumer has other edges to consume first: what waits is kept here, a bounded number of items in
    /// memory, the rest on disk. Planning buffers edges by itself where a job could hang otherwise, see
    /// [`Rejoin`](crate::Rejoin).
    pub fn buffered(self, codec: impl ItemCodec<T>) -> Self {
        let mut edge = self.with_codec(codec);
        edge.parts.buffer = Some(edge.parts.spill_beyond);
        edge
    }

    /// As [`Edge::buffered`], without a disk: a job that has more than `items` waiting in one consumer's buffer fails.
    pub fn buffered_in_memory(mut self, items: usize) -> Self {
        self.parts.buffer = Some(items);
        self.parts.codec = CodecCode::None;
        self.codec = None;
        self
    }

    /// How many items a buffer that spills to disk keeps in memory, 8192 by default: those that came last, and as many of those that go
    /// next.
    pub fn spill_beyond(mut self, items: usize) -> Self {
        self.parts.spill_beyond = items;
        if self.parts.is_buffered() && self.parts.has_codec() {
            self.parts.buffer = Some(items);
        }
        self
    }

    /// How items are written as bytes, should the edge need it.
    pub fn with_codec(self, codec: impl ItemCodec<T>) -> Self {
        self.with_codec_of(&StreamCodec::new(codec))
    }

    /// The codec of the stream that the edge belongs to.
    pub(crate) fn with_codec_of(mut self, stream: &StreamCodec<T>) -> Self {
        self.codec = Some(Arc::clone(&stream.codec));
        self.parts.codec = stream.code;
        self
    }

    /// The edge may go to processors on other members. There is one member so far, so items stay here; with
    /// [`JobSettings::encode_distributed`](crate::JobSettings::encode_distributed) they go through the codec all the same.
    pub fn distributed(self, codec: impl ItemCodec<T>) -> Self {
        let mut edge = self.with_codec(codec);
        edge.parts.is_distributed = true;
        edge
    }

    /// Items with equal keys to the same processor, by a key that is registered: such an edge can be sent.
    pub fn partitioned_by_key(self, key: &KeyCode<T>) -> Self {
        self.forwarded(ForwardingCode::Key(key.name.to_string()), key.link())
    }

    pub(super) fn forwarded(mut self, code: ForwardingCode, make: Box<dyn MakeLink<T>>) -> Self {
        self.parts.forwarding = code.kind();
        self.parts.code = code;
        self.make = make;
        self
    }

    /// What travels on this edge without being an item, and is not counted as one.
    pub(super) fn counting(mut self, is_item: fn(&T) -> bool) -> Self {
        self.is_item = Some(is_item);
        self
    }

    pub(crate) fn into_parts(self) -> (EdgeParts, Arc<dyn Wire>) {
        let Self { parts, make, copy, codec, is_item } = self;
        (parts, Arc::new(Wiring { make, copy, codec, is_item }))
    }
}
