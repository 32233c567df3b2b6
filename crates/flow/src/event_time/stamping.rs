//! Gives items their time, and watermarks to those who come after.
//!
//! Idleness is noticed without a look at the clock per item: a timer of half the time is set with the first item (and at the begin), and when
//! it is due it asks whether there was an item since. After two times without one the producer says that it is idle, and no timer runs until
//! the next item. So a producer is idle after one to one and a half of the times that it was given.
//!
//! *Held up is not idle.* A producer without room is not called, and its items wait before it, however long that takes. Were it to say that it is
//! idle then, those items would be late. So it looks at the timer only in [`Transform::settle`], when it has pushed what was at hand; and the
//! first time without an item proves nothing, it may have been spent without room. The second begins in a call that put nothing, so there
//! was room from then on, and whatever waited would have come.

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
    /// Half of the silence after which it is idle.
    half: Duration,
    alarm: Alarm,
    /// There was an item, or what was left to say of one, since the alarm was set.
    had_items: bool,
    /// There was none in the half before, nor since.
    is_quiet: bool,
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
            self.alarm.set(self.half);
        }
        (self.is_quiet, self.owes_word) = (false, false);
        std::mem::take(&mut self.is_idle)
    }

    /// Looks at the alarm.
    fn look(&mut self) {
        if !self.alarm.take_due() {
            return;
        }
        let had_items = std::mem::take(&mut self.had_items);
        if self.is_quiet {
            self.owes_word = !self.is_idle;
        } else {
            self.is_quiet = !had_items;
            self.alarm.set(self.half);
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
            if let Some(idling) = &mut self.idling {
                // It takes room, as an item does.
                idling.had_items = true;
            }
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
        self.due.is_some()
    }

    fn resume<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
        self.say(to)
    }

    fn settle<R: Receiver<Event<T>>>(&mut self, to: &mut R) -> bool {
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
            let (mut alarm, half) = (Alarm::new(context), after / 2);
            alarm.set(half);
            let (had_items, is_quiet, is_idle, owes_word) = (false, false, false, false);
            self.idling = Some(Idling { half, alarm, had_items, is_quiet, is_idle, owes_word });
        }
    }

    fn is_due(&self) -> bool {
        self.idling.as_ref().is_some_and(|idling| idling.owes_word || idling.alarm.is_due())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::transform::{Room, drive};
    use filbert_pool::Stages;
    use std::sync::Arc;
    use std::task::Waker;

    const SILENCE: Duration = Duration::from_secs(10);

    /// A producer in virtual time.
    struct Producer {
        stages: Stages,
        transform: StampingTransform<fn(&i64) -> i64>,
        items: std::vec::IntoIter<i64>,
    }

    impl Producer {
        fn new(items: Vec<i64>) -> Self {
            let stages = Stages::simulated(1);
            let mut recipe = Stamping::new((|time| *time) as fn(&i64) -> i64, 0);
            recipe.set_idle_after(SILENCE);
            let share = Share { index: 0, count: 1, member: 0, members: 1 };
            let mut transform = Recipe::<i64>::transform(&recipe, share);
            let (counters, weak) = (Arc::new(Counters::default()), stages.downgrade());
            let (vertex, waker) = ("stamps", Waker::noop());
            let context = ProcessorContext { vertex, share, waker, stages: &weak, counters: &counters };
            Transform::<i64>::init(&mut transform, &context);
            Self { stages, transform, items: items.into_iter() }
        }

        /// Not called for so long.
        fn rest(&self, time: Duration) {
            self.stages.simulation().unwrap().advance(time);
        }

        /// One call with so much room; true when it said that it is idle.
        fn call(&mut self, room: usize) -> bool {
            let mut events: Vec<Event<i64>> = Vec::new();
            drive(&mut self.items, &mut self.transform, &mut Room::new(&mut events, room));
            events.iter().any(|event| matches!(event, Event::Watermark(Watermark { is_idle: true, .. })))
        }
    }

    /// It said so in front of the items that it had in hand, and these were late.
    #[test]
    fn who_was_held_up_is_not_idle() {
        let mut producer = Producer::new((0..100).collect());
        // A call for an item, a call for its watermark.
        for _ in 0..50 {
            assert!(!producer.call(1));
            producer.rest(SILENCE * 3);
        }
        assert!(!producer.call(1_000), "there are items at hand");
    }

    /// The call that comes for what is left in the processor is made before the queues are looked at.
    #[test]
    fn who_was_held_up_with_items_in_its_queues_is_not_idle() {
        let mut producer = Producer::new(Vec::new());
        for begin in 0..10 {
            producer.items = vec![begin].into_iter();
            producer.rest(SILENCE * 3);
            assert!(!producer.call(1_000));
            producer.rest(SILENCE * 3);
            assert!(!producer.call(1_000), "the first call after a rest");
        }
    }

    #[test]
    fn who_is_called_and_has_nothing_is_idle_in_time() {
        let mut producer = Producer::new(vec![1]);
        assert!(!producer.call(1_000));
        let second = Duration::from_secs(1);
        let calls = (1..100).map(|_| {
            producer.rest(second);
            producer.call(1_000)
        });
        let said: Vec<usize> =
            calls.enumerate().filter_map(|(n, is_idle)| is_idle.then_some(n + 1)).collect();
        assert!(matches!(said[..], [at] if (10..=16).contains(&at)), "{said:?}");
    }
}
