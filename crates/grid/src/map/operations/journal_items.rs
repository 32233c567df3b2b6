//! The journal of a partition as clients read it: so many changes at least, chosen and seen as they say.

use super::journal::{FULL_PAGE_BYTES, LARGEST_PAGE, no_journal};
use super::{MapTurn, Slice, destroyed};
use crate::allowance::{Allowance, Tally, Weighs};
use crate::error::{GridError, GridResult};
use crate::map::journal::Journal;
use crate::map::journal_item::{JournalFilter, JournalProjection, Lens};
use crate::map::partition::{MapPartition, MapSignal};
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// What a reader gets of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalItems {
    /// How many changes were looked at.
    pub read: u64,
    /// What the projection made of those that the filter took, each with its sequence.
    pub items: Vec<(u64, Data)>,
    /// The sequence to go on with.
    pub next: u64,
}

impl Weighs for JournalItems {
    fn weight(&self) -> usize {
        self.items.iter().map(|(_, item)| item.weight()).sum()
    }
}

/// The changes of a partition from a sequence on: at least so many, for which it waits without a thread, and at most so many. Fewer than
/// that when they are large. From the oldest on when those before it are gone, and from the next one on when the sequence is
/// beyond it, as Hazelcast has it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadJournalItems {
    from: u64,
    min: usize,
    max: usize,
    filter: Option<JournalFilter>,
    projection: Option<JournalProjection>,
    /// What was read so far; it travels without, and begins where it arrives.
    #[serde(skip)]
    begun: Option<Begun>,
    #[serde(skip)]
    tally: Tally,
}

#[derive(Debug)]
struct Begun {
    lens: Lens,
    got: JournalItems,
    bytes: usize,
    /// The next one that is given says that some before it are lost.
    after_loss: bool,
}

/// What a turn came to.
enum Came {
    Enough,
    TooFew,
    /// It is the turn of others.
    Over,
}

impl ReadJournalItems {
    /// From that sequence on.
    pub fn new(from: u64, min: usize, max: usize) -> Self {
        Self { from, min, max, filter: None, projection: None, begun: None, tally: Tally::default() }
    }

    /// Only the changes that `filter` takes, which are then what is counted.
    #[must_use]
    pub fn filtered(mut self, filter: Option<JournalFilter>) -> Self {
        self.filter = filter;
        self
    }

    /// What `projection` makes of each.
    #[must_use]
    pub fn projected(mut self, projection: Option<JournalProjection>) -> Self {
        self.projection = projection;
        self
    }

    /// Takes no more memory than that, also while it waits.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }

    fn begin(&self, map: &MapPartition) -> GridResult<Begun> {
        let Self { min, max, from, .. } = self;
        if min > max {
            let problem = format!("at least {min} and at most {max} changes cannot be");
            return Err(GridError::BadArgument { operation: Self::NAME, problem });
        }
        let lens = Lens::new(self.filter.as_ref(), self.projection.as_ref(), &map.context().registry)?;
        let got = JournalItems { next: *from, ..JournalItems::default() };
        Ok(Begun { lens, got, bytes: 0, after_loss: false })
    }
}

impl Begun {
    /// Reads what is there.
    fn read(
        &mut self,
        journal: &Journal,
        (min, max): (usize, usize),
        tally: &mut Tally,
        mut is_over: impl FnMut() -> bool,
    ) -> GridResult<Came> {
        let Self { lens, got, bytes, after_loss } = self;
        let span = journal.span();
        *after_loss |= got.next < span.oldest;
        got.next = got.next.clamp(span.oldest, span.next);
        while got.items.len() < max
            && let Some(event) = journal.get(got.next)
        {
            if let Some(item) = lens.look(event, *after_loss)? {
                tally.add(item.weight())?;
                *bytes += item.weight();
                *after_loss = false;
                got.items.push((got.next, item));
            }
            got.read += 1;
            got.next += 1;
            if *bytes >= FULL_PAGE_BYTES {
                return Ok(Came::Enough);
            }
            if is_over() {
                return Ok(Came::Over);
            }
        }
        Ok(if got.items.len() >= min { Came::Enough } else { Came::TooFew })
    }
}

impl Operation for ReadJournalItems {
    type Target = MapPartition;
    type Output = JournalItems;
    const NAME: &'static str = "map.read_journal_items";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if map.context().is_destroyed() {
            return Step::failed(destroyed(map));
        }
        let mut begun = match self.begun.take().map_or_else(|| self.begin(map), Ok) {
            Ok(begun) => begun,
            Err(error) => return Step::failed(error),
        };
        let max = self.max.min(LARGEST_PAGE as usize);
        let (mut slice, long) = (Slice::begin(map, turn), begun.lens.runs_code());
        let is_over = || if long { slice.is_over_now(turn) } else { slice.is_over(turn) };
        let Some(journal) = map.journal_mut() else { return Step::failed(no_journal(map)) };
        let read = begun.read(journal, (self.min.min(max), max), &mut self.tally, is_over);
        let step = match read.and_then(|came| self.tally.settle().map(|()| came).map_err(GridError::from)) {
            Err(error) => return Step::failed(error),
            Ok(Came::Enough) => return Step::done(begun.got),
            Ok(Came::Over) => Step::Again,
            Ok(Came::TooFew) => {
                journal.awaited();
                Step::Wait { event: MapSignal::Journal, deadline: None }
            }
        };
        self.begun = Some(begun);
        step
    }
}
