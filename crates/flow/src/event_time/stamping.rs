//! Gives items their time, and watermarks to those who come after.

use super::{Event, Watermark};
use crate::processor::Share;
use crate::transform::{Receiver, Recipe, Transform};

/// Stamps items with the time that a function finds in them.
#[derive(Debug, Clone)]
pub struct Stamping<F> {
    time: F,
    lag: i64,
}

impl<F> Stamping<F> {
    /// Items come at most `lag` after others with a later time; those that do are late.
    pub(crate) fn new(time: F, lag: i64) -> Self {
        Self { time, lag: lag.max(0) }
    }
}

/// The transform of [`Stamping`].
pub struct StampingTransform<F> {
    recipe: Stamping<F>,
    share: Share,
    latest: i64,
    /// The last watermark.
    said: i64,
    /// A watermark that there was no room for.
    due: Option<i64>,
}

impl<F> StampingTransform<F> {
    fn watermark<T>(&self, time: i64) -> Event<T> {
        let (producer, producers) = (self.share.global_index(), self.share.global_count());
        Event::Watermark(Watermark { time, producer, producers })
    }

    #[inline]
    fn say<T, R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        if let Some(time) = self.due {
            if to.is_full() {
                return false;
            }
            to.put(self.watermark(time));
            (self.due, self.said) = (None, time);
        }
        true
    }
}

impl<T, F> Transform<T> for StampingTransform<F>
where
    T: Send + 'static,
    F: FnMut(&T) -> i64 + Send + 'static,
{
    type Out = Event<T>;
    const AT_MOST_ONE: bool = false;

    #[inline]
    fn push<R: Receiver<Event<T>>>(&mut self, item: T, to: &mut R) {
        let time = (self.recipe.time)(&item);
        to.put(Event::Item { time, item });
        self.latest = self.latest.max(time);
        let known = self.latest.saturating_sub(self.recipe.lag);
        // Not for every tick: a part of the lag later is soon enough.
        let step = (self.recipe.lag / 8).max(1);
        if known >= self.said.saturating_add(step) {
            self.due = Some(known);
            self.say(to);
        }
    }

    fn is_suspended(&self) -> bool {
        self.due.is_some()
    }

    fn resume<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        self.say(to)
    }

    fn finish<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        if self.said < i64::MAX {
            self.due = Some(i64::MAX);
        }
        self.say(to)
    }
}

impl<T, F> Recipe<T> for Stamping<F>
where
    T: Send + 'static,
    F: FnMut(&T) -> i64 + Clone + Send + Sync + 'static,
{
    type Out = Event<T>;
    type Transform = StampingTransform<F>;

    fn transform(&self, share: Share) -> Self::Transform {
        StampingTransform { recipe: self.clone(), share, latest: i64::MIN, said: i64::MIN, due: None }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("event_time");
    }
}
