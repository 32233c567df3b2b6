//! A source of the changes of a map: every processor reads the journals of its partitions.
//!
//! A partition has its next read ([`JournalReader`]) when its page is emitted, so back-pressure stops the reads, not the writers of the
//! map: a reader that is slower than they are is lapped in the end, and says so.

use super::read;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_grid::{Grid, JournalEvent, JournalReader, Map, MapEventKind};
use filbert_wire::{FromData, PartitionId};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// Changes that are asked for at once.
const PAGE: u32 = 256;

/// Emits the changes of a map, read as `K` and `V`, until the job is cancelled: those that are in its journal already, the oldest first,
/// then every new one ([`JournalSource::from_now`]: only the new ones). The changes of a key are emitted in their order, those of different
/// keys not; an edge that is partitioned by the key, or all to one, keeps it so, one that deals items out to several processors does not.
///
/// The map's settings must give it a journal: `[map."x".journal] capacity = 10_000` in the configuration, or
/// [`MapSettings::journal`](filbert_grid::MapSettings::journal). When the job does not keep up, the oldest changes are overwritten
/// before it reads them: the next change of that partition says how many ([`MapChange::lost_before`]), and [`JournalSource::lost`]
/// counts them all.
///
/// ```
/// use filbert_connect::{channel, grid};
/// use filbert_flow::DagBuilder;
/// use filbert_grid::{Grid, GridSettings, JournalSettings, MapEventKind, MapSettings, Registry};
///
/// let stages = filbert_pool::Stages::start()?;
/// let mut settings = GridSettings::default();
/// let journal = Some(JournalSettings { capacity: 10_000, ..Default::default() });
/// settings.maps.set("stock", MapSettings { journal, ..Default::default() });
/// let member = Grid::with(&stages, settings, Registry::new());
///
/// let mut dag = DagBuilder::new("changes");
/// let changes = dag.vertex("changes", grid::journal::<String, i64>(&member, "stock"));
/// let (sink, receiver) = channel::sink(16);
/// let sink = dag.vertex("sink", sink);
/// dag.edge(changes.output().to(sink.input()).all_to_one());
/// let job = dag.build()?.submit(&stages)?;
///
/// let stock = member.typed_map::<String, i64>("stock");
/// stock.set("hazelnuts", &40).wait()?;
/// stock.set("hazelnuts", &38).wait()?;
/// assert_eq!(receiver.recv().unwrap().kind, MapEventKind::Added);
/// let sold = receiver.recv().unwrap();
/// assert_eq!((sold.old_value, sold.value), (Some(40), Some(38)));
/// job.cancel();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn journal<K, V>(grid: &Grid, name: &str) -> JournalSource<K, V>
where
    K: FromData + Send + 'static,
    V: FromData + Send + 'static,
{
    JournalSource { map: grid.map(name), from_now: false, lost: Arc::default(), types: PhantomData }
}

/// A change of an entry of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapChange<K, V> {
    /// Added, updated, removed, evicted or expired.
    pub kind: MapEventKind,
    /// Of which key.
    pub key: K,
    /// The value before it.
    pub old_value: Option<V>,
    /// The value after it.
    pub value: Option<V>,
    /// The partition of the key.
    pub partition: PartitionId,
    /// Its number among the changes of its partition.
    pub sequence: u64,
    /// How many changes of the same partition were lost right before this one: the job had not read them when they were overwritten.
    pub lost_before: u64,
}

/// The vertex of [`journal`].
pub struct JournalSource<K, V> {
    map: Map,
    from_now: bool,
    lost: Arc<AtomicU64>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> JournalSource<K, V> {
    /// Only what changes from now on: from before the job is [`Running`](filbert_flow::JobStatus::Running).
    pub fn from_now(mut self) -> Self {
        self.from_now = true;
        self
    }

    /// Counts the changes that were overwritten before a job read them.
    pub fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }
}

