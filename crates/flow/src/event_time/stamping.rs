//! Gives items their time, and watermarks to those who come after.
//!
//! Idleness is noticed without a look at the clock per item: a timer is set with the first item (and at the begin), and when it is due
//! it asks whether there was an item since. If so it is set again, if not the producer says that it is idle, and no timer runs until the
//! next item. So a producer is idle after one to two of the times that it was given.

use super::alarm::Alarm;
use super::{Event, Watermark};
use crate::processor::{ProcessorContext, Share};
use crate::transform::{Receiver, Recipe, Transform};
use std::time::Duration;

/// Stamps items with the time that a function finds in them.
#[derive(Debug, Clone)]
pub struct Stamping<F> {
    time: F,
    lag: i64,
    idle_after: Option<Duration>,
}

impl<F> Stamping<F> {
    /// Items come at most `lag` after others with a later time; those that do are late.
    pub(crate) fn new(time: F, lag: i64) -> Self {
        Self { time, lag: lag.max(0), idle_after: None }
    }

    /// Without items for so long, it says so.
    pub(crate) fn set_idle_after(&mut self, silence: Duration) {
        self.idle_after = Some(silence);
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
    idling: Option<Idling>,
}

/// How a producer notices that it has nothing to say.
struct Idling {
    after: Duration,
    alarm: Alarm,
    /// There was an item since the alarm was set.
    had_items: bool,
    /// It has said that it is idle.
    is_idle: bool,
    /// It is to say so, and there was no room.
    owes_word: bool,
}

impl Idling {
    /// An item came; true when it was idle until now.
    #[inline]
    fn item(&mut self) -> bool {
        self.had_items = true;
        if !self.alarm.is_set() {
            self.alarm.set(self.after);
        }
        self.owes_word = false;
        std::mem::take(&mut self.is_idle)
    }

    /// Looks at the alarm.
    fn look(&mut self) {
        if !self.alarm.take_due() {
            return;
        }
        if std::mem::take(&mut self.had_items) {
            self.alarm.set(self.after);
        } else {
            self.owes_word = !self.is_idle;
        }
    }
}

impl<F> StampingTransform<F> {
    fn watermark<T>(&self, time: i64, is_idle: bool) -> Event<T> {
        let (producer, producers) = (self.share.global_index(), self.share.global_count());
        Event::Watermark(Watermark { time, producer, producers, is_idle })
    }

    #[inline]
    fn say<T, R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        if let Some(time) = self.due {
            if to.is_full() {
                return false;
            }
            to.put(self.watermark(time, false));
            (self.due, self.said) = (None, time);
        }
        true
    }

    /// Says that it is idle, if it is.
    fn say_idle<T, R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        let Some(idling) = &mut self.idling else { return true };
        idling.look();
        if idling.owes_word {
            if to.is_full() {
                return false;
            }
            (idling.owes_word, idling.is_idle) = (false, true);
            to.put(self.watermark(self.said, true));
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
        let was_idle = self.idling.as_mut().is_some_and(Idling::item);
        let known = self.latest.saturating_sub(self.recipe.lag);
        // Not for every tick: a part of the lag later is soon enough.
        let step = (self.recipe.lag / 8).max(1);
        if known >= self.said.saturating_add(step) || was_idle {
            self.due = Some(known.max(self.said));
            self.say(to);
        }
    }

    fn is_suspended(&self) -> bool {
        self.due.is_some() || self.idling.as_ref().is_some_and(|idling| idling.owes_word)
    }

    fn resume<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        self.say(to) && self.say_idle(to)
    }

    fn finish<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        self.idling = None;
        if self.said < i64::MAX {
            self.due = Some(i64::MAX);
        }
        self.say(to)
    }

    fn init(&mut self, context: &ProcessorContext<'_>) {
        if let Some(after) = self.recipe.idle_after {
            let mut alarm = Alarm::new(context);
            alarm.set(after);
            self.idling = Some(Idling { after, alarm, had_items: false, is_idle: false, owes_word: false });
        }
    }

    fn is_due(&self) -> bool {
        self.idling.as_ref().is_some_and(|idling| idling.alarm.is_due())
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
        let (latest, said) = (i64::MIN, i64::MIN);
        StampingTransform { recipe: self.clone(), share, latest, said, due: None, idling: None }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("event_time");
    }
}
