//! Windows that lie in time as a fence does: tumbling ones, side by side, and sliding ones, which overlap.

use super::windowed::{Windowed, Windows};
use super::{Event, InWindow, LateItems};
use crate::aggregate::Fold;
use crate::processor::Share;
use crate::transform::{Drained, FUEL, Groups, Keying, Receiver, Recipe};
use std::collections::BTreeMap;

const SEED: u64 = 0x0f1c_5ed0;

/// Windows of `size`, side by side; one begins at 0.
///
/// # Panics
/// When `size` is not positive.
pub fn tumbling(size: i64) -> FixedWindow {
    sliding(size, size)
}

/// Windows of `size`, one every `slide`; one begins at 0. An item is in all windows that cover its time.
///
/// # Panics
/// When `size` or `slide` is not positive.
pub fn sliding(size: i64, slide: i64) -> FixedWindow {
    assert!(size > 0 && slide > 0, "a window has a positive size and slide, not {size} and {slide}");
    FixedWindow { size, slide }
}

/// See [`tumbling`] and [`sliding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWindow {
    size: i64,
    slide: i64,
}

impl FixedWindow {
    /// The starts of the windows that cover a time, the latest first.
    fn starts(self, time: i64) -> impl Iterator<Item = i64> {
        let latest = time.div_euclid(self.slide).saturating_mul(self.slide);
        let earlier = move |start: &i64| start.checked_sub(self.slide);
        // A slide longer than the size leaves gaps between windows.
        std::iter::successors(Some(latest), earlier).take_while(move |start| self.end(*start) > time)
    }

    fn end(self, start: i64) -> i64 {
        start.saturating_add(self.size)
    }
}

/// Folds the items of every key and window.
#[derive(Debug, Clone)]
pub struct FixedWindowing<K, F> {
    pub(crate) window: FixedWindow,
    pub(crate) keying: K,
    pub(crate) fold: F,
    pub(crate) late: LateItems,
}

/// The start of a window, and its groups that were not put yet.
type Leaving<K, A> = (i64, Drained<K, A>);

/// The groups of an open window.
struct Open<K, A> {
    groups: Groups<K, A>,
    /// What accumulators have grown by.
    grown: usize,
}

/// The open windows of [`FixedWindowing`].
pub struct FixedWindows<T, K: Keying<T>, F: Fold<K::Value>> {
    recipe: FixedWindowing<K, F>,
    /// Open windows by their start.
    windows: BTreeMap<i64, Open<K::Key, F::Accumulator>>,
    /// The window that is being put.
    leaving: Option<Leaving<K::Key, F::Accumulator>>,
}

impl<T, K, F> Windows<T> for FixedWindows<T, K, F>
where
    T: Clone + Send + 'static,
    K: Keying<T>,
    F: Fold<K::Value>,
{
    type Out = InWindow<K::Key, F::Out>;

    fn add(&mut self, time: i64, item: T, watermark: i64) -> bool {
        let FixedWindowing { window, keying, fold, .. } = &self.recipe;
        let mut open = window.starts(time).filter(|start| window.end(*start) > watermark).peekable();
        if open.peek().is_none() {
            // In no window at all, between two: not late.
            return window.starts(time).next().is_none();
        }
        let mut item = Some(item);
        while let Some(start) = open.next() {
            let new = || Open { groups: Groups::new(SEED), grown: 0 };
            let Open { groups, grown } = self.windows.entry(start).or_insert_with(new);
            let item = if open.peek().is_some() { item.clone() } else { item.take() };
            if let Some(item) = item {
                keying.fold(groups, fold, None, item, grown);
            }
        }
        true
    }

    fn close<R: Receiver<Self::Out>>(&mut self, watermark: i64, to: &mut R) -> bool {
        let FixedWindowing { window, fold, .. } = &self.recipe;
        for _ in 0..FUEL {
            if to.is_full() {
                return !self.is_due(watermark);
            }
            match &mut self.leaving {
                Some((start, groups)) => match groups.next() {
                    Some((key, accumulator)) => {
                        let (start, end) = (*start, window.end(*start));
                        to.put(InWindow { start, end, key, result: fold.finish(accumulator) });
                    }
                    None => self.leaving = None,
                },
                None => match self.windows.first_entry() {
                    Some(first) if window.end(*first.key()) <= watermark => {
                        let (start, mut open) = first.remove_entry();
                        self.leaving = Some((start, open.groups.drain()));
                    }
                    _ => return true,
                },
            }
        }
        !self.is_due(watermark)
    }

    fn is_due(&self, watermark: i64) -> bool {
        let is_over = |start: &i64| self.recipe.window.end(*start) <= watermark;
        self.leaving.is_some() || self.windows.first_key_value().is_some_and(|(start, _)| is_over(start))
    }

    fn held_bytes(&self) -> usize {
        let open = self.windows.values().map(|open| open.groups.bytes() + open.grown);
        open.sum::<usize>() + self.leaving.as_ref().map_or(0, |(_, groups)| groups.bytes())
    }
}

impl<T, K, F> Recipe<Event<T>> for FixedWindowing<K, F>
where
    T: Clone + Send + 'static,
    K: Keying<T>,
    F: Fold<K::Value>,
{
    type Out = InWindow<K::Key, F::Out>;
    type Transform = Windowed<FixedWindows<T, K, F>>;

    fn transform(&self, _: Share) -> Self::Transform {
        let windows = FixedWindows { recipe: self.clone(), windows: BTreeMap::new(), leaving: None };
        Windowed::new(windows, &self.late)
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.extend(["window", self.fold.name()]);
    }
}
