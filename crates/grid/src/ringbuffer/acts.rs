//! What can be done with a ringbuffer.

use super::ring::{Came, Overflow, Ring, RingbufferSizes};
use crate::allowance::Weighs;
use crate::code::{Called, Code};
use crate::error::{GridError, GridResult};
use crate::keeper::acts;
use crate::operation::Step;
use filbert_wire::Data;

/// The most items that are read at once.
const MOST_AT_ONCE: usize = 1_000;

/// Some items that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManyRead {
    /// How many were looked at.
    pub read: usize,
    /// Those that the filter took, with their numbers.
    pub items: Vec<(i64, Data)>,
    /// Where to go on.
    pub next_sequence: i64,
}

impl Weighs for ManyRead {
    fn weight(&self) -> usize {
        self.items.iter().map(|(_, item)| item.weight()).sum()
    }
}

acts! {
    Ring;
    /// What it says of itself.
    Read "ringbuffer.sizes" Sizes {} -> RingbufferSizes = |self, ring, turn| {
        ring.expire(turn.now());
        Step::done(ring.sizes())
    };
    /// Adds items; the number of the last.
    Put "ringbuffer.add" Add { items: Vec<Data>, overflow: Overflow } -> Option<i64> = |self, ring, turn| {
        let now = turn.now();
        ring.expire(now);
        if self.overflow == Overflow::Fail && self.items.len() > ring.remaining() {
            return Step::done(None);
        }
        let last = self.items.drain(..).map(|item| ring.push(item, now)).last();
        turn.happened(Came);
        Step::done(last)
    };
    /// The item with a number; waits for the next one.
    Read "ringbuffer.read_one" ReadOne { sequence: i64 } -> Data = |self, ring, turn| {
        ring.expire(turn.now());
        let (sequence, head, next) = (self.sequence, ring.head(), ring.next());
        match ring.get(sequence) {
            Some(item) => Step::done(item.clone()),
            None if sequence < head => Step::failed(GridError::StaleSequence { sequence, head }),
            None if sequence > next => Step::failed(GridError::BadArgument {
                operation: "ringbuffer.read_one",
                problem: format!("there is no item {sequence} yet; the next one will be {next}"),
            }),
            None => Step::Wait { event: Came, deadline: None },
        }
    };
    /// Some items from a number on; waits until there are enough.
    Read "ringbuffer.read_many" ReadMany {
        from: i64,
        min: usize,
        max: usize,
        max_bytes: usize,
        filter: Option<Code>,
        /// What was read so far; it travels without, and begins where it arrives.
        #[serde(skip)] got: Option<ManyRead>,
        #[serde(skip)] made: Option<Called>,
    } -> ManyRead, long = |self, ring, turn| {
        ring.expire(turn.now());
        match self.read(ring) {
            Err(error) => Step::failed(error),
            Ok(true) => Step::done(self.got.take().unwrap_or_default()),
            Ok(false) => Step::Wait { event: Came, deadline: None },
        }
    };
}

impl ReadMany {
    pub(super) fn new(from: i64, min: usize, max: usize, max_bytes: usize, filter: Option<Code>) -> Self {
        Self { from, min, max, max_bytes, filter, got: None, made: None }
    }

    /// Reads what is there; true when that is enough.
    fn read(&mut self, ring: &Ring) -> GridResult<bool> {
        if self.got.is_none() {
            self.check(ring)?;
            self.made = self.filter.as_ref().map(|code| ring.registry.function(code)).transpose()?;
        }
        // As Hazelcast has it: from the next item on, for one who would begin behind it.
        let from = self.from.min(ring.next());
        let got = self.got.get_or_insert_with(|| ManyRead { next_sequence: from, ..ManyRead::default() });
        // Items that went meanwhile are passed over.
        got.next_sequence = got.next_sequence.max(ring.head());
        let mut bytes = got.weight();
        while got.items.len() < self.max
            && let Some(item) = ring.get(got.next_sequence)
        {
            let takes = |filter: &Called| filter.takes(item);
            if self.made.as_ref().map_or(Ok(true), takes)? {
                bytes += item.weight();
                if !got.items.is_empty() && bytes > self.max_bytes {
                    return Ok(true);
                }
                got.items.push((got.next_sequence, item.clone()));
            }
            got.read += 1;
            got.next_sequence += 1;
        }
        Ok(got.items.len() >= self.min)
    }

    fn check(&self, ring: &Ring) -> GridResult<()> {
        let Self { from, min, max, .. } = self;
        let problem = if *from < 0 {
            format!("from item {from}: numbers begin with 0")
        } else if min > max {
            format!("at least {min} and at most {max} items cannot be")
        } else if *min > ring.capacity() {
            format!("at least {min} items will never be there: the capacity is {}", ring.capacity())
        } else if *max > MOST_AT_ONCE {
            format!("at most {max} items are too many at once; ask for {MOST_AT_ONCE} or less")
        } else {
            return Ok(());
        };
        Err(GridError::BadArgument { operation: "ringbuffer.read_many", problem })
    }
}
