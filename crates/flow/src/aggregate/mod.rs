//! What is made of many items: count, sum, the largest ten, a list, or all of these at once.
//!
//! A [`Fold`] adds items to an accumulator and makes a result of it. An [`Aggregate`] can also combine two accumulators: so every
//! producer accumulates its own items and only accumulators travel. Both are plain generic code: a count is an addition in the
//! loop of the source.
//!
//! Several at once are a tuple: `(count(), average(|order: &Order| order.price))`.

mod collecting;
mod numbers;
mod tuples;

pub use collecting::{CollectInto, FoldWith, ToVec, TopN, collect_into, fold_with, to_vec, top_n};
pub use numbers::{Average, Count, Max, Min, Sum, average, count, max, min, sum};

/// Adds items of type `T` to an accumulator.
pub trait Fold<T>: Clone + Send + Sync + 'static {
    /// What is known of the items so far.
    type Accumulator: Send + 'static;
    /// What is made of it in the end.
    type Out: Send + 'static;

    /// False when an accumulator is as large as the items that it is made of: then they travel one by one.
    const REDUCES: bool = true;

    /// What the vertex is called.
    fn name(&self) -> &'static str;

    /// The accumulator of no items.
    fn start(&self) -> Self::Accumulator;

    /// Adds an item.
    fn accumulate(&self, accumulator: &mut Self::Accumulator, item: &T);

    /// Adds an item that nobody else needs.
    #[inline(always)]
    fn accumulate_owned(&self, accumulator: &mut Self::Accumulator, item: T) {
        self.accumulate(accumulator, &item);
    }

    /// Returns the bytes that an item adds to an accumulator, about; 0 for one that does not grow. The state of jobs is counted by it.
    #[inline(always)]
    fn grows_by(&self, item: &T) -> usize {
        let _ = item;
        0
    }

    /// Returns the bytes that an accumulator owns beside its own size, about.
    #[inline(always)]
    fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
        let _ = accumulator;
        0
    }

    /// The result.
    fn finish(&self, accumulator: Self::Accumulator) -> Self::Out;
}

/// A [`Fold`] whose items may be accumulated in several places. The order of items and parts must not matter.
///
/// ```
/// use filbert_flow::aggregate::{Aggregate, Fold};
///
/// /// How many bytes all texts have together, and the longest.
/// #[derive(Clone)]
/// struct Lengths;
///
/// impl Fold<String> for Lengths {
///     type Accumulator = (u64, u64);
///     type Out = (u64, u64);
///
///     fn name(&self) -> &'static str { "lengths" }
///     fn start(&self) -> (u64, u64) { (0, 0) }
///     fn accumulate(&self, (sum, longest): &mut (u64, u64), text: &String) {
///         *sum += text.len() as u64;
///         *longest = (*longest).max(text.len() as u64);
///     }
///     fn finish(&self, lengths: (u64, u64)) -> (u64, u64) { lengths }
/// }
///
/// impl Aggregate<String> for Lengths {
///     fn combine(&self, (sum, longest): &mut (u64, u64), other: (u64, u64)) {
///         *sum += other.0;
///         *longest = (*longest).max(other.1);
///     }
/// }
/// ```
pub trait Aggregate<T>: Fold<T> {
    /// Adds what another accumulator knows.
    fn combine(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);
}
