//! What a log says, folded together: for each key its last change, on top of what a snapshot has.
//!
//! Read once, in order, for all shelves; it takes as much memory as the log has bytes, which folding keeps few.

use crate::change::{Entry, Untold, untold_of};
use crate::error::{Damage, Reach, StoreError};
use crate::frame::{Found, Frame, HEADER, Kind, NO_PARTITION};
use crate::manifest::{FlushedEnd, Manifest};
use crate::segment::{self, BEGIN, Name, Segment};
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

    /// Notes that the store behind the map has yet to be told of this value of `key`, or that the key is gone.
    fn untold(&mut self, partition: u16, key: &[u8], value: Option<&[u8]>) {
        let (key, value) = (key.to_vec(), value.map(<[u8]>::to_vec));
        let kept = Untold { partition, key, value }.into_entry();
        self.changes.insert(place(kept.partition, &kept.key), Some(kept));
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
    /// The last segment, when it was not sealed, with its number, and where what is whole of it ends.
    pub(crate) open_end: Option<(u64, Segment, u64)>,
}

/// The files of a log: those that are there, and what is known of them.
#[derive(Debug)]
pub(crate) struct LogFiles<'a> {
    pub(crate) folder: &'a Path,
    /// The segments that are there, by number.
    pub(crate) numbers: &'a [u64],
    /// Those that were left, and how many bytes count of each.
    pub(crate) left: &'a BTreeMap<u64, u64>,
    /// What the folder has to have, if that is known.
    pub(crate) manifest: Option<&'a Manifest>,
    /// How far the newest one was flushed, if that is known.
    pub(crate) flushed: Option<FlushedEnd>,
}

impl LogFiles<'_> {
    /// The segments that are there or have to be, by number. Those that are in the shelves do not count any more.
    fn all(&self) -> BTreeSet<u64> {
        let first = self.manifest.map_or(0, |manifest| manifest.first);
        let listed = self.manifest.iter().flat_map(|manifest| &manifest.segments).map(|listed| listed.number);
        self.numbers.iter().copied().filter(|number| *number >= first).chain(listed).collect()
    }

    /// How many bytes of a segment were flushed, at least.
    fn flushed_of(&self, number: u64) -> u64 {
        let Some(manifest) = self.manifest else { return 0 };
        let listed = manifest.segment(number).map_or(0, |listed| listed.flushed);
        let is_of = |flushed: &FlushedEnd| flushed.id == manifest.id && flushed.number == number;
        listed.max(self.flushed.filter(is_of).map_or(0, |flushed| flushed.end))
    }

    /// Why a segment is not the one that was written there.
    fn is_another(&self, segment: &Segment, number: u64) -> Option<&'static str> {
        let manifest = self.manifest?;
        let listed = manifest.segment(number);
        let Some(salt) = segment.salt() else { return Some("the begin of the file cannot be read") };
        if segment.is_nameless() {
            return match listed {
                None => Some("the file is not one of this map's"),
                Some(listed) if listed.salt != salt && listed.salt != 0 => Some("another file stands there"),
                Some(_) => None,
            };
        }
        match segment.name() {
            None => Some("the name of the file cannot be read"),
            Some(name) if name.id != manifest.id => Some("the file is another map's"),
            Some(name) if name.number != number => Some("another file of the log stands there"),
            Some(Name { before, .. })
                if before != 0 && before >= manifest.first && !self.all().contains(&before) =>
            {
                Some("the file before it is missing")
            }
            Some(_) if listed.is_some_and(|listed| listed.salt != salt) => Some("an older file stands there"),
            Some(_) => None,
        }
    }
}

