//! Windows that items make: a session of a key lasts while its items are less than a gap apart.

use super::{Coalescer, Event, InWindow, LateItems};
use crate::aggregate::Aggregate;
use crate::processor::Share;
use crate::transform::{FUEL, Groups, Keying, Receiver, Recipe, Transform};
use std::collections::BTreeMap;
use std::vec::IntoIter;

const SEED: u64 = 0x5e55_5eed;

/// A window for items of a key that follow each other in less than `gap`; it ends `gap` after the last.
///
/// # Panics
/// When `gap` is not positive.
pub fn session(gap: i64) -> SessionWindow {
    assert!(gap > 0, "the gap between sessions is positive, not {gap}");
    SessionWindow { gap }
}

/// See [`session`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionWindow {
    gap: i64,
}

/// Aggregates the items of every session.
#[derive(Debug, Clone)]
pub struct SessionWindowing<K, G> {
    pub(crate) window: SessionWindow,
    pub(crate) keying: K,
    pub(crate) aggregate: G,
    pub(crate) late: LateItems,
}

/// One session of a key.
struct Session<A> {
    start: i64,
    end: i64,
    accumulator: A,
}

/// The transform of [`SessionWindowing`].
pub struct SessionWindowingTransform<T, K: Keying<T>, G: Aggregate<K::Value>> {
    recipe: SessionWindowing<K, G>,
    /// Open sessions.
    sessions: Groups<K::Key, Vec<Session<G::Accumulator>>>,
    /// Keys that had a session which ended then; it may have become longer since.
    ends: BTreeMap<i64, Vec<K::Key>>,
    /// Keys that may have sessions which are over.
    closing: IntoIter<K::Key>,
    /// Sessions that are over, of one of these keys.
    leaving: Vec<InWindow<K::Key, G::Out>>,
    producers: Coalescer,
    watermark: i64,
}

impl<T, K, G> SessionWindowingTransform<T, K, G>
where
    K: Keying<T>,
    K::Key: Clone,
    G: Aggregate<K::Value>,
{
    fn add(&mut self, time: i64, item: T) {
        let SessionWindowing { window, keying, aggregate, late } = &self.recipe;
        let (key, accumulator) = keying.alone(aggregate, item);
        let mut session = Session { start: time, end: time.saturating_add(window.gap), accumulator };
        let (_, sessions) = self.sessions.group(key.clone(), Vec::new);
        // Those that touch the item become one with it.
        let mut at = 0;
        while at < sessions.len() {
            let other = &sessions[at];
            if other.start < session.end && session.start < other.end {
                let other = sessions.swap_remove(at);
                session.start = session.start.min(other.start);
                session.end = session.end.max(other.end);
                aggregate.combine(&mut session.accumulator, other.accumulator);
            } else {
                at += 1;
            }
        }
        if session.end > self.watermark {
            self.ends.entry(session.end).or_default().push(key);
            sessions.push(session);
        } else {
            late.add();
            if sessions.is_empty() {
                self.sessions.remove(&key);
            }
        }
    }

    /// Takes the sessions of a key that are over.
    fn take_over(&mut self, key: K::Key) {
        let aggregate = &self.recipe.aggregate;
        let Some(sessions) = self.sessions.get_mut(&key) else { return };
        let over = sessions.extract_if(.., |session| session.end <= self.watermark);
        self.leaving.extend(over.map(|session| InWindow {
            start: session.start,
            end: session.end,
            key: key.clone(),
            result: aggregate.finish(session.accumulator),
        }));
        if sessions.is_empty() {
            self.sessions.remove(&key);
        }
    }

    /// Puts the sessions that are over; true when all are.
    fn close<R: Receiver<InWindow<K::Key, G::Out>>>(&mut self, to: &mut R) -> bool {
        for _ in 0..FUEL {
            if to.is_full() {
                return !self.is_due();
            }
            if let Some(result) = self.leaving.pop() {
                to.put(result);
            } else if let Some(key) = self.closing.next() {
                self.take_over(key);
            } else {
                match self.ends.first_entry() {
                    Some(first) if *first.key() <= self.watermark => {
                        self.closing = first.remove().into_iter()
                    }
                    _ => return true,
                }
            }
        }
        !self.is_due()
    }

    fn is_due(&self) -> bool {
        let is_over = |(end, _): (&i64, _)| *end <= self.watermark;
        !self.leaving.is_empty() || self.closing.len() > 0 || self.ends.first_key_value().is_some_and(is_over)
    }
}

impl<T, K, G> Transform<Event<T>> for SessionWindowingTransform<T, K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    K::Key: Clone,
    G: Aggregate<K::Value>,
{
    type Out = InWindow<K::Key, G::Out>;
    const AT_MOST_ONE: bool = false;

    fn push<R: Receiver<Self::Out>>(&mut self, event: Event<T>, to: &mut R) {
        match event {
            Event::Item { time, item } => self.add(time, item),
            Event::Watermark(watermark) => {
                if let Some(time) = self.producers.hear(watermark) {
                    self.watermark = self.watermark.max(time);
                    self.close(to);
                }
            }
        }
    }

    fn is_suspended(&self) -> bool {
        self.is_due()
    }

    fn resume<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        self.close(to)
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        self.watermark = i64::MAX;
        self.close(to)
    }
}

impl<T, K, G> Recipe<Event<T>> for SessionWindowing<K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    K::Key: Clone,
    G: Aggregate<K::Value>,
{
    type Out = InWindow<K::Key, G::Out>;
    type Transform = SessionWindowingTransform<T, K, G>;

    fn transform(&self, _: Share) -> Self::Transform {
        SessionWindowingTransform {
            recipe: self.clone(),
            sessions: Groups::new(SEED),
            ends: BTreeMap::new(),
            closing: Vec::new().into_iter(),
            leaving: Vec::new(),
            producers: Coalescer::default(),
            watermark: i64::MIN,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.extend(["session", self.aggregate.name()]);
    }
}
