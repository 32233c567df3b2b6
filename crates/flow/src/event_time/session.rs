//! Windows that items make: a session of a key lasts while its items are less than a gap apart.

use super::windowed::{Windowed, Windows};
use super::{Event, InWindow, LateItems};
use crate::aggregate::Aggregate;
use crate::processor::Share;
use crate::transform::{FUEL, Groups, Keying, Receiver, Recipe};
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
    /// What the accumulator owns.
    bytes: usize,
}

/// The open sessions of [`SessionWindowing`].
pub struct SessionWindows<T, K: Keying<T>, G: Aggregate<K::Value>> {
    recipe: SessionWindowing<K, G>,
    /// Open sessions.
    sessions: Groups<K::Key, Vec<Session<G::Accumulator>>>,
    /// Keys that had a session which ended then; it may have become longer since.
    ends: BTreeMap<i64, Vec<K::Key>>,
    /// Keys that may have sessions which are over.
    closing: IntoIter<K::Key>,
    /// Sessions that are over, of one of these keys.
    leaving: Vec<InWindow<K::Key, G::Out>>,
    /// How many sessions are open.
    open: usize,
    /// What their accumulators own.
    grown: usize,
    /// How many keys there are in `ends`.
    noted: usize,
}

impl<T, K, G> SessionWindows<T, K, G>
where
    K: Keying<T>,
    K::Key: Clone,
    G: Aggregate<K::Value>,
{
    /// Takes the sessions of a key that are over.
    fn take_over(&mut self, key: K::Key, watermark: i64) {
        let aggregate = &self.recipe.aggregate;
        let Some(sessions) = self.sessions.get_mut(&key) else { return };
        let over = sessions.extract_if(.., |session| session.end <= watermark);
        self.leaving.extend(
            over.inspect(|session| {
                self.open -= 1;
                self.grown = self.grown.saturating_sub(session.bytes);
            })
            .map(|session| InWindow {
                start: session.start,
                end: session.end,
                key: key.clone(),
                result: aggregate.finish(session.accumulator),
            }),
        );
        if sessions.is_empty() {
            self.sessions.remove(&key);
        }
    }
}

impl<T, K, G> Windows<T> for SessionWindows<T, K, G>
where
    T: Send + 'static,
    K: Keying<T>,
    K::Key: Clone,
    G: Aggregate<K::Value>,
{
    type Out = InWindow<K::Key, G::Out>;

    fn add(&mut self, time: i64, item: T, watermark: i64) -> bool {
        let SessionWindowing { window, keying, aggregate, .. } = &self.recipe;
        let (key, accumulator) = keying.alone(aggregate, item);
        let bytes = aggregate.held_bytes(&accumulator);
        let mut session = Session { start: time, end: time.saturating_add(window.gap), accumulator, bytes };
        let (_, sessions) = self.sessions.group(key.clone(), Vec::new);
        // Those that touch the item become one with it.
        let mut at = 0;
        while at < sessions.len() {
            let other = &sessions[at];
            if other.start < session.end && session.start < other.end {
                let other = sessions.swap_remove(at);
                self.open -= 1;
                session.start = session.start.min(other.start);
                session.end = session.end.max(other.end);
                self.grown = self.grown.saturating_sub(other.bytes);
                aggregate.combine(&mut session.accumulator, other.accumulator);
                // What reduces its items is small enough to be measured anew; what keeps them all has those of both.
                session.bytes = match G::REDUCES {
                    true => aggregate.held_bytes(&session.accumulator),
                    false => session.bytes + other.bytes,
                };
            } else {
                at += 1;
            }
        }
        let is_open = session.end > watermark;
        if is_open {
            self.ends.entry(session.end).or_default().push(key);
            self.grown += session.bytes;
            sessions.push(session);
            self.open += 1;
            self.noted += 1;
        } else if sessions.is_empty() {
            self.sessions.remove(&key);
        }
        is_open
    }

    fn close<R: Receiver<Self::Out>>(&mut self, watermark: i64, to: &mut R) -> bool {
        for _ in 0..FUEL {
            if to.is_full() {
                return !self.is_due(watermark);
            }
            if let Some(result) = self.leaving.pop() {
                to.put(result);
            } else if let Some(key) = self.closing.next() {
                self.take_over(key, watermark);
            } else {
                match self.ends.first_entry() {
                    Some(first) if *first.key() <= watermark => {
                        let keys = first.remove();
                        self.noted -= keys.len();
                        self.closing = keys.into_iter();
                    }
                    _ => return true,
                }
            }
        }
        !self.is_due(watermark)
    }

    fn is_due(&self, watermark: i64) -> bool {
        let is_over = |(end, _): (&i64, _)| *end <= watermark;
        !self.leaving.is_empty() || self.closing.len() > 0 || self.ends.first_key_value().is_some_and(is_over)
    }

    fn held_bytes(&self) -> usize {
        let keys = (self.noted + self.closing.len()) * size_of::<K::Key>();
        let sessions = self.open * size_of::<Session<G::Accumulator>>();
        self.sessions.bytes() + sessions + self.grown + keys
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
    type Transform = Windowed<SessionWindows<T, K, G>>;

    fn transform(&self, _: Share) -> Self::Transform {
        let windows = SessionWindows {
            recipe: self.clone(),
            sessions: Groups::new(SEED),
            ends: BTreeMap::new(),
            closing: Vec::new().into_iter(),
            leaving: Vec::new(),
            open: 0,
            grown: 0,
            noted: 0,
        };
        Windowed::new(windows, &self.late)
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.extend(["session", self.aggregate.name()]);
    }
}
