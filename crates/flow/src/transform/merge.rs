//! Merges sorted runs into one: a heap of the first item of every run.

use std::cmp::Ordering;

/// The items of sorted runs, in order. Among equal items those of earlier runs come first.
pub(crate) struct MergeRuns<I: Iterator, C> {
    /// A heap, the smallest first: the next item of every run that has one, with the run's number.
    heads: Vec<(I::Item, usize)>,
    runs: Vec<I>,
    compare: C,
}

impl<I, C> MergeRuns<I, C>
where
    I: Iterator,
    C: Fn(&I::Item, &I::Item) -> Ordering,
{
    pub(crate) fn new(mut runs: Vec<I>, compare: C) -> Self {
        let next = |(number, run): (usize, &mut I)| Some((run.next()?, number));
        let heads = runs.iter_mut().enumerate().filter_map(next).collect();
        let mut merge = Self { heads, runs, compare };
        for at in (0..merge.heads.len() / 2).rev() {
            merge.sink(at);
        }
        merge
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        (self.compare)(&a.0, &b.0).then(a.1.cmp(&b.1)) == Ordering::Less
    }

    /// The head at `at` goes down to where it belongs.
    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heads.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.heads.len() && self.is_before(right, left) { right } else { left };
            if !self.is_before(child, at) {
                return;
            }
            self.heads.swap(child, at);
            at = child;
        }
    }
}

impl<I, C> Iterator for MergeRuns<I, C>
where
    I: Iterator,
    C: Fn(&I::Item, &I::Item) -> Ordering,
{
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let &mut (_, run) = self.heads.first_mut()?;
        let item = match self.runs[run].next() {
            Some(next) => std::mem::replace(&mut self.heads[0].0, next),
            None => self.heads.swap_remove(0).0,
        };
        self.sink(0);
        Some(item)
    }
}
