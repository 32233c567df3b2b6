//! A stream in event time: grouped by key, cut into windows, aggregated.

use super::head::{FromNodes, Head};
use super::plan::Shape;
use super::stream::Stream;
use crate::aggregate::{Aggregate, Fold};
use crate::event_time::{
    Event, FixedWindow, FixedWindowing, LateItems, SessionWindow, SessionWindowing, Stamping,
};
use crate::transform::{ByKey, ByPair, Keying, Recipe, Then};
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Items with their times; made by [`Stream::event_time`].
#[must_use = "group it and cut it into windows"]
pub struct Timed<H, X, T> {
    stream: Stream<H, X>,
    _item: PhantomData<fn() -> T>,
}

/// Items with their times, in groups.
#[must_use = "cut it into windows: `window`"]
pub struct TimedGroups<H, X, T, K> {
    timed: Timed<H, X, T>,
    keying: K,
}

/// Items with their times, in groups, in windows.
#[must_use = "say what becomes of the windows: `aggregate`"]
pub struct Windows<H, X, T, K, W> {
    groups: TimedGroups<H, X, T, K>,
    window: W,
    late: LateItems,
}

impl<H: Head, X: Recipe<H::Item>> Stream<H, X> {
    /// Gives every item the time that `time` finds in it. Items may come `lag` later than others with a later time; those that
    /// come even later may find their windows closed and are dropped.
    ///
    /// ```
    /// use filbert_flow::aggregate::count;
    /// use filbert_flow::event_time::{LateItems, tumbling};
    /// use filbert_flow::processors::{Collected, collect, iterate};
    /// use filbert_flow::Pipeline;
    ///
    /// let clicks = [(1_000, "hazel"), (1_900, "hazel"), (2_100, "walnut"), (1_950, "hazel"), (9_000, "hazel"), (1_999, "hazel")];
    /// let (counts, late) = (Collected::new(), LateItems::new());
    /// let pipeline = Pipeline::read(iterate(move |_| clicks))
    ///     .parallelism(1)
    ///     .event_time(|click| click.0, 500)
    ///     .group_by(|click| click.1)
    ///     .window(tumbling(1_000))
    ///     .count_late(&late)
    ///     .aggregate(count())
    ///     .map(|window| (window.start, window.key, window.result))
    ///     .write(collect(&counts));
    /// pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// let mut counts = counts.take();
    /// counts.sort();
    /// assert_eq!(counts, [(1_000, "hazel", 3), (2_000, "walnut", 1), (9_000, "hazel", 1)]);
    /// assert_eq!(late.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn event_time<F>(self, time: F, lag: i64) -> Timed<H, Then<X, Stamping<F>>, X::Out>
    where
        F: FnMut(&X::Out) -> i64 + Clone + Send + Sync + 'static,
    {
        Timed { stream: self.transform(Stamping::new(time, lag)), _item: PhantomData }
    }
}

impl<H, X, F, T> Timed<H, Then<X, Stamping<F>>, T> {
    /// A producer of this stream that has had no items for `silence` does not hold up the windows of the others any more, until it has
    /// one again. It is noticed after one to one and a half times `silence`. Items that it brings afterwards may be late. One whose
    /// consumers have no room is not silent, however long that takes.
    ///
    /// Without this a window is closed only when every producer has promised to be done with it: a source of which one processor gets
    /// nothing, a quiet connection or partition say, holds up all windows.
    ///
    /// ```
    /// use filbert_flow::aggregate::count;
    /// use filbert_flow::event_time::tumbling;
    /// use filbert_flow::processors::{collect, Collected, iterate};
    /// use filbert_flow::Pipeline;
    /// use std::time::Duration;
    ///
    /// let counts = Collected::new();
    /// let pipeline = Pipeline::read(iterate(|share| (0..1_000_i64).filter(move |_| share.index == 0)))
    ///     .event_time(|time| *time, 10)
    ///     .idle_after(Duration::from_secs(5))
    ///     .group_by(|time| time % 2)
    ///     .window(tumbling(100))
    ///     .aggregate(count())
    ///     .write(collect(&counts));
    /// pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
    /// assert_eq!(counts.take().len(), 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn idle_after(mut self, silence: Duration) -> Self {
        self.stream.recipe.second_mut().set_idle_after(silence);
        self
    }
}

impl<H, X, T> Timed<H, X, T>
where
    H: Head,
    X: Recipe<H::Item, Out = Event<T>>,
    T: Send + 'static,
{
    /// Groups items by a key that `key` makes of each, as [`Stream::group_by`].
    pub fn group_by<K, F>(self, key: F) -> TimedGroups<H, X, T, ByKey<F>>
    where
        K: Hash + Eq + Send + 'static,
        F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    {
        TimedGroups { timed: self, keying: ByKey(key) }
    }

    /// Groups pairs by their first part.
    pub fn group_pairs<K, V>(self) -> TimedGroups<H, X, T, ByPair>
    where
        ByPair: Keying<T, Key = K, Value = V>,
    {
        TimedGroups { timed: self, keying: ByPair }
    }
}

impl<H, X, T, K> TimedGroups<H, X, T, K> {
    /// Cuts time into windows: [`tumbling`](crate::event_time::tumbling), [`sliding`](crate::event_time::sliding) or
    /// [`session`](crate::event_time::session).
    pub fn window<W>(self, window: W) -> Windows<H, X, T, K, W> {
        Windows { groups: self, window, late: LateItems::new() }
    }
}

impl<H, X, T, K, W> Windows<H, X, T, K, W>
where
    H: Head,
    X: Recipe<H::Item, Out = Event<T>>,
    T: Send + 'static,
    K: Keying<T>,
{
    /// Counts items that came too late.
    pub fn count_late(mut self, late: &LateItems) -> Self {
        self.late = late.clone();
        self
    }

    /// The events at the processor of their key.
    fn by_key(stream: Stream<H, X>, keying: &K) -> FromNodes<Event<T>> {
        let keying = keying.clone();
        let shape: Shape<Event<T>> = Arc::new(move |edge| edge.events(keying.clone()));
        // One vertex: the watermarks of several would be taken for those of one.
        FromNodes::shaped(vec![stream.node()], shape)
    }
}

impl<H, X, T, K> Windows<H, X, T, K, FixedWindow>
where
    H: Head,
    X: Recipe<H::Item, Out = Event<T>>,
    T: Clone + Send + 'static,
    K: Keying<T>,
{
    /// The [result](crate::event_time::InWindow) of every key in every window, when the window is over.
    pub fn aggregate<F: Fold<K::Value>>(self, fold: F) -> Stream<FromNodes<Event<T>>, FixedWindowing<K, F>> {
        let Self { groups: TimedGroups { timed, keying }, window, late } = self;
        let head = Self::by_key(timed.stream, &keying);
        Stream::with(head, FixedWindowing { window, keying, fold, late })
    }
}

impl<H, X, T, K> Windows<H, X, T, K, SessionWindow>
where
    H: Head,
    X: Recipe<H::Item, Out = Event<T>>,
    T: Send + 'static,
    K: Keying<T>,
    K::Key: Clone,
{
    /// The [result](crate::event_time::InWindow) of every session of every key, when it is over.
    pub fn aggregate<G: Aggregate<K::Value>>(
        self,
        aggregate: G,
    ) -> Stream<FromNodes<Event<T>>, SessionWindowing<K, G>> {
        let Self { groups: TimedGroups { timed, keying }, window, late } = self;
        let head = Self::by_key(timed.stream, &keying);
        Stream::with(head, SessionWindowing { window, keying, aggregate, late })
    }
}