impl LogState {
    /// Reads segments in order. Only the last may have an open end, and of one that was left only some bytes count.
    pub(crate) fn read(files: &LogFiles<'_>) -> Result<Self, StoreError> {
        let shelves = std::iter::repeat_with(Overlay::default).take(SHELVES).collect();
        let mut state = Self { shelves, damage: Vec::new(), changes: 0, is_gone: false, open_end: None };
        let all = files.all();
        for number in &all {
            if !files.numbers.contains(number) {
                let path = segment::path(files.folder, *number);
                state.damaged(&path, (0, 0), "the file is missing", Reach::Map);
                continue;
            }
            let mut segment = Segment::read(files.folder, *number)?;
            let left = files.left.get(number);
            if left != Some(&0)
                && let Some(problem) = files.is_another(&segment, *number)
            {
                let length = segment.bytes.len() as u64;
                state.damaged(&segment.path, (0, length), problem, Reach::Map);
                continue;
            }
            if let Some(counts) = left {
                state.replay_left(&mut segment, *counts);
                continue;
            }
            let flushed = files.flushed_of(*number);
            let end = state.replay(&segment, flushed);
            match end {
                None => {}
                Some(end) if Some(number) == all.last() => state.open_end = Some((*number, segment, end)),
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
        let end = self.replay(segment, 0).unwrap_or(counts);
        if end < counts {
            self.damaged(&segment.path, (end, counts - end), "the end is missing", Reach::Map);
        }
    }

    /// `None` when the segment is whole; otherwise where what is whole of it ends. What is missing of the first `flushed` bytes is damage.
    fn replay(&mut self, segment: &Segment, flushed: u64) -> Option<u64> {
        let length = segment.bytes.len() as u64;
        let Some(frames) = segment.frames() else {
            if segment.bytes.len() > BEGIN {
                self.damaged(&segment.path, (0, length), "the begin of the file cannot be read", Reach::Map);
                return None;
            }
            return Some(0);
        };
        let (mut end, mut is_sealed) = (length, false);
        for (at, found) in frames.flushed_to(flushed) {
            match found {
                Found::Whole(Frame { kind: Kind::Seal, .. }) => {
                    let behind = at + HEADER as u64;
                    if behind < length {
                        let problem = "something stands behind the end";
                        self.damaged(&segment.path, (behind, length - behind), problem, Reach::Map);
                    }
                    (end, is_sealed) = (at, true);
                    break;
                }
                Found::Whole(frame) => self.apply(&segment.path, at, frame),
                Found::BadPayload { partition, length } => {
                    let problem = "a change is not as it was written";
                    let reach =
                        if partition == NO_PARTITION { Reach::Map } else { Reach::Partition(partition) };
                    self.damaged(&segment.path, (at, length as u64), problem, reach);
                }
                Found::BadHeader { length } => {
                    let problem = "a change cannot be recognized";
                    self.damaged(&segment.path, (at, length as u64), problem, Reach::Map);
                }
                Found::Torn => {
                    end = at;
                    break;
                }
            }
        }
        if end < flushed {
            let problem = "the end is missing, and it was flushed";
            self.damaged(&segment.path, (end, flushed - end), problem, Reach::Map);
        }
        (!is_sealed).then_some(end)
    }

    fn apply(&mut self, path: &Path, at: u64, frame: Frame<'_>) {
        let Frame { kind, partition, payload } = frame;
        let overlay = &mut self.shelves[shelf::of(partition)];
        match kind {
            Kind::Put | Kind::PutUntil | Kind::PutUntold | Kind::PutUntilUntold => {
                match Entry::read(kind, partition, payload) {
                    Some(entry) => {
                        if matches!(kind, Kind::PutUntold | Kind::PutUntilUntold) {
                            overlay.untold(partition, &entry.key, Some(&entry.value));
                        }
                        overlay.changes.insert(place(partition, &entry.key), Some(entry));
                    }
                    None => {
                        let length = payload.len() as u64;
                        let reach = Reach::Partition(partition);
                        return self.damaged(path, (at, length), "a change that cannot be", reach);
                    }
                }
            }
            Kind::Remove => drop(overlay.changes.insert(place(partition, payload), None)),
            Kind::RemoveUntold => {
                overlay.changes.insert(place(partition, payload), None);
                overlay.untold(partition, payload, None);
            }
            Kind::Told => drop(overlay.changes.insert(place(untold_of(partition), payload), None)),
            Kind::Clear => overlay.clear(partition),
            Kind::Reset => {
                // Whatever could not be read before does not count.
                self.damage.clear();
                for partition in 0..shelf::PARTITIONS {
                    self.shelves[shelf::of(partition)].clear(partition);
                }
            }
            Kind::Seal | Kind::Map | Kind::Safe | Kind::Left | Kind::Named | Kind::Definitions => return,
        }
        self.is_gone = kind == Kind::Reset;
        self.changes += 1;
    }
}
