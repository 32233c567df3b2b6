//! Reads the journals of several partitions of a map side by side, for one task.
//!
//! For each partition one read is under way. It waits in the partition's waiting room, without a thread or a timer, until there is a
//! change; its answer notes the partition in a list and wakes the task, which looks at those partitions alone. A partition has its next
//! read when its page is done with ([`JournalReader::go_on`]), so back-pressure stops the reads, not the writers of the map: a reader that
//! is slower than they are is lapped in the end, and is told so by [`JournalPage::lost`].

use super::handle::Map;
use super::journal::JournalPage;
use crate::error::GridResult;
use crate::invocation::Invocation;
use filbert_wire::PartitionId;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

/// Reads the journals of several partitions of a map. Made by [`Map::journal_reader`].
///
/// ```
/// use filbert_grid::{Grid, GridSettings, JournalSettings, MapSettings, Registry};
/// use filbert_wire::{Data, PartitionId};
/// use std::future::poll_fn;
///
/// let stages = filbert_pool::Stages::start()?;
/// let mut settings = GridSettings::default();
/// settings.maps.set("orders", MapSettings { journal: Some(JournalSettings::default()), ..Default::default() });
/// let orders = Grid::with(&stages, settings, Registry::new()).map("orders");
///
/// let mut reader = orders.journal_reader(PartitionId::all().map(|partition| (partition, 0)), 100);
/// orders.set(Data::new(-7, &1_i32.to_be_bytes()), Data::new(-12, b"two hazelnuts")).wait()?;
/// let (number, page) = stages.mixed().spawn("read", async move {
///     poll_fn(|context| reader.poll_page(context)).await
/// })?.wait()??;
/// assert_eq!((page.events.len(), page.lost), (1, 0));
/// assert!(number < 271);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JournalReader {
    map: Map,
    batch: u32,
    parts: Vec<Part>,
    /// Parts to look at, in this order; a partition that always has changes does not keep the others waiting.
    ready: VecDeque<usize>,
    answered: Arc<Answered>,
}

/// Reads one partition.
struct Part {
    partition: PartitionId,
    /// The sequence of the next change.
    next: u64,
    asked: Option<Invocation<JournalPage>>,
    /// Its last page is not done with.
    is_held: bool,
    waker: Waker,
}

/// Which parts have an answer; whoever notes one wakes the task.
#[derive(Default)]
struct Answered {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: Vec<usize>,
    task: Option<Waker>,
}

impl Answered {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// The waker of one part.
struct Bell {
    part: usize,
    answered: Arc<Answered>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let task = {
            let mut state = self.answered.lock();
            state.parts.push(self.part);
            // The first to be noted wakes; the others are found with it.
            if state.parts.len() == 1 { state.task.take() } else { None }
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl JournalReader {
    pub(super) fn new(map: Map, from: impl IntoIterator<Item = (PartitionId, u64)>, batch: u32) -> Self {
        let answered = Arc::<Answered>::default();
        let part = |(number, (partition, next)): (usize, (PartitionId, u64))| {
            let waker = Waker::from(Arc::new(Bell { part: number, answered: Arc::clone(&answered) }));
            Part { partition, next, asked: None, is_held: false, waker }
        };
        let parts: Vec<Part> = from.into_iter().enumerate().map(part).collect();
        Self { map, batch, ready: (0..parts.len()).collect(), parts, answered }
    }

    /// True when it was made for no partition: there will never be a page.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The partition of a part, by the number that [`JournalReader::poll_page`] gives.
    pub fn partition(&self, part: usize) -> Option<PartitionId> {
        self.parts.get(part).map(|part| part.partition)
    }

    /// The next page, and which of the partitions it is of: the position in the list that the reader was made with. That partition is
    /// read no further before [`JournalReader::go_on`].
    pub fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<GridResult<(usize, JournalPage)>> {
        loop {
            let Some(number) = self.ready.pop_front() else {
                let mut state = self.answered.lock();
                if state.parts.is_empty() {
                    state.task = Some(context.waker().clone());
                    return Poll::Pending;
                }
                self.ready.extend(state.parts.drain(..));
                continue;
            };
            // A bell that rings twice is no page.
            let Some(part) = self.parts.get_mut(number).filter(|part| !part.is_held) else { continue };
            let (partition, next, batch) = (part.partition, part.next, self.batch);
            let asked = part.asked.get_or_insert_with(|| self.map.read_journal(partition, next, batch));
            let Poll::Ready(page) = Pin::new(asked).poll(&mut Context::from_waker(&part.waker)) else {
                continue;
            };
            part.asked = None;
            let page = page?;
            (part.next, part.is_held) = (page.next, true);
            return Poll::Ready(Ok((number, page)));
        }
    }

    /// The last page of that part is done with: its partition is read on.
    pub fn go_on(&mut self, part: usize) {
        if let Some(held) = self.parts.get_mut(part) {
            held.is_held = false;
            self.ready.push_back(part);
        }
    }
}

impl Drop for JournalReader {
    fn drop(&mut self) {
        // Otherwise they would wait in the map for the next change.
        for asked in self.parts.iter_mut().filter_map(|part| part.asked.take()) {
            asked.cancel();
        }
    }
}

impl std::fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JournalReader({:?}, {} partitions)", self.map.name(), self.parts.len())
    }
}
