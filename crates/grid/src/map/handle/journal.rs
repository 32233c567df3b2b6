//! The journal.

use super::Map;
use crate::invocation::Invocation;
use crate::map::JournalReader;
use crate::map::journal::{JournalPage, JournalSpan};
use crate::map::operations::{JournalItems, ReadJournal, ReadJournalItems, SpanOfJournal};
use filbert_wire::PartitionId;

impl Map {
    /// The changes of a partition from a sequence on, `batch` at most; when there is none yet, the result comes with the next. The map's
    /// settings must give it a journal.
    ///
    /// ```
    /// use filbert_grid::{Grid, GridSettings, JournalSettings, MapEventKind, MapSettings, Registry};
    /// use filbert_wire::Data;
    ///
    /// let stages = filbert_pool::Stages::start()?;
    /// let mut settings = GridSettings::default();
    /// let journal = Some(JournalSettings { capacity: 10_000, ..Default::default() });
    /// settings.maps.set("orders", MapSettings { journal, ..Default::default() });
    /// let orders = Grid::with(&stages, settings, Registry::new()).map("orders");
    ///
    /// let key = Data::new(-7, &1_i32.to_be_bytes());
    /// let reads = orders.read_journal(key.partition(), 0, 100);
    /// orders.set(key, Data::new(-12, b"two hazelnuts")).wait()?;
    /// let page = reads.wait()?;
    /// assert_eq!((page.events[0].kind, page.next), (MapEventKind::Added, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_journal(&self, partition: PartitionId, from: u64, batch: u32) -> Invocation<JournalPage> {
        self.call(partition, ReadJournal { from, batch })
    }

    /// What the journal of a partition has now.
    pub fn span_of_journal(&self, partition: PartitionId) -> Invocation<JournalSpan> {
        self.call(partition, SpanOfJournal)
    }

    /// The changes of a partition as Hazelcast's clients read them.
    ///
    /// ```
    /// use filbert_grid::map::operations::ReadJournalItems;
    /// use filbert_grid::map::{JournalFilter, JournalProjection};
    /// use filbert_grid::{Grid, GridSettings, JournalSettings, MapSettings, Registry};
    /// use filbert_wire::Data;
    ///
    /// let stages = filbert_pool::Stages::start()?;
    /// let mut settings = GridSettings::default();
    /// settings.maps.set("orders", MapSettings { journal: Some(JournalSettings::default()), ..Default::default() });
    /// let orders = Grid::with(&stages, settings, Registry::new()).map("orders");
    ///
    /// let (key, value) = (Data::new(-7, &1_i32.to_be_bytes()), Data::new(-12, b"two hazelnuts"));
    /// let read = ReadJournalItems::new(0, 1, 10).filtered(Some(JournalFilter::Puts)).projected(Some(JournalProjection::Value));
    /// let reads = orders.read_journal_items(key.partition(), read);
    /// orders.remove(key.clone()).wait()?;
    /// orders.set(key, value.clone()).wait()?;
    /// assert_eq!(reads.wait()?.items, [(0, value)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_journal_items(
        &self,
        partition: PartitionId,
        read: ReadJournalItems,
    ) -> Invocation<JournalItems> {
        self.call(partition, read)
    }

    /// Reads the journals of these partitions side by side, each from a sequence on, `batch` changes of one at a time at most.
    pub fn journal_reader(
        &self,
        from: impl IntoIterator<Item = (PartitionId, u64)>,
        batch: u32,
    ) -> JournalReader {
        JournalReader::new(self.clone(), from, batch)
    }
}
