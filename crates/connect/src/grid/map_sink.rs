//! A sink that writes entries into a map, many at a time and partition by partition.
//!
//! What came is gathered by partition, and each gets its entries in one operation. An entry of a partition that still owes an answer stays in
//! the inbox, with all behind it, until the answer wakes the processor: writes to one key keep their order, and nothing that was
//! taken waits for more to come.

use super::asking::Asking;
use super::write;
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use filbert_grid::map::operations::PutAll;
use filbert_grid::{Grid, Map};
use filbert_wire::{Data, PARTITION_COUNT, PartitionId, ToData};
use std::marker::PhantomData;
use std::task::Poll;

/// Entries that are under way before the processor takes no more.
const MOST: usize = 4096;

/// Puts every entry into a map; the last one of a key that comes to a processor wins. Partition the edge by the key
/// ([`partition_of`]) when a key may come twice.
///
/// ```
/// use filbert_connect::{grid, memory};
/// use filbert_flow::{DagBuilder, processors};
///
/// let stages = filbert_pool::Stages::start()?;
/// let member = filbert_grid::Grid::new(&stages);
/// let mut dag = DagBuilder::new("squares");
/// let numbers = dag.vertex("numbers", memory::range(0..1_000));
/// let squares = dag.vertex("squares", processors::map(|n: u64| (n as i64, (n * n) as i64)));
/// let map = dag.vertex("map", grid::write_map(&member, "squares"));
/// dag.edge(numbers.output().to(squares.input()));
/// dag.edge(squares.output().to(map.input()).partitioned_with(|(key, _)| grid::partition_of(key)));
/// dag.build()?.submit(&stages)?.wait()?;
/// assert_eq!(member.typed_map::<i64, i64>("squares").get(&31).wait()?, Some(961));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_map<K, V>(grid: &Grid, name: &str) -> MapSink<K, V>
where
    K: ToData + Send + 'static,
    V: ToData + Send + 'static,
{
    MapSink { map: grid.map(name), types: PhantomData }
}

/// The partition of a key, for `partitioned_with`: all maps agree on it. A key that cannot be written is of partition 0; the sink says
/// what is wrong with it.
pub fn partition_of<K: ToData + ?Sized>(key: &K) -> u32 {
    key.to_data().map_or(0, |key| key.partition().number())
}

/// The vertex of [`write_map`].
pub struct MapSink<K, V> {
    map: Map,
    types: PhantomData<fn(K, V)>,
}

impl<K: ToData + Send + 'static, V: ToData + Send + 'static> MetaSupplier for MapSink<K, V> {
    type Processor = WriteMap<K, V>;
    type Supplier = MapSink<K, V>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { map: self.map.clone(), types: PhantomData })
    }
}

impl<K: ToData + Send + 'static, V: ToData + Send + 'static> Supplier for MapSink<K, V> {
    type Processor = WriteMap<K, V>;

    fn processor(&mut self, _: Share) -> Result<WriteMap<K, V>, Failure> {
        let lane = |_| Lane { gathered: Vec::new(), asking: Asking::new(), under_way: 0 };
        Ok(WriteMap {
            name: format!("map {:?}", self.map.name()),
            map: self.map.clone(),
            lanes: (0..PARTITION_COUNT).map(lane).collect(),
            active: Vec::new(),
            unfinished: 0,
            types: PhantomData,
        })
    }
}

/// The processor of [`write_map`].
pub struct WriteMap<K, V> {
    map: Map,
    name: String,
    /// By partition.
    lanes: Box<[Lane]>,
    /// Partitions with something gathered or under way.
    active: Vec<PartitionId>,
    /// Entries that are gathered or under way.
    unfinished: usize,
    types: PhantomData<fn(K, V)>,
}

/// What one partition is to get.
struct Lane {
    gathered: Vec<(Data, Data)>,
    asking: Asking<()>,
    under_way: usize,
}

impl<K: ToData + Send + 'static, V: ToData + Send + 'static> WriteMap<K, V> {
    /// Adds an entry to what its partition gets next; false when the partition still owes an answer.
    fn gather(&mut self, key: &K, value: &V) -> Result<bool, Failure> {
        let (key, value) = (write(&self.name, key)?, write(&self.name, value)?);
        let partition = key.partition();
        let lane = &mut self.lanes[partition.index()];
        if lane.asking.is_busy() {
            return Ok(false);
        }
        if lane.gathered.is_empty() {
            self.active.push(partition);
        }
        lane.gathered.push((key, value));
        self.unfinished += 1;
        Ok(true)
    }

    /// Sends what was gathered, and takes the answers that are there.
    fn send(&mut self) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        for partition in self.active.drain(..) {
            let lane = &mut self.lanes[partition.index()];
            if !lane.gathered.is_empty() {
                let entries = std::mem::take(&mut lane.gathered);
                lane.under_way = entries.len();
                let put = PutAll::new(entries, self.map.owner());
                lane.asking.ask(self.map.strands().call(partition, put));
            }
            match lane.asking.poll(&self.name)? {
                Poll::Ready(()) => self.unfinished -= std::mem::take(&mut lane.under_way),
                Poll::Pending => waiting.push(partition),
            }
        }
        self.active = waiting;
        Ok(())
    }
}

impl<K: ToData + Send + 'static, V: ToData + Send + 'static> Processor for WriteMap<K, V> {
    type In = Many<(K, V)>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.lanes.iter_mut().for_each(|lane| lane.asking.init(context));
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<(K, V)>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        // Answers first: they free partitions.
        self.send()?;
        while self.unfinished < MOST {
            let Some(entry) = inbox.pop() else { break };
            if !self.gather(&entry.0, &entry.1)? {
                inbox.items().put_back(entry);
                break;
            }
        }
        self.send()?;
        // With items left, something was under way. If it still is, its answer wakes us; if its answer came just now, nothing would.
        Ok(if inbox.is_empty() || self.active.is_empty() { Step::Again } else { Step::Wait })
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        self.send()?;
        Ok(if self.active.is_empty() { Step::Done } else { Step::Wait })
    }
}
