//! Where each batch of the tables in memory is on disk.
//!
//! A batch is known by the addresses of its columns, which nobody else has while the batch is held here.

use super::NewSegment;
use super::manifest::{Rows, Run, Segment};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A file with fewer bytes is small.
const SMALL_BYTES: u64 = 1 << 20;

/// Small files of one schema that may be there; more are written together.
const MOST_SMALL: usize = 32;

/// The place of a batch: the file, and its number in the file.
type Place = (u64, usize);

type Key = (Vec<usize>, usize);

/// The places of all batches that there are.
#[derive(Default)]
pub(super) struct Places {
    batches: HashMap<Key, (Place, RecordBatch)>,
    segments: BTreeMap<u64, (Segment, SchemaRef)>,
}

fn key(batch: &RecordBatch) -> Key {
    let addresses = batch.columns().iter().map(|column| Arc::as_ptr(column).cast::<()>().addr());
    (addresses.collect(), batch.num_rows())
}

/// The batches that a table's rows name, by partition; none when one of them is nowhere.
pub(super) fn found(rows: &Rows, segments: &[(Segment, Vec<RecordBatch>)]) -> Option<Vec<Vec<RecordBatch>>> {
    let run = |run: &Run| {
        let (_, batches) = segments.iter().find(|(segment, _)| segment.number == run.segment)?;
        batches.get(run.first..run.first.checked_add(run.count)?)
    };
    let partition = |runs: &Vec<Run>| {
        let parts = runs.iter().map(run).collect::<Option<Vec<_>>>()?;
        Some(parts.concat())
    };
    rows.partitions.iter().map(partition).collect()
}

impl Places {
    /// Enters the batches of a partition, which are in these runs.
    pub(super) fn enter(&mut self, runs: &[Run], batches: Vec<RecordBatch>) {
        let places =
            runs.iter().flat_map(|run| (run.first..run.first + run.count).map(|at| (run.segment, at)));
        for (place, batch) in places.zip(batches) {
            self.batches.insert(key(&batch), (place, batch));
        }
    }

    /// Enters the files that there are; one without batches is of no use.
    pub(super) fn enter_segments(&mut self, segments: &[(Segment, Vec<RecordBatch>)]) {
        for (segment, batches) in segments {
            if let Some(first) = batches.first() {
                self.segments.insert(segment.number, (*segment, first.schema()));
            }
        }
    }

    /// The files as the list names them.
    pub(super) fn segments(&self) -> Vec<Segment> {
        self.segments.values().map(|(segment, _)| *segment).collect()
    }

    /// The places that these batches are to have, and the files that have to be written for it.
    pub(super) fn with(
        &self,
        batches: impl Iterator<Item = RecordBatch>,
        next: &mut u64,
    ) -> (Self, Vec<NewSegment>) {
        let mut seen = HashSet::new();
        let batches: Vec<(Key, RecordBatch)> = batches
            .filter(|batch| batch.num_rows() > 0)
            .map(|batch| (key(&batch), batch))
            .filter(|(key, _)| seen.insert(key.clone()))
            .collect();
        let mut used: HashMap<u64, usize> = HashMap::new();
        for (key, _) in &batches {
            if let Some(((segment, _), _)) = self.batches.get(key) {
                *used.entry(*segment).or_default() += 1;
            }
        }
        let stale = self.stale(&used);
        let mut places = Self::default();
        let mut new: Vec<NewSegment> = Vec::new();
        for (key, batch) in batches {
            let place = self.batches.get(&key).map(|(place, _)| *place);
            let place = place.filter(|(segment, _)| !stale.contains(segment)).unwrap_or_else(|| {
                let schema = batch.schema();
                let at = new.iter().position(|(_, other, _)| *other == schema).unwrap_or_else(|| {
                    new.push((*next, schema, Vec::new()));
                    *next += 1;
                    new.len() - 1
                });
                let (number, _, batches) = &mut new[at];
                batches.push(batch.clone());
                (*number, batches.len() - 1)
            });
            places.batches.insert(key, (place, batch));
        }
        let stays = |number: &u64| used.contains_key(number) && !stale.contains(number);
        let segments = self.segments.iter().filter(|(number, _)| stays(number));
        places.segments = segments.map(|(number, segment)| (*number, segment.clone())).collect();
        (places, new)
    }

