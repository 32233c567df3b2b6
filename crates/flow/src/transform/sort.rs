//! Sorting in two stages: every producer sorts what it has, one consumer merges what they send.
//!
//! No call takes long: the first stage sorts runs of [`RUN`] items as they come, and merges [`FAN`] runs at a time, some
//! thousand items per call. Sorted items travel in blocks, which say whose they are.
//!
//! The order is stable: equal items of one producer stay in the order in which it had them, and those of different producers come in the
//! order of their numbers. So only neighbouring runs are merged, level by level, and among equal heads the earlier run goes first.

use super::merge::MergeRuns;
use super::{FUEL, Receiver, Recipe, Transform, whole_bytes};
use crate::processor::Share;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::iter::Flatten;
use std::marker::PhantomData;
use std::vec::IntoIter;

/// Items that are sorted at once.
const RUN: usize = 4096;
/// Runs that are merged at once: their heads fit into the cache.
const FAN: usize = 64;
/// Items per block.
const BLOCK: usize = 256;

/// Sorted items of one producer, a part of a longer run.
#[derive(Debug, Clone)]
pub struct Block<T> {
    producer: usize,
    items: Vec<T>,
}

/// The first stage: sorts what one producer has.
#[derive(Debug, Clone)]
pub struct Sorting<C>(pub(crate) C);

/// Runs that become one, and what is there of it.
type Merge<T, C> = (MergeRuns<IntoIter<T>, C>, Vec<T>);

/// The transform of [`Sorting`].
pub struct SortingTransform<T, C> {
    compare: C,
    producer: usize,
    latest: Vec<T>,
    /// Runs that wait to be merged, in the order of their items.
    runs: VecDeque<Vec<T>>,
    /// Those of the next level: each is what was merged of some that lay side by side.
    merged: VecDeque<Vec<T>>,
    merging: Option<Merge<T, C>>,
    /// What the items take that were not put yet, about.
    bytes: usize,
    /// How many those are.
    items: usize,
}

impl<T, C> SortingTransform<T, C>
where
    C: Fn(&T, &T) -> Ordering + Clone,
{
    fn end_run(&mut self) {
        if !self.latest.is_empty() {
            let mut run = std::mem::take(&mut self.latest);
            run.sort_by(&self.compare);
            self.runs.push_back(run);
        }
    }

    fn start_merge(&mut self) {
        let count = self.runs.len().min(FAN);
        let runs = self.runs.drain(..count).map(Vec::into_iter).collect();
        self.merging = Some((MergeRuns::new(runs, self.compare.clone()), Vec::new()));
    }
}

impl<T, C> Transform<T> for SortingTransform<T, C>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
{
    type Out = Block<T>;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Block<T>>>(&mut self, item: T, _: &mut R) {
        self.bytes += whole_bytes(&item);
        self.items += 1;
        self.latest.push(item);
        if self.latest.len() == RUN {
            self.end_run();
        }
    }

    fn finish<R: Receiver<Block<T>>>(&mut self, to: &mut R) -> bool {
        self.end_run();
        if self.merging.is_none() {
            if self.runs.is_empty() {
                return true;
            }
            self.start_merge();
        }
        let is_last = self.runs.is_empty() && self.merged.is_empty();
        let Some((merge, run)) = &mut self.merging else { return true };
        if !is_last {
            // There are others: the result is a run of the next level. A later call goes on.
            let before = run.len();
            run.extend(merge.by_ref().take(FUEL));
            if run.len() - before < FUEL {
                self.merged.extend(self.merging.take().map(|(_, run)| run));
                if self.runs.is_empty() {
                    self.runs = std::mem::take(&mut self.merged);
                }
            }
            return false;
        }
        for _ in 0..FUEL / BLOCK {
            if to.is_full() {
                return false;
            }
            let items: Vec<T> = merge.by_ref().take(BLOCK).collect();
            if items.is_empty() {
                self.merging = None;
                (self.bytes, self.items) = (0, 0);
                return true;
            }
            // Each as large as the mean.
            self.bytes -= self.bytes / self.items.max(items.len()) * items.len();
            self.items = self.items.saturating_sub(items.len());
            to.put(Block { producer: self.producer, items });
        }
        false
    }

    fn held_bytes(&self) -> usize {
        self.bytes
    }
}

impl<T, C> Recipe<T> for Sorting<C>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
{
    type Out = Block<T>;
    type Transform = SortingTransform<T, C>;

    fn transform(&self, share: Share) -> Self::Transform {
        SortingTransform {
            compare: self.0.clone(),
            producer: share.global_index(),
            latest: Vec::new(),
            runs: VecDeque::new(),
            merged: VecDeque::new(),
            merging: None,
            bytes: 0,
            items: 0,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("sort");
    }
}

/// The second stage: merges what the producers sorted.
#[derive(Debug)]
pub struct Merging<T, C> {
    compare: C,
    _item: PhantomData<fn(T)>,
}

impl<T, C> Merging<T, C> {
    pub(crate) fn new(compare: C) -> Self {
        Self { compare, _item: PhantomData }
    }
}

impl<T, C: Clone> Clone for Merging<T, C> {
    fn clone(&self) -> Self {
        Self::new(self.compare.clone())
    }
}

/// The transform of [`Merging`].
pub struct MergingTransform<T, C> {
    compare: C,
    /// What each producer sent, in the order in which it came.
    runs: Vec<Vec<Vec<T>>>,
    merge: Option<MergeRuns<Flatten<IntoIter<Vec<T>>>, C>>,
    /// What the items take that were not put yet, about.
    bytes: usize,
    /// How many those are.
    items: usize,
}

impl<T, C> Transform<Block<T>> for MergingTransform<T, C>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
{
    type Out = T;
    const AT_MOST_ONE: bool = true;

    fn push<R: Receiver<T>>(&mut self, block: Block<T>, _: &mut R) {
        if block.producer >= self.runs.len() {
            self.runs.resize_with(block.producer + 1, Vec::new);
        }
        self.bytes += block.items.iter().map(whole_bytes).sum::<usize>();
        self.items += block.items.len();
        self.runs[block.producer].push(block.items);
    }

    fn finish<R: Receiver<T>>(&mut self, to: &mut R) -> bool {
        let (runs, compare) = (&mut self.runs, &self.compare);
        let merge = self.merge.get_or_insert_with(|| {
            let runs = std::mem::take(runs).into_iter().map(|run| run.into_iter().flatten()).collect();
            MergeRuns::new(runs, compare.clone())
        });
        for _ in 0..FUEL {
            if to.is_full() {
                return false;
            }
            match merge.next() {
                Some(item) => {
                    // Each as large as the mean.
                    self.bytes -= self.bytes / self.items.max(1);
                    self.items = self.items.saturating_sub(1);
                    to.put(item);
                }
                None => return true,
            }
        }
        false
    }

    fn held_bytes(&self) -> usize {
        self.bytes
    }
}

impl<T, C> Recipe<Block<T>> for Merging<T, C>
where
    T: Send + 'static,
    C: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
{
    type Out = T;
    type Transform = MergingTransform<T, C>;

    fn transform(&self, _: Share) -> Self::Transform {
        MergingTransform { compare: self.compare.clone(), runs: Vec::new(), merge: None, bytes: 0, items: 0 }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("merge");
    }
}
