//! What a log says, folded together: for each key its last change, on top of what a snapshot has.
//!
//! Read once, in order, for all shelves; it takes as much memory as the log has bytes, which folding keeps few.

use crate::change::Entry;
use crate::error::{Damage, Reach, StoreError};
use crate::frame::{Found, Frame, HEADER, Kind};
use crate::segment::{BEGIN, Segment};
use crate::shelf::{self, SHELVES};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The partition in two bytes that sort as numbers do, and the key.
pub(crate) fn place(partition: u16, key: &[u8]) -> Vec<u8> {
    [&partition.to_be_bytes(), key].concat()
}

/// The changes of the partitions of one shelf.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Partitions of which nothing counts that was there before.
    pub(crate) cleared: BTreeSet<u16>,
    /// By place; `None` when the key is gone.
    pub(crate) changes: BTreeMap<Vec<u8>, Option<Entry>>,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.cleared.is_empty() && self.changes.is_empty()
    }

    /// True when nothing counts that was there before.
    pub(crate) fn clears_all(&self, shelf: usize) -> bool {
        (0..shelf::PARTITIONS)
            .filter(|partition| shelf::of(*partition) == shelf)
            .all(|own| self.cleared.contains(&own))
    }

    fn clear(&mut self, partition: u16) {
        let mut later = self.changes.split_off(&place(partition, b"")[..]);
        if let Some(next) = partition.checked_add(1) {
            self.changes.append(&mut later.split_off(&place(next, b"")[..]));
        }
        self.cleared.insert(partition);
    }
}

/// What the segments of a log say.
#[derive(Debug)]
pub(crate) struct LogState {
    pub(crate) shelves: Vec<Overlay>,
    pub(crate) damage: Vec<Damage>,
    /// How many changes were read.
    pub(crate) changes: u64,
    /// The map was destroyed, and nothing came after that.
    pub(crate) is_gone: bool,
    /// The last segment, when it was not sealed, and where what is whole of it ends.
    pub(crate) open_end: Option<(Segment, u64)>,
}

impl LogState {
    /// Reads segments in order. Only the last may have an open end, and of one that was left only some bytes count.
    pub(crate) fn read(
        folder: &Path,
        numbers: &[u64],
        left: &BTreeMap<u64, u64>,
    ) -> Result<Self, StoreError> {
        let shelves = std::iter::repeat_with(Overlay::default).take(SHELVES).collect();
        let mut state = Self { shelves, damage: Vec::new(), changes: 0, is_gone: false, open_end: None };
        for (index, number) in numbers.iter().enumerate() {
            let mut segment = Segment::read(folder, *number)?;
            if let Some(counts) = left.get(number) {
                state.replay_left(&mut segment, *counts);
                continue;
            }
            let end = state.replay(&segment);
            match end {
                None => {}
                Some(end) if index + 1 == numbers.len() => state.open_end = Some((segment, end)),
                Some(end) => {
                    let length = segment.bytes.len() as u64 - end;
                    state.damaged(&segment.path, (end, length), "the end is missing", Reach::Map);
                }
            }
        }
        Ok(state)
    }

    fn damaged(&mut self, path: &Path, (at, length): (u64, u64), problem: &str, reach: Reach) {
        let (file, problem) = (path.display().to_string(), problem.to_owned());
        self.damage.push(Damage { file, at, length, problem, reach });
    }

    /// One that was left: `counts` bytes of it were flushed, and all others do not count.
    fn replay_left(&mut self, segment: &mut Segment, counts: u64) {
        // Not even its begin was written.
        if counts == 0 {
            return;
        }
        segment.bytes.truncate(usize::try_from(counts).unwrap_or(usize::MAX));
        let end = self.replay(segment).unwrap_or(counts);
        if end < counts {
            self.damaged(&segment.path, (end, counts - end), "the end is missing", Reach::Map);
        }
    }

    /// `None` when the segment is whole; otherwise where what is whole of it ends.
    fn replay(&mut self, segment: &Segment) -> Option<u64> {
        let length = segment.bytes.len() as u64;
        let Some(frames) = segment.frames() else {
            if segment.bytes.len() > BEGIN {
                self.damaged(&segment.path, (0, length), "the begin of the file cannot be read", Reach::Map);
                return None;
            }
            return Some(0);
        };
        for (at, found) in frames {
            match found {
                Found::Whole(Frame { kind: Kind::Seal, .. }) => {
                    let end = at + HEADER as u64;
                    if end < length {
                        let problem = "something stands behind the end";
                        self.damaged(&segment.path, (end, length - end), problem, Reach::Map);
                    }
                    return None;
                }
                Found::Whole(frame) => self.apply(&segment.path, at, frame),
                Found::BadPayload { partition, length } => {
                    let problem = "a change is not as it was written";
                    self.damaged(&segment.path, (at, length as u64), problem, Reach::Partition(partition));
                }
                Found::BadHeader { length } => {
                    let problem = "a change cannot be recognized";
                    self.damaged(&segment.path, (at, length as u64), problem, Reach::Map);
                }
                Found::Torn => return Some(at),
            }
        }
        Some(length)
    }

    fn apply(&mut self, path: &Path, at: u64, frame: Frame<'_>) {
        let Frame { kind, partition, payload } = frame;
        let overlay = &mut self.shelves[shelf::of(partition)];
        match kind {
            Kind::Put | Kind::PutUntil => match Entry::read(kind, partition, payload) {
                Some(entry) => drop(overlay.changes.insert(place(partition, &entry.key), Some(entry))),
                None => {
                    let length = payload.len() as u64;
                    let reach = Reach::Partition(partition);
                    return self.damaged(path, (at, length), "a change that cannot be", reach);
                }
            },
            Kind::Remove => drop(overlay.changes.insert(place(partition, payload), None)),
            Kind::Clear => overlay.clear(partition),
            Kind::Reset => {
                // Whatever could not be read before does not count.
                self.damage.clear();
                for partition in 0..shelf::PARTITIONS {
                    self.shelves[shelf::of(partition)].clear(partition);
                }
            }
            Kind::Seal | Kind::Map | Kind::Safe | Kind::Left => return,
        }
        self.is_gone = kind == Kind::Reset;
        self.changes += 1;
    }
}