impl<K, V> Clone for JournalSource<K, V> {
    fn clone(&self) -> Self {
        let Self { map, from_now, lost, types } = self;
        Self { map: map.clone(), from_now: *from_now, lost: Arc::clone(lost), types: *types }
    }
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> MetaSupplier for JournalSource<K, V> {
    type Processor = ReadJournal<K, V>;
    type Supplier = JournalSource<K, V>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> Supplier for JournalSource<K, V> {
    type Processor = ReadJournal<K, V>;

    fn processor(&mut self, share: Share) -> Result<ReadJournal<K, V>, Failure> {
        let name = format!("the journal of map {:?}", self.map.name());
        let mut from = Vec::new();
        for partition in PartitionId::all().filter(|partition| share.owns(partition.number())) {
            // Here and not when it begins: whoever sees the job run may rely on it.
            let span =
                self.map.span_of_journal(partition).wait().map_err(|error| format!("{name}: {error}"))?;
            from.push((partition, if self.from_now { span.next } else { span.oldest }));
        }
        Ok(ReadJournal {
            reader: self.map.journal_reader(from, PAGE),
            map: self.map.clone(),
            name,
            waker: Waker::noop().clone(),
            page: None,
            lost: Arc::clone(&self.lost),
            types: PhantomData,
        })
    }
}

/// The processor of [`journal`].
pub struct ReadJournal<K, V> {
    map: Map,
    name: String,
    reader: JournalReader,
    waker: Waker,
    /// What is being emitted, by whom it was read, and how many changes were lost before it.
    page: Option<(usize, std::vec::IntoIter<JournalEvent>, u64)>,
    lost: Arc<AtomicU64>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> ReadJournal<K, V> {
    /// Looks for a page; false when no reader has one.
    fn find_page(&mut self) -> Result<bool, Failure> {
        let Poll::Ready(page) = self.reader.poll_page(&mut Context::from_waker(&self.waker)) else {
            return Ok(false);
        };
        let (index, page) = page.map_err(|error| format!("{}: {error}", self.name))?;
        if page.lost > 0 && self.lost.fetch_add(page.lost, Ordering::Relaxed) == 0 {
            tracing::warn!(map = %self.map.name(), "a job does not keep up with the journal of its map; changes are lost");
        }
        self.page = Some((index, page.events.into_iter(), page.lost));
        Ok(true)
    }

    fn typed(
        &self,
        partition: PartitionId,
        event: JournalEvent,
        lost: u64,
    ) -> Result<MapChange<K, V>, Failure> {
        let value = |value: Option<_>| value.map(|value| read(&self.name, &value)).transpose();
        Ok(MapChange {
            kind: event.kind,
            key: read(&self.name, &event.key)?,
            old_value: value(event.old_value)?,
            value: value(event.value)?,
            partition,
            sequence: event.sequence,
            lost_before: lost,
        })
    }
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> Processor for ReadJournal<K, V> {
    type In = ();
    type Out = Many<MapChange<K, V>>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = context.waker().clone();
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<MapChange<K, V>>>) -> Result<Step, Failure> {
        if self.reader.is_empty() {
            return Ok(Step::Done);
        }
        let mut has_emitted = false;
        while !outbox.is_full() {
            let Some((index, events, lost)) = &mut self.page else {
                if self.find_page()? {
                    continue;
                }
                // What was emitted goes on its way first.
                return Ok(if has_emitted { Step::Again } else { Step::Wait });
            };
            let (index, next, lost) = (*index, events.next(), std::mem::take(lost));
            match next {
                Some(event) => {
                    let partition = self.reader.partition(index).unwrap_or_else(|| event.key.partition());
                    outbox.emit(self.typed(partition, event, lost)?);
                    has_emitted = true;
                }
                None => {
                    self.page = None;
                    self.reader.go_on(index);
                }
            }
        }
        Ok(Step::Again)
    }
}