    /// The files whose batches are written anew: those that are hardly used any more, and small ones where there are too many.
    fn stale(&self, used: &HashMap<u64, usize>) -> HashSet<u64> {
        let mut stale = HashSet::new();
        let mut small: Vec<(&SchemaRef, Vec<u64>)> = Vec::new();
        for (number, (segment, schema)) in &self.segments {
            let Some(used) = used.get(number) else { continue };
            if used * 2 < segment.batches {
                stale.insert(*number);
            } else if segment.bytes < SMALL_BYTES {
                match small.iter_mut().find(|(other, _)| *other == schema) {
                    Some((_, numbers)) => numbers.push(*number),
                    None => small.push((schema, vec![*number])),
                }
            }
        }
        stale.extend(
            small.into_iter().filter(|(_, numbers)| numbers.len() > MOST_SMALL).flat_map(|(_, all)| all),
        );
        stale
    }

    /// The places of the batches of a partition, in order.
    pub(super) fn runs(&self, batches: &[RecordBatch]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for batch in batches {
            // One without rows has no place.
            let Some(((segment, at), _)) = self.batches.get(&key(batch)) else { continue };
            match runs.last_mut() {
                Some(run) if run.segment == *segment && run.first + run.count == *at => run.count += 1,
                _ => runs.push(Run { segment: *segment, first: *at, count: 1 }),
            }
        }
        runs
    }

    /// Enters files that are written now.
    pub(super) fn written(&mut self, written: Vec<Segment>, schemas: Vec<SchemaRef>) {
        for (segment, schema) in written.into_iter().zip(schemas) {
            self.segments.insert(segment.number, (segment, schema));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;
    use arrow::datatypes::{DataType, Field, Schema};

    fn batch(number: i64) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(vec![number]))]).unwrap()
    }

    /// Writes nothing, and says that it did.
    fn saved(places: &Places, batches: &[RecordBatch], next: &mut u64) -> (Places, usize) {
        let (mut places, new) = places.with(batches.iter().cloned(), next);
        let written = new.iter().map(|(number, _, batches)| Segment {
            number: *number,
            bytes: 100 * batches.len() as u64,
            checksum: 0,
            batches: batches.len(),
        });
        places.written(written.collect(), new.iter().map(|(_, schema, _)| Arc::clone(schema)).collect());
        (places, new.iter().map(|(_, _, batches)| batches.len()).sum())
    }

    #[test]
    fn only_what_is_new_is_written_and_small_files_stay_few() {
        let (mut places, mut next, mut all) = (Places::default(), 0, Vec::new());
        let mut written = 0;
        for number in 0..1_000 {
            all.push(batch(number));
            let (saved, more) = saved(&places, &all, &mut next);
            (places, written) = (saved, written + more);
            assert!(places.segments.len() <= MOST_SMALL + 1, "{}", places.segments.len());
        }
        assert!(places.runs(&all).len() <= MOST_SMALL + 1);
        // Each time that there are too many, all are written together.
        assert!(written < 1_000 + 1_000 * 1_000 / MOST_SMALL, "{written}");
        assert_eq!(saved(&places, &all, &mut next).1, 0, "nothing is new");
    }

    #[test]
    fn files_that_are_hardly_used_are_written_anew_and_others_are_not() {
        let all: Vec<RecordBatch> = (0..10).map(batch).collect();
        let mut next = 0;
        let (places, written) = saved(&Places::default(), &all, &mut next);
        assert_eq!((written, places.segments.len()), (10, 1));
        let (most, written) = saved(&places, &all[3..], &mut next);
        assert_eq!((written, most.segments.len()), (0, 1));
        assert_eq!(most.runs(&all[3..]), [Run { segment: 0, first: 3, count: 7 }]);
        let (few, written) = saved(&most, &all[8..], &mut next);
        assert_eq!((written, few.segments.keys().copied().collect::<Vec<_>>()), (2, vec![1]));
        let (none, written) = saved(&few, &[], &mut next);
        assert_eq!((written, none.segments.len()), (0, 0));
    }
}
