//! A source of the entries of a map: every processor reads its partitions, page by page.

use super::asking::Asking;
use super::read;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_grid::map::operations::{FetchEntries, Page};
use filbert_grid::{Grid, Map};
use filbert_wire::{Data, FromData, PartitionId};
use std::marker::PhantomData;
use std::task::Poll;

/// Entries that are asked for at once.
const PAGE: u32 = 512;

/// Emits the entries of a map, read as `K` and `V`. An entry that is there from the begin to the end is emitted once, with a value that
/// it had meanwhile; others perhaps.
///
/// ```
/// use filbert_connect::grid;
/// use filbert_flow::{DagBuilder, processors};
///
/// let stages = filbert_pool::Stages::start()?;
/// let member = filbert_grid::Grid::new(&stages);
/// let cities = member.typed_map::<String, i64>("cities");
/// cities.set("Oslo", &709_000).wait()?;
/// cities.set("Bergen", &290_000).wait()?;
///
/// let mut dag = DagBuilder::new("people");
/// let cities = dag.vertex("cities", grid::map::<String, i64>(&member, "cities"));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(cities.output().to(sink.input()));
/// dag.build()?.submit(&stages)?.wait()?;
/// assert_eq!(list.take().into_iter().map(|(_, people)| people).sum::<i64>(), 999_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn map<K, V>(grid: &Grid, name: &str) -> MapSource<K, V>
where
    K: FromData + Send + 'static,
    V: FromData + Send + 'static,
{
    MapSource { map: grid.map(name), types: PhantomData }
}

/// The vertex of [`map`].
pub struct MapSource<K, V> {
    map: Map,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> MetaSupplier for MapSource<K, V> {
    type Processor = ReadMap<K, V>;
    type Supplier = MapSource<K, V>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { map: self.map.clone(), types: PhantomData })
    }
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> Supplier for MapSource<K, V> {
    type Processor = ReadMap<K, V>;

    fn processor(&mut self, share: Share) -> Result<ReadMap<K, V>, Failure> {
        let mut partitions: Vec<PartitionId> =
            PartitionId::all().filter(|partition| share.owns(partition.number())).collect();
        partitions.reverse();
        Ok(ReadMap {
            name: format!("map {:?}", self.map.name()),
            map: self.map.clone(),
            partitions,
            next: None,
            asking: Asking::new(),
            page: Vec::new().into_iter(),
            types: PhantomData,
        })
    }
}

/// The processor of [`map`].
pub struct ReadMap<K, V> {
    map: Map,
    name: String,
    /// Those that were not begun, the next one last.
    partitions: Vec<PartitionId>,
    /// What comes after the page that is asked for, or being emitted.
    next: Option<(PartitionId, u32)>,
    asking: Asking<Page>,
    page: std::vec::IntoIter<(Data, Data)>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: FromData + Send + 'static, V: FromData + Send + 'static> Processor for ReadMap<K, V> {
    type In = ();
    type Out = Many<(K, V)>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.asking.init(context);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<(K, V)>>) -> Result<Step, Failure> {
        if self.page.as_slice().is_empty() {
            if !self.asking.is_busy() {
                let begun =
                    self.next.take().or_else(|| self.partitions.pop().map(|partition| (partition, 0)));
                let Some((partition, cursor)) = begun else { return Ok(Step::Done) };
                self.next = Some((partition, cursor));
                self.asking.ask(self.map.strands().call(partition, FetchEntries { cursor, batch: PAGE }));
            }
            match self.asking.poll(&self.name)? {
                Poll::Pending => return Ok(Step::Wait),
                Poll::Ready(page) => {
                    self.next = self.next.zip(page.next).map(|((partition, _), cursor)| (partition, cursor));
                    self.page = page.entries.into_iter();
                }
            }
        }
        while !outbox.is_full() {
            let Some((key, value)) = self.page.next() else { break };
            outbox.emit((read(&self.name, &key)?, read(&self.name, &value)?));
        }
        Ok(Step::Again)
    }
}
